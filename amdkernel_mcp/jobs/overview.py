"""The unfinished jobs of a process at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from amdkernel_mcp.counted import counted
from amdkernel_mcp.jobs.request import lane_in_words
from amdkernel_mcp.quoting import name_of
from amdkernel_mcp.work import LOCAL

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.expected_wait import Wait
    from amdkernel_mcp.jobs.job import Job


_NAMED: Final = 5


@dataclass(frozen=True)
class Place:
    """Where a waiting job stands, from 1. `wait`: None where too little is known, such as before a job has ended."""

    number: int
    wait: Wait | None
    busy: Mapping[str, int] = field(default_factory=dict)
    """How many jobs of each user run where it will run."""

    def says(self, lane: str) -> str:
        """What its job waits for, who is there, and how long."""
        text = f"waits for {lane_in_words(lane)}, {counted(self.number - 1, 'job')} before it"
        if self.busy:
            text += f"; {counted(sum(self.busy.values()), 'job')} there"
        if others := [f"{count} of {name_of(owner)}" for owner, count in self.busy.items() if owner != LOCAL]:
            text += f" ({', '.join(others[:_NAMED])})"
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


def now_of(job: Job, place: Place | None) -> str | None:
    """What a job does or waits for now; of one that has ended, what it did last. `place`: of one that waits."""
    if job.state == "waits_for_gpu":
        return job.work.used.waits_for or job.progress
    return job.progress if place is None else job.progress or place.says(job.lane)
