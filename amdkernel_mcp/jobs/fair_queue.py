"""Which waiting job is next.

Among the users with waiting jobs, the one with the fewest running jobs; among these, the one that used the least time
lately (seconds that a GPU was held, and of other work its duration; halved every hour); then the job that was accepted
first. A sweep counts as accepted later, so that it never holds up its user's single calls for long and is never
starved by them. Not thread-safe: the store has a lock.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable

from amdkernel_mcp.engine.verbs.table import VERB_NAMED
from amdkernel_mcp.jobs.job import Job

HALF_LIFE_S = 3600.0
SWEEP_LATER_S = 600.0


class Usage:
    """Seconds of work of each user, halved every hour."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}  # by user: seconds, and when they were counted

    def add(self, owner: str, seconds: float) -> None:
        """Count the work of a job that has ended."""
        self._used[owner] = (self.of(owner) + seconds, self._clock())

    def of(self, owner: str) -> float:
        """Seconds that still count."""
        seconds, counted = self._used.get(owner, (0.0, 0.0))
        halves: float = 0.5 ** ((self._clock() - counted) / HALF_LIFE_S)
        return seconds * halves


def in_order(waiting: Iterable[Job], running: Iterable[Job], usage: Usage) -> list[Job]:
    """The waiting jobs in the order in which they will run if nothing new comes."""
    queues: dict[str, deque[Job]] = {}
    for job in sorted(waiting, key=_rank):
        queues.setdefault(job.owner, deque()).append(job)
    used = {owner: usage.of(owner) for owner in queues}
    busy = Counter(job.owner for job in running)
    order = []
    while queues:
        owner = min(queues, key=lambda name: (busy[name], used[name]))  # the first of equals
        order.append(queues[owner].popleft())
        busy[owner] += 1
        if not queues[owner]:
            del queues[owner]
    return order


def _rank(job: Job) -> float:
    """Equal ones stay in their order."""
    return job.accepted_s + (SWEEP_LATER_S if VERB_NAMED[job.request.verb].sweeps else 0.0)
