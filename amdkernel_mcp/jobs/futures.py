"""How a queue may continue: by its own rules, with the times that jobs took here and jobs that come as before."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING

from amdkernel_mcp.jobs.fair_queue import next_owner, rank

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.job import Job
    from amdkernel_mcp.jobs.quotas import Quotas

Kind = tuple[str, ...]
"""What jobs have in common that take about as long: lane, verb and problem, or less than that."""
MOST_EVENTS = 20
"""For each waiting job: then a future ends, and nothing is said of who still waits."""

KEPT = 32  # durations of a kind
_NOISE = [1 / math.sqrt(number + 1) for number in range(KEPT + 1)]


@dataclass(frozen=True)
class Queue:
    """A lane at one moment.

    `running`: the jobs of all lanes, and whether each has a place in this one. `one_more`: a job of another user starts
    where one user has all places. `used`: see fair_queue.py. `lanes`: whose jobs wait for the same GPUs.
    """

    lane: str
    waiting: Sequence[Job]
    running: Sequence[tuple[Job, bool]]
    width: int
    one_more: bool
    quotas: Quotas
    used: Mapping[str, float]
    now_s: float
    lanes: Sequence[str] = ()


@dataclass(frozen=True)
class Arrival:
    """A job that came. `later_s`: see fair_queue.py."""

    when_s: float
    owner: str
    kinds: Sequence[Kind]
    later_s: float


@dataclass(frozen=True)
class Durations:
    """Seconds that jobs of one kind took, times `factor`. What is drawn from few varies more: they say less."""

    seconds: tuple[float, ...]
    factor: float = 1.0

    def draw(self, draw: Random) -> float:
        """How long a job takes."""
        number = len(self.seconds)
        return self.seconds[int(draw.random() * number)] * self.factor * math.exp(draw.gauss(0.0, _NOISE[number]))

    def left(self, age_s: float, draw: Random) -> float:
        """How long one still runs that has run for `age_s`; one that is older than all known ones, as long again."""
        longer = [each * self.factor for each in self.seconds if each * self.factor > age_s]
        if not longer:
            return max(age_s, 1.0) * math.exp(draw.gauss(0.0, 1.0))
        took_s = draw.choice(longer)
        noisy_s = took_s * math.exp(draw.gauss(0.0, _NOISE[len(self.seconds)]))
        return (noisy_s if noisy_s > age_s else took_s) - age_s


Lately = Sequence[tuple[float, Arrival, Durations]]
_Line = list[tuple[float, int, str | None, Durations]]  # of one owner: rank, number, job, how long it takes


def future(
    queue: Queue, durations: Mapping[str, Durations], lately: Lately, span_s: float, draw: Random
) -> dict[str, float]:
    """In how many seconds each waiting job starts, by its id, in one future; without those that it ends before.

    `lately`: what came in the last `span_s`, each with its seconds from their beginning.
    """
    lines: dict[str, _Line] = {}
    for number, job in enumerate(queue.waiting):
        lines.setdefault(job.owner, []).append((rank(job), number, job.id, durations[job.id]))
    for line in lines.values():
        line.sort(key=_by_rank)
    ends: list[tuple[float, int, str, bool, float]] = []  # when, number, owner, whether here, seconds
    busy: dict[str, int] = dict.fromkeys((*lines, *queue.used, *(arrival.owner for _, arrival, _ in lately)), 0)
    here: dict[str, int] = busy.copy()
    used: dict[str, float] = {**busy, **queue.used}
    for number, (job, is_here) in enumerate(queue.running):
        age_s = queue.now_s - (queue.now_s if job.begun_s is None else job.begun_s)
        left_s = durations[job.id].left(age_s, draw)
        heappush(ends, (left_s, -1 - number, job.owner, is_here, age_s + left_s))
        busy[job.owner] += 1
        here[job.owner] += is_here
    coming = _coming(lately, span_s, draw)
    arrives_s, arrival, takes = next(coming)
    starts: dict[str, float] = {}
    now_s, number, there, unstarted = 0.0, len(queue.waiting), sum(here.values()), len(queue.waiting)
    for _ in range(MOST_EVENTS * (len(queue.waiting) + len(queue.running))):
        while lines and there < queue.width + queue.one_more:
            if there < queue.width:
                may = [owner for owner in lines if busy[owner] < (queue.quotas.of_user(owner).running or math.inf)]
            else:  # lanes.py
                one = next(owner for owner, count in here.items() if count)
                may = [owner for owner in lines if owner != one] if here[one] == there else []
            if (owner := next_owner(may, busy, used, queue.quotas.priority_of)) is None:
                break
            _, _, job_id, its = lines[owner].pop(0)
            if not lines[owner]:
                del lines[owner]
            seconds = its.draw(draw)
            heappush(ends, (now_s + seconds, number, owner, True, seconds))
            number, there = number + 1, there + 1
            busy[owner] += 1
            here[owner] += 1
            if job_id is not None:
                starts[job_id] = now_s
                unstarted -= 1
        if not unstarted or (not ends and arrives_s == math.inf):
            break
        if ends and ends[0][0] <= arrives_s:
            now_s, _, owner, was_here, seconds = heappop(ends)
            busy[owner] -= 1
            here[owner] -= was_here
            there -= was_here
            used[owner] += seconds
        else:
            now_s = arrives_s
            assert arrival is not None
            assert takes is not None
            number += 1
            place = (queue.now_s + now_s + arrival.later_s, number, None, takes)
            insort(lines.setdefault(arrival.owner, []), place, key=_by_rank)
            arrives_s, arrival, takes = next(coming)
    return starts


def _by_rank(one: tuple[float, int, str | None, Durations]) -> tuple[float, int]:
    return one[:2]


def _coming(lately: Lately, span_s: float, draw: Random) -> Iterator[tuple[float, Arrival | None, Durations | None]]:
    """What comes from now on: the last span again and again, from a random moment of it, so that bursts stay bursts."""
    if not lately:
        while True:
            yield math.inf, None, None
    from_s = draw.uniform(0.0, span_s)
    index, ahead_s = bisect([each[0] for each in lately], from_s), -from_s
    while True:
        for since_s, arrival, takes in lately[index:]:
            yield ahead_s + since_s, arrival, takes
        index, ahead_s = 0, ahead_s + span_s
