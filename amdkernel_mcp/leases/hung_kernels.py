"""Kernels that did not end in a check, so that none of them is started unasked where a reset would end others' work.

A hung kernel makes the driver reset its GPU, and with it the hive, the other partitions or the desktop on it
(`GpuState.reset_takes_down`). Whether a kernel ends cannot be decided, but one that once did not end is known by its
text, wherever it ran: the emulator's deadlocks count as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.gpu_idle import GpuState, why_not_hang
from amdkernel_mcp.kept_values import KeptValues, name_of
from amdkernel_mcp.results.kernels import CheckResult

MOST_BYTES = 4 << 20
_NEVER_ENDED = ("timeout", "deadlock")


class HungKernels:
    """The kernels of one cache folder, by their text. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._kept = KeptValues(folder, TypeAdapter(str), max_total_bytes=MOST_BYTES)

    def note(self, source: str, answer: CheckResult) -> None:
        """Keep what a check found, where the kernel did not end."""
        if answer.verdict in _NEVER_ENDED:
            self._kept.put(name_of("hung", source), f"{answer.verdict} on {answer.target}")

    def refuse(self, source: str, target: str, look: Callable[[], GpuState | str]) -> None:
        """Raises InputError for a kernel that did not end before, where a reset of the GPU takes down more than its
        work, or may do so. `look` is asked for such a kernel alone, and raises SandboxError."""
        ended = self._kept.get(name_of("hung", source))
        if ended is None:
            return
        state = look()
        if why := why_not_hang(target, state):
            unread = f"`amdkernel bringup {target} --only neighbours` looks for it; " if isinstance(state, str) else ""
            raise InputError(
                f"not started: this kernel did not end before ({ended}), and {why}",
                hint=f"{unread}change it, or use a target that is alone, as the emulator is; `amdkernel check --hang` "
                "starts it",
            )
