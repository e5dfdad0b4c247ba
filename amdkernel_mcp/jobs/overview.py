"""The unfinished jobs of a process at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.counted import counted
from amdkernel_mcp.jobs.request import lane_in_words

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.expected_wait import Wait
    from amdkernel_mcp.jobs.job import Job


@dataclass(frozen=True)
class Place:
    """Where a waiting job stands, from 1. `wait`: None where too little is known, such as before a job has ended."""

    number: int
    wait: Wait | None

    def says(self, lane: str) -> str:
        """What its job waits for, and how long."""
        text = f"waits for {lane_in_words(lane)}, {counted(self.number - 1, 'job')} before it"
        if self.wait is None:
            return text
        wait = self.wait
        return f"{text}; 4 of 5 such waits take {wait.low_s:.0f} to {wait.high_s:.0f} s ({wait.evidence})"


@dataclass(frozen=True)
class Overview:
    """All unfinished jobs of this process at one moment. `now_s`: by the clock of their times."""

    running: tuple[Job, ...]
    waiting: tuple[tuple[Job, Place], ...]  # each lane in the order in which it will run
    now_s: float
    workers: int
    draining: bool
