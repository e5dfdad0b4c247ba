"""A probe: what it asks, which promises it is about, and how it is run so that its failure stops no other."""

from __future__ import annotations

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

    def run(self, machine: _M) -> ProbeResult:
        """The result. An error that says why the probe cannot be made is a failure with the error's hint.

        On a machine that was never seen a probe may meet what it does not expect: that stops no other probe either.
        """
        began = time.monotonic()
        try:
            finding = self.ask(machine)
        except UnknownTargetError as error:
            finding = Finding("fail", error.message, "see the probe `listed`")
        except AmdkernelError as error:
            finding = Finding("fail", error.message, error.hint)
        except Exception as error:
            finding = Finding(
                "unknown", f"the probe broke: {type(error).__name__}: {error}", "report this with the archive"
            )
        return ProbeResult(
            id=self.id,
            asks=self.asks,
            promises=list(self.promises),
            status=finding.status,
            found=finding.found,
            next=finding.next,
            seconds=round(time.monotonic() - began, 1),
        )


def promises_of(probes: Sequence[ProbeResult]) -> dict[Promise, PromiseStatus]:
    """`broken` where a probe of it failed, `holds` where all passed, else `unknown`."""
    found: dict[Promise, PromiseStatus] = {}
    for promise in PROMISES:
        about = {probe.status for probe in probes if promise in probe.promises}
        found[promise] = "broken" if "fail" in about else "holds" if about == {"pass"} else "unknown"
    return found
