"""How long a queued job is expected to wait: a range, and what it rests on.

The queue is played forward many times by its own rules. Each job takes a time that one like it took here: of its verb
and problem on its target where enough of those have ended, else of its verb or lane, times what jobs of its problem
took longer than others of their verb. One that runs has used up a part of it. Meanwhile jobs come as lately.
What is said is compared with what happens, and the ranges become as wide as it takes for HOLDS of them to hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeVar

from amdkernel_mcp.counted import counted
from amdkernel_mcp.jobs.fair_queue import later_s
from amdkernel_mcp.jobs.futures import KEPT, Arrival, Durations, Kind, Queue, future
from amdkernel_mcp.jobs.request import is_gpu

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.job import Job

HOLDS = 0.8
"""The part of the ranges that is to hold."""
MOST_FUTURES, LEAST_FUTURES, STARTS = 60, 20, 1500
"""How often the queue is played: so often that no more than STARTS jobs start in all, within these bounds."""
ENOUGH = 5  # durations of one kind, before a coarser one is asked
MOST_KINDS = 2000
RECENT_S, AT_LEAST_S, MOST_ARRIVALS = 3600.0, 600.0, 200
"""How far back the arrivals are looked at, the shortest time that says how often jobs come, and how many are kept."""
COMPARED, MIN_COMPARED = 100, 10
FACTOR_BEFORE = 2.0
"""By which ranges are wider each way until MIN_COMPARED of them were compared. A choice."""
FRESH_S = 5.0  # for which a forecast stands while nothing happens

_EXACT = 3  # the length of the finest kind
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True)
class Wait:
    """Seconds from now. `evidence`: on how many ended jobs it rests, and how many of the ranges said before held."""

    expected_s: float
    low_s: float
    high_s: float
    evidence: str


@dataclass(frozen=True)
class _Said:
    """What was said of a job first, and the range before it was widened, one second added: 0 has no logarithm."""

    when_s: float
    drawn: tuple[float, float]
    told: Wait


class ExpectedWaits:
    """Learned from the jobs of this process. What notes something is called under the lock of the store; `of` from any
    thread: it reads values that are replaced and never changed."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begun_s = clock()
        self._seconds: dict[Kind, tuple[float, ...]] = {}
        self._sizes: dict[str, tuple[float, ...]] = {}  # by problem: logarithms of how much longer its jobs took
        self._came: dict[str, tuple[Arrival, ...]] = {}  # by lane
        self._said: dict[str, _Said] = {}  # by job
        self._misses: tuple[float, ...] = ()  # by which factor each range was too narrow, as a logarithm
        self._held: tuple[bool, ...] = ()
        self._changes = self._ended = 0
        self._kept: dict[str, tuple[int, float, Mapping[str, Wait]]] = {}  # by lane

    def came(self, job: Job) -> None:
        """A job joins its lane."""
        self._changes += 1
        arrival = Arrival(self._clock(), job.owner, _kinds(job.lane, job.request.verb, _problem(job)), later_s(job))
        _put(self._came, job.lane, (*self._came.get(job.lane, ())[1 - MOST_ARRIVALS :], arrival))

    def started(self, job: Job) -> None:
        """Compare its wait with what was said of it first."""
        self._changes += 1
        if (said := self._said.pop(job.id, None)) is None:
            return
        waited_s = self._clock() - said.when_s
        low, high = said.drawn
        held = said.told.low_s - 0.05 <= waited_s <= said.told.high_s + 0.05  # as it is rounded
        miss = max(math.log(low / (waited_s + 1)), math.log((waited_s + 1) / high))
        self._held, self._misses = (*self._held, held)[-COMPARED:], (*self._misses, miss)[-COMPARED:]

    def left(self, job: Job) -> None:
        """It waits no longer, and did not start."""
        self._changes += 1
        self._said.pop(job.id, None)

    def ended(self, job: Job, seconds: float) -> None:
        """A job ran for so long."""
        self._changes += 1
        self._ended += 1
        seconds = max(seconds, 0.001)
        verb, problem = job.request.verb, _problem(job)
        others = self._seconds.get((job.lane, verb), ())
        usual = sum(map(math.log, others)) / len(others) if others else math.log(seconds)
        _put(self._sizes, problem, (*self._sizes.get(problem, ())[1 - KEPT :], math.log(seconds) - usual))
        size = self._size(problem)
        for lane in filter(None, {job.lane, job.pool}):
            for kind in _kinds(lane, verb, problem):
                each = seconds if len(kind) == _EXACT else seconds / size
                _put(self._seconds, kind, (*self._seconds.get(kind, ())[1 - KEPT :], each))

    def _size(self, problem: str) -> float:
        """How much longer jobs of a problem take than others of their verb; near 1 while few have ended."""
        known = self._sizes.get(problem, ())
        return math.exp(sum(known) / (len(known) + 1))

    def of(self, queue: Queue) -> Mapping[str, Wait]:
        """By the id of a waiting job; without those of which too little is known."""
        changes, when_s, kept = self._kept.get(queue.lane, (-1, 0.0, {}))
        if changes != self._changes or queue.now_s - when_s > FRESH_S:
            changes, kept = self._changes, self._forecast(queue)
            _put(self._kept, queue.lane, (changes, queue.now_s, kept))
        return kept

    def _forecast(self, queue: Queue) -> Mapping[str, Wait]:
        jobs = (*queue.waiting, *(job for job, _ in queue.running))
        durations = {job.id: self._known(_kinds(job.lane, job.request.verb, _problem(job))) for job in jobs}
        if not all(known.seconds for known in durations.values()):
            return {}
        lately, span_s = self._lately(queue)
        draw = Random(0)  # the same each time: a number changes because the queue does
        number = max(LEAST_FUTURES, min(MOST_FUTURES, STARTS // max(len(queue.waiting), 1)))
        futures = [future(queue, durations, lately, span_s, draw) for _ in range(number)]
        known = sum(map(len, {known.seconds for known in durations.values()}))  # one may count for its GPU and its pool
        evidence = f"from {counted(min(known, self._ended), 'ended job')}"
        if held := self._held:
            evidence += f"; {sum(held)} of the last {counted(len(held), 'range')} held"
        found = {}
        for job in queue.waiting:
            if job.lane != queue.lane:  # the queue of its own lane says it better
                continue
            starts = sorted(each.get(job.id, math.inf) for each in futures)
            low, middle, high = (starts[round(part * (number - 1))] for part in ((1 - HOLDS) / 2, 0.5, (1 + HOLDS) / 2))
            if math.isinf(high):  # others that come later are before it
                continue
            told = self._widened(low, middle, high, evidence)
            if job.id not in self._said:
                _put(self._said, job.id, _Said(queue.now_s, (low + 1, high + 1), told))
            found[job.id] = told
        return found

    def _widened(self, low: float, middle: float, high: float, evidence: str) -> Wait:
        """The range that would have held for HOLDS of those that were compared."""
        factor, misses = FACTOR_BEFORE, sorted(self._misses)
        if len(misses) >= MIN_COMPARED:
            factor = math.exp(misses[math.ceil(HOLDS * (len(misses) + 1)) - 1])
        low, high = min((low + 1) / factor - 1, middle), max((high + 1) * factor - 1, middle)
        return Wait(round(middle, 1), round(max(low, 0.0), 1), round(high, 1), evidence)

    def _known(self, kinds: Sequence[Kind]) -> Durations:
        """Of the finest kind of which enough jobs have ended, else of the one with the most."""
        found = [self._seconds.get(kind, ()) for kind in kinds]
        for kind, seconds in zip(kinds, found, strict=True):
            if len(seconds) >= ENOUGH:
                return Durations(seconds, 1.0 if len(kind) == _EXACT else self._size(kinds[0][-1]))
        return Durations(max(found[1:], key=len), self._size(kinds[0][-1]))

    def _lately(self, queue: Queue) -> tuple[list[tuple[float, Arrival, Durations]], float]:
        """What came, each with the seconds since the beginning of a span and its durations; and the span."""
        lanes = [self._came.get(lane, ()) for lane in queue.lanes or (queue.lane,)]
        span_s = min(max(queue.now_s - self._begun_s, AT_LEAST_S), RECENT_S)
        for came in lanes:
            if len(came) == MOST_ARRIVALS:
                span_s = min(span_s, max(queue.now_s - came[0].when_s, 1.0))
        known = []
        for each in sorted((each for came in lanes for each in came), key=lambda one: one.when_s):
            since_s = each.when_s - (queue.now_s - span_s)
            if since_s >= 0 and (durations := self._known(each.kinds)).seconds:
                known.append((since_s, each, durations))
        return known, span_s


def _kinds(lane: str, verb: str, problem: str) -> Sequence[Kind]:
    """The finest first."""
    exact: list[Kind] = [(lane, verb, problem), (lane, verb)]
    return [*exact, ("gpu", verb), (lane,), ("gpu",)] if is_gpu(lane) else [*exact, (lane,)]


def _problem(job: Job) -> str:
    return str(job.request.arguments.get("problem"))[:200]


def _put(kept: dict[_K, _V], key: _K, value: _V) -> None:
    """Keep it. The keys are words of users, so of many the oldest are forgotten."""
    kept[key] = value
    while len(kept) > MOST_KINDS:
        del kept[next(iter(kept))]
