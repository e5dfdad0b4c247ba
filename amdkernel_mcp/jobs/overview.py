"""The unfinished jobs of a process at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.job import Job


@dataclass(frozen=True)
class Place:
    """Where a waiting job stands. `expected_wait_s`: None before any job has ended here."""

    number: int  # from 1
    expected_wait_s: float | None


@dataclass(frozen=True)
class Overview:
    """All unfinished jobs of this process at one moment. `now_s`: by the clock of their times."""

    running: tuple[Job, ...]
    waiting: tuple[tuple[Job, Place], ...]  # each lane in the order in which it will run
    now_s: float
    workers: int
    draining: bool
