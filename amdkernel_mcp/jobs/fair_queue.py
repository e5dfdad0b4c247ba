"""Which waiting job is next.

Among the users with waiting jobs, those with the highest priority; among these, the one with the fewest running jobs;
among these, the one that used the least time lately (seconds that a GPU was held, and of other work its duration;
halved every hour); then the job that was accepted first. A sweep counts as accepted later, so that it never holds up
its user's single calls for long and is never starved by them. Not thread-safe: the store has a lock.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping

from amdkernel_mcp.engine.verbs.table import VERB_NAMED
from amdkernel_mcp.jobs.job import Job

HALF_LIFE_S = 3600.0
SWEEP_LATER_S = 600.0

Priority = Callable[[str], int]
"""Of a user."""


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


def in_order(
    waiting: Iterable[Job], running: Iterable[Job], usage: Usage, priority: Priority = lambda _: 0
) -> list[Job]:
    """The waiting jobs in the order in which they will run if nothing new comes."""
    queues: dict[str, deque[Job]] = {}
    for job in sorted(waiting, key=rank):
        queues.setdefault(job.owner, deque()).append(job)
    used = {owner: usage.of(owner) for owner in queues}
    busy = Counter(job.owner for job in running)
    order = []
    while (owner := next_owner(queues, busy, used, priority)) is not None:
        order.append(queues[owner].popleft())
        busy[owner] += 1
        if not queues[owner]:
            del queues[owner]
    return order


def next_owner(
    owners: Iterable[str], busy: Mapping[str, int], used: Mapping[str, float], priority: Priority
) -> str | None:
    """Whose job is next, of these in the order in which their first jobs came; None of no one."""
    return min(owners, key=lambda name: (-priority(name), busy[name], used[name]), default=None)  # the first of equals


def rank(job: Job) -> float:
    """The smallest of a user is its next. Equal ones stay in their order."""
    return job.accepted_s + later_s(job)


def later_s(job: Job) -> float:
    """For how many seconds later than it was a job counts as accepted."""
    verb = VERB_NAMED.get(job.request.verb)
    return SWEEP_LATER_S if verb and verb.sweeps else 0.0
