"""Looks at a GPU before and after each job, and quarantines one that does not come back.

After a job that was killed, hung or faulted its VRAM, the processes of its driver and its activity must be as they
were before, within RECOVERY_S. What could be read before and cannot be read now counts as busy; what a GPU never shows
(a virtual function its activity) quarantines nothing. VRAM and processes come first: the driver's busy percentage is
judged only where no process has the GPU, because one that merely keeps a context can read as 100 %.

A job can hide in its report that it went wrong. So the baseline never rises: what a GPU has more than ever before,
though no process uses it, is a leak of an earlier job, and only an admin's release makes it the new baseline.

The memory and the activity of a GPU with a display are also those of the desktop, and tell nothing of our jobs.

A GPU that looks as before may still be broken. So a kernel with a known answer runs on it (health_kernel.py) once it
has come back, and on a GPU without a baseline: one that is new here, or was released. A wrong answer quarantines it.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.errors import AmdkernelError, DatabaseError
from amdkernel_mcp.execution.gpu_idle import MOST_BUSY_PERCENT, GpuState
from amdkernel_mcp.leases.gpu_health import GpuHealth, QuarantinedError
from amdkernel_mcp.work import Ending, Work, cancelled_by, current_work, doing

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Completed
    from amdkernel_mcp.leases.gpu_leases import Asked, GpuLeases
    from amdkernel_mcp.leases.reset import Tried

_log = logging.getLogger(__name__)

RECOVERY_S = 60.0
PAUSE_S = 1.0
SLACK_BYTES = 64 << 20
"""VRAM over the baseline that does not count as a leak: the driver's own use varies. A choice, not a measurement."""

_FAULTS = re.compile(rb'"status": ?"(fault|timeout|crashed)"')
_HIDDEN = "an earlier job left something and reported no fault"
_WORDS = {
    "fault": "a kernel made the GPU fault",
    "timeout": "a kernel did not end in time",
    "crashed": "the program crashed",
}


def note_ending(why: str | None) -> None:
    """The present job went wrong in this way; None: it did not."""
    ending = current_work().ending
    if ending is not None and why is not None:
        ending.why = ending.why or why


def what_went_wrong(done: Completed) -> str | None:
    """Whether a job may have left something on the GPU. Its own report can hide a fault, not that it was ended."""
    if done.timed_out:
        return "the job was ended at its time limit"
    if done.out_of_memory:
        return "the job was ended for its use of memory"
    if done.exit_code >= 128:
        return f"the job was ended by signal {done.exit_code - 128}"
    found = _FAULTS.search(done.files.get("report.json", b""))
    return _WORDS[found[1].decode()] if found else None


def what_failed(error: BaseException) -> str:
    """The same of a job that has no end of its own."""
    return "the job was cancelled" if isinstance(error, CancelledWorkError) else "the sandbox of the job failed"


