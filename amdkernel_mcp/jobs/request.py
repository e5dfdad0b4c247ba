"""What a job does, in plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from amdkernel_mcp.engine.verbs.table import VERB_NAMED
from amdkernel_mcp.hardware.pool import is_pool
from amdkernel_mcp.hardware.target import is_emulated
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.work import Work

Answer = JobAnswer


@dataclass(frozen=True)
class Request:
    """A verb of the engine and its arguments, all of them JSON."""

    verb: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> str | None:
        """The name of its problem, which is the last part of a path for a folder of this machine."""
        named = self.arguments.get("problem")
        return str(named).rstrip("/").rpartition("/")[2] if named else None

    def lane(self, default_target: str) -> str:
        """What it waits for: `compile`, `emulator`, `emulator of HOST`, or the name of a GPU or of a pool of GPUs.

        Lanes do not wait for each other.
        """
        verb = VERB_NAMED.get(self.verb)
        if verb and not verb.on_target:
            return "compile"
        target = str(self.arguments.get("target") or default_target)
        if target.startswith("emulator"):
            return "emulator"
        return f"emulator of {target.partition(':')[0]}" if is_emulated(target) else target

    def on(self, target: str) -> Request:
        """The same request for one GPU of its pool."""
        return replace(self, arguments={**self.arguments, "target": target})


def is_gpu(lane: str) -> bool:
    """Whether the jobs of a lane run on a GPU."""
    return lane != "compile" and not is_emulator(lane)


def is_emulator(lane: str) -> bool:
    """Whether the jobs of a lane run on an emulator."""
    return lane.startswith("emulator")


def lane_in_words(lane: str) -> str:
    """What its jobs wait for."""
    if is_pool(lane):
        return f"a GPU of {lane}"
    return lane if is_gpu(lane) else f"the {'compiler' if lane == 'compile' else lane}"


Perform = Callable[[Request, Work], Answer]
"""Does a request for the work of its job. Raises errors of `errors.py`."""
