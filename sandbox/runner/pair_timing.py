"""Times of two kernels in turns, A B, B A, by HIP events: what amdkernel_mcp/measurement/timing/interleaved.py judges.

The order: settle (both sides at work until their events add up to the time that the job asks for), a few probes that
choose the batch, then the pairs. Between two events lie `batch` launches of a side, each on another set of buffers, so
that a launch finds neither its data in a cache nor its outputs written. The sets have different inputs in turn, the
same ones for both sides. Before a sample the outputs and workspaces of its sets are filled with poison, untimed: a
kernel that leaves out a launch leaves the poison. The first, the last and two drawn samples of each side are kept for
the judge.
"""

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

import hip_calls
from guarded_buffer import GuardedBuffer, prepare_all
from hip import hip
from job_plan import PairPlan
from kernel_launch import BoundLaunch

PROBES = 5
SETTLE_CHUNK_US = 20_000

Set = tuple[list[GuardedBuffer], list[BoundLaunch]]
Keep = Callable[[int, int], None]


@dataclass
class PairTimes:
    """What the parent reads: plain JSON values. Times in us, between the two events of a batch."""

    batch: int = 0
    buffer_sets: int = 0
    settled_us: float = 0.0
    pairs_us: list[list[float]] = field(default_factory=list)  # candidate, baseline
    process: int = field(default_factory=os.getpid)  # whose launches a profiler's trace has under this number
    kept: list[int] = field(default_factory=list)  # numbers of the pairs whose outputs are kept
    kept_sets: list[int] = field(default_factory=list)  # and of the sets of buffers that they are of
    outputs: list[list[dict[str, int]]] = field(default_factory=list)  # per side and kept pair: buffer to its file
    damage: list[list[dict[str, object]]] = field(default_factory=list)  # per side, by the number of the kept sample


def time_pairs(sides: Sequence[Sequence[Set]], plan: PairPlan, times: PairTimes, keep: Keep) -> None:
    """Fill `times`. `sides`: the sets of the candidate and of the baseline. Raises HipError.

    `keep` gets the numbers of the side and of the set of one launch of a sample that is judged.
    """
    clock = _Clock()
    try:
        times.settled_us = _settle(sides, plan, clock)
        probes = [[_sample(sets, i, 1, clock) for i in range(PROBES)] for sets in sides]
        times.buffer_sets = min(map(len, sides))
        times.batch = _batch(min(map(median, probes)), plan, times.buffer_sets)
        _take_pairs(sides, plan, times, clock, keep)
    finally:
        clock.close()


class _Clock:
    """Two events, and the time between them."""

    def __init__(self) -> None:
        self._events = [hip_calls.call(hip.hipEventCreate) for _ in range(2)]

    def start(self) -> None:
        hip_calls.call(hip.hipEventRecord, self._events[0], None)

    def stop_us(self) -> float:
        hip_calls.call(hip.hipEventRecord, self._events[1], None)
        hip_calls.call(hip.hipEventSynchronize, self._events[1])
        return 1e3 * float(hip_calls.call(hip.hipEventElapsedTime, *self._events))

    def close(self) -> None:
        for event in self._events:
            hip_calls.call(hip.hipEventDestroy, event)


def _settle(sides: Sequence[Sequence[Set]], plan: PairPlan, clock: _Clock) -> float:
    """Both sides at work in turns, without a gap between two launches of a chunk. Returns the time of all chunks."""
    worked_us, launches, number = 0.0, 2, 0
    give_up_at = time.monotonic() + plan.settle_limit_s
    while worked_us < 1e6 * plan.settle_s and time.monotonic() < give_up_at:
        clock.start()
        for _ in range(launches):
            sets = sides[number % 2]
            _launch(sets[number // 2 % len(sets)])
            number += 1
        took_us = clock.stop_us()
        worked_us += took_us
        if took_us < SETTLE_CHUNK_US:
            launches *= 2
    return worked_us


def _batch(probe_us: float, plan: PairPlan, sets: int) -> int:
    wanted = ceil(plan.event_us / probe_us) if probe_us > 0 else plan.most_launches
    return max(1, min(wanted, plan.most_launches, sets))


def _take_pairs(sides: Sequence[Sequence[Set]], plan: PairPlan, times: PairTimes, clock: _Clock, keep: Keep) -> None:
    drawn = {random.SystemRandom().choice(range(first, plan.least_pairs - 1, 2)) for first in (1, 2)}  # of two sets
    end_at = time.monotonic() + plan.budget_s
    times.outputs, times.damage = [[], []], [[], []]
    for pair in range(plan.pairs):
        last = pair == plan.pairs - 1 or (pair + 1 >= plan.least_pairs and time.monotonic() > end_at)
        judged = last or pair == 0 or pair in drawn
        number = (pair * times.batch + random.SystemRandom().randrange(times.batch)) % times.buffer_sets
        us = [0.0, 0.0]
        for side in _order(pair):
            us[side] = _sample(sides[side], pair * times.batch, times.batch, clock)
            if judged:
                keep(side, number)
        times.pairs_us.append(us)
        if judged:
            times.kept.append(pair)
            times.kept_sets.append(number)
        if last:
            return


def _order(pair: int) -> tuple[int, int]:
    """Which side is first: A B, B A, B A, A B, so that two sets in turn each meet both orders."""
    return (0, 1) if pair % 4 in (0, 3) else (1, 0)


def _sample(sets: Sequence[Set], first: int, batch: int, clock: _Clock) -> float:
    """The time of `batch` launches, each on the next set. The sets are as before any launch."""
    used = [sets[(first + number) % len(sets)] for number in range(batch)]
    for buffers, _ in used:
        prepare_all(buffers)
    hip_calls.synchronize()
    clock.start()
    for each in used:
        _launch(each)
    return clock.stop_us()


def _launch(each: Set) -> None:
    for launch in each[1]:
        launch()