@dataclass
class _Trying:
    """A new GPU is tried by one job of this process. `passed_s`: when it last passed, by the monotonic clock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    passed_s: float = -math.inf


_TRYING: dict[str, _Trying] = {}


@dataclass(frozen=True)
class Hygiene:
    """The looks at one GPU. `target`: as this configuration calls it. `look` raises SandboxError.

    reset: resets it once, where that is allowed and ends no other work; None: nothing here may reset it.
    try_kernel: how a kernel with a known answer fails on it, None where it does not; raises where that is not known.
    """

    leases: GpuLeases
    gpu: str
    target: str
    look: Callable[[], GpuState | str]
    try_kernel: Callable[[], str | None]
    reset: Callable[[Asked, str], Tried | None] = lambda *_: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @property
    def _health(self) -> GpuHealth:
        return self.leases.health

    @contextmanager
    def watched(self, asked: Asked, work: Work) -> Iterator[Work]:
        """A block with a job of `work` under this lease, as the part of it that the block gets.

        Raises QuarantinedError before it, and what `look` raises.
        """
        self._before(asked, work)
        ending = Ending()
        try:
            with doing(inside := replace(work, ending=ending)):
                yield inside
        finally:
            with cancelled_by(Cancellation()):  # the GPU of a cancelled job is looked at as well
                self._after(asked, ending.why)

    def _before(self, asked: Asked, work: Work) -> None:
        came_s = time.monotonic()
        self._health.refuse_quarantined(self.gpu, self.target)  # it may have come while the job waited
        state = self._try_new(came_s, work) if self._is_new() else None
        if not self.leases.is_alone(asked):
            return  # what the others do is seen; the last one of them is looked after
        known = self._health.find(self.gpu)
        if known is not None and known.suspect is not None:
            reason = self._recover(asked, known.suspect)
            if reason is not None:
                raise QuarantinedError(self.gpu, self.target, reason)
        state = state or self.look()
        baseline = known.baseline if known else None
        if baseline and isinstance(state, GpuState) and not state.processes and what_is_left(state, baseline):
            reason = self._recover(asked, _HIDDEN)
            if reason is not None:
                raise QuarantinedError(self.gpu, self.target, reason)
            state = self.look()
        if isinstance(state, GpuState) and self.leases.is_alone(asked):
            self._health.took_baseline(self.gpu, self.target, no_higher(state, baseline))

    def _is_new(self) -> bool:
        """Whether no job has had it yet, or it was released."""
        known = self._health.find(self.gpu)
        return known is None or known.baseline is None

    def _try_new(self, came_s: float, work: Work) -> GpuState | str | None:
        """Try a new GPU once for all that came to it at the same time; how it looked before that, None: another tried.

        Raises QuarantinedError.
        """
        trying = _TRYING.setdefault(self.gpu, _Trying())
        while not trying.lock.acquire(timeout=0.5):
            work.cancellation.check()
        try:
            self._health.refuse_quarantined(self.gpu, self.target)
            if not self._is_new() or trying.passed_s >= came_s:
                return None
            self._refuse_broken(state := self.look())
            trying.passed_s = time.monotonic()
            return state
        finally:
            trying.lock.release()

    def _refuse_broken(self, state: GpuState | str) -> None:
        """Raises QuarantinedError where the kernel fails on a GPU of which nothing is known yet."""
        failure = self.try_kernel()
        if failure is not None:
            reason = f"when it joined or was released, {failure}"
            self._quarantine(state, reason)
            raise QuarantinedError(self.gpu, self.target, reason)

    def _quarantine(self, state: GpuState | str, reason: str) -> None:
        self._health.quarantine(self.gpu, self.target, state, reason)
        _log.warning("%s is quarantined: %s", self.target, reason)

    def _after(self, asked: Asked, why: str | None) -> None:
        """Raises nothing: what the job answered stands. What cannot be known now is left to the next job."""
        try:
            known = self._health.find(self.gpu)
            why = why or (known.suspect if known else None)
            if why is None:
                self._health.saw(self.gpu, self.target, self.look())
            else:
                self._recover(asked, why)
        except AmdkernelError as error:
            if why is not None:
                with suppress(DatabaseError):
                    self._health.suspect(self.gpu, self.target, f"{why}, and then {error.message}")

    def _recover(self, asked: Asked, why: str) -> str | None:
        """Wait for the baseline, then try the kernel. Why the GPU was quarantined; None: it was not.

        Next to other jobs it is not known whose traces these are: the GPU stays suspect until a job is alone.
        """
        self._health.suspect(self.gpu, self.target, why)
        wrong = self._what_stays(asked)
        if wrong is not None and (tried := self.reset(asked, f"{why}, and {wrong}")) is not None:
            again = self._what_stays(asked) if tried.done else wrong
            wrong = again and f"{wrong}; {tried.text}" + (f", and then {again}" if tried.done else "")
        if wrong is None:
            return None
        reason = f"{why}, and {wrong}"
        self._quarantine(self.look(), reason)
        return reason

    def _what_stays(self, asked: Asked) -> str | None:
        """What keeps the GPU from use, RECOVERY_S later at most; None: nothing, or others use it as well."""
        known = self._health.find(self.gpu)
        baseline = known.baseline if known else None
        until = self.clock() + RECOVERY_S
        while True:
            state = self.look()
            left = what_is_left(state, baseline)
            if not self.leases.is_alone(asked):
                return None
            failure = self.try_kernel() if left is None else None
            if left is None and failure is None:
                self._health.saw(self.gpu, self.target, state, suspect=None)
                return None
            if failure is not None or self.clock() >= until:
                return failure or f"{RECOVERY_S:.0f} s later {left}"
            self.sleep(PAUSE_S)


def no_higher(state: GpuState, baseline: GpuState | None) -> GpuState:
    """`state` as a baseline: the processes of now, but no more VRAM and activity than the last one had.

    With another driver it counts as it is.
    """
    if baseline is None or baseline.driver != state.driver:
        return state
    return replace(
        state,
        vram_used_bytes=_least(state.vram_used_bytes, baseline.vram_used_bytes),
        busy_percent=_least(state.busy_percent, baseline.busy_percent),
    )


def _least(one: int | None, other: int | None) -> int | None:
    known = [each for each in (one, other) if each is not None]
    return min(known) if known else None


def what_is_left(state: GpuState | str, baseline: GpuState | None) -> str | None:
    """What of a job is still on the GPU, compared with how it looked before; None: nothing that can be seen."""
    if isinstance(state, str):
        return state if baseline else None
    before = set(baseline.processes) if baseline else set()
    if new := [each for each in state.processes if each not in before]:
        return f"the driver lists processes that were not there before: {', '.join(new[:5])}"
    if state.processes:
        return None  # of others, whose VRAM and activity are their own
    if state.display:
        return None
    if baseline and baseline.driver == state.driver and baseline.vram_used_bytes is not None:
        if state.vram_used_bytes is None:
            return "mem_info_vram_used cannot be read any more"
        over = state.vram_used_bytes - baseline.vram_used_bytes
        if over > SLACK_BYTES:
            return f"{state.vram_used_bytes >> 20} MiB of VRAM are in use, {over >> 20} MiB more than before"
    was_busy = baseline is not None and (baseline.busy_percent or 0) > MOST_BUSY_PERCENT
    if (state.busy_percent or 0) > MOST_BUSY_PERCENT and not was_busy:
        return f"it is {state.busy_percent} % busy though no process uses it"
    return None
