"""What ended when it was started, and what did not, so that nothing is started unasked that may take down others' work.

A kernel that hangs makes the driver reset its GPU, and with it the hive, the other partitions or the desktop on it
(`GpuState.reset_takes_down`). Whether a kernel ends cannot be decided, but some surely do, some were seen to end with
the same work, and one that once did not end is known, wherever it ran: the emulator's deadlocks count as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.gpu_idle import GpuState, why_not_hang
from amdkernel_mcp.kept_values import KeptValues, name_of

MOST_BYTES, MOST_BYTES_ENDED = 4 << 20, 64 << 10
"""Of what hung; of what ended, which every check adds to: who is forgotten there asks again."""
_NEVER_ENDED = ("timeout", "deadlock")
_ENDED = ("correct", "incorrect")
_SETTING = "the setting `start_unproven` starts all that is not known to hang"


@dataclass(frozen=True)
class Started:
    """What is started: digests of what runs and of the work that it gets.

    called: `kernel` or `program`. asks: the command that starts it all the same.
    """

    code: str
    work: str
    called: str
    asks: str


class HungKernels:
    """The kernels and programs of one cache folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._hung = KeptValues(folder / "hung", TypeAdapter(str), max_total_bytes=MOST_BYTES)
        self._excused = KeptValues(folder / "excused", TypeAdapter(str), max_total_bytes=MOST_BYTES)
        self._ended = KeptValues(folder / "ended", TypeAdapter(str), max_total_bytes=MOST_BYTES_ENDED)

    def note(self, started: Started, verdict: str | None, target: str, *, asked: bool = False) -> None:
        """Keep that it ended, or that it did not. asked: it was to start all the same; then an end clears a hang."""
        if verdict in _NEVER_ENDED:
            self._hung.put(_hung(started), f"{verdict} on {target}")
        elif verdict in _ENDED:
            if self._ended.get(_ended(started)) is None:
                self._ended.put(_ended(started), target)
            if asked and self._hung.get(_hung(started)):
                self._hung.put(_hung(started), "")

    def has_ended(self, started: Started) -> bool:
        """Whether it was seen to end with the same work."""
        return self._ended.get(_ended(started)) is not None

    def excuse(self, started: Started, target: str) -> bool:
        """Whether a GPU that fell sick while this ran may be the reason why it did not end: of the first such GPU."""
        first = self._excused.get(_hung(started))
        if first is None:
            self._excused.put(_hung(started), target)
        return first in (None, target)

    def refuse(
        self,
        started: Started,
        target: str,
        look: Callable[[], GpuState | str],
        *,
        ends: Callable[[], bool] = lambda: False,
        try_out: Callable[[], str] | None = None,
        unproven: bool = False,
    ) -> None:
        """Raises InputError for what did not end before or is not known to end, where a reset may take down others.

        look: at the GPU, only where it matters; raises SandboxError. ends: whether its code cannot but end. try_out:
        runs it where it can do no harm, notes what came, and says it. unproven: what is not known to end may start.
        """
        hung = self._hung.get(_hung(started))
        if not hung and (unproven or self._ended.get(_ended(started)) or ends()):
            return
        state = look()
        why = why_not_hang(target, state)
        if why is None:
            return
        tried = try_out() if try_out and not hung else None
        hung = hung or self._hung.get(_hung(started))
        if not hung and self._ended.get(_ended(started)):
            return
        unread = f"`amdkernel bringup {target} --only neighbours` looks for it; " if isinstance(state, str) else ""
        what, starts = f"this {started.called}", f"`{started.asks} --hang` starts it"
        if hung:
            alone = f"change it, or use a target that is alone, as the emulator is; {starts}"
            raise InputError(f"not started: {what} did not end before ({hung}), and {why}", hint=unread + alone)
        first = f"on the emulator it is {tried}" if tried else "run it on the emulator first: what ended there starts"
        message = f"not started: it is not known whether {what} ends, and {why}"
        raise InputError(message, hint=f"{unread}{first}; {starts}; {_SETTING}")


def _hung(started: Started) -> str:
    return name_of("hung", started.code)


def _ended(started: Started) -> str:
    return name_of("ended", started.code, started.work)
