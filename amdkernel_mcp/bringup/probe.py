"""A probe: what it asks, which promises it is about, and how it is run so that its failure stops no other."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from amdkernel_mcp.errors import AmdkernelError, UnknownTargetError
from amdkernel_mcp.results.bringup import PROMISES, ProbeResult, ProbeStatus, Promise, PromiseStatus

_M = TypeVar("_M")


@dataclass(frozen=True)
class Finding:
    """What a probe found, and the next command or step."""

    status: ProbeStatus
    found: str
    next: str | None = None


@dataclass(frozen=True)
class Probe(Generic[_M]):
    """`ask` raises only errors of ours."""

    id: str
    asks: str
    promises: tuple[Promise, ...]
    ask: Callable[[_M], Finding]

    def run(self, machine: _M, *, within_s: float | None = None) -> ProbeResult:
        """The result. An error that says why the probe cannot be made is a failure with the error's hint.

        On a machine that was never seen a probe may meet what it does not expect: that stops no other probe either.
        within_s: after that time it is left alone, and unknown; None: it may take any time.
        """
        began = time.monotonic()
        found: queue.Queue[Finding] = queue.Queue()
        if within_s is None:
            found.put(self._found(machine))
        elif within_s > 0:
            context = contextvars.copy_context()  # who the caller is
            threading.Thread(
                target=lambda: found.put(context.run(self._found, machine)), name=self.id, daemon=True
            ).start()
        try:
            finding = found.get(timeout=max(0.0, within_s or 0.0))
        except queue.Empty:
            started = within_s is not None and within_s > 0
            said = "not run to its end: time" if started else "not run: time"
            finding = Finding("unknown", said, f"run it alone: `--only {self.id}`")
        return ProbeResult(
            id=self.id,
            asks=self.asks,
            promises=list(self.promises),
            status=finding.status,
            found=finding.found,
            next=finding.next,
            seconds=round(time.monotonic() - began, 1),
        )

    def _found(self, machine: _M) -> Finding:
        try:
            return self.ask(machine)
        except UnknownTargetError as error:
            return Finding("fail", error.message, "see the probe `listed`")
        except AmdkernelError as error:
            return Finding("fail", error.message, error.hint)
        except Exception as error:
            return Finding(
                "unknown", f"the probe broke: {type(error).__name__}: {error}", "report this with the archive"
            )


def promises_of(probes: Sequence[ProbeResult]) -> dict[Promise, PromiseStatus]:
    """`broken` where a probe of it failed, `holds` where all passed, else `unknown`."""
    found: dict[Promise, PromiseStatus] = {}
    for promise in PROMISES:
        about = {probe.status for probe in probes if promise in probe.promises}
        found[promise] = "broken" if "fail" in about else "holds" if about == {"pass"} else "unknown"
    return found
