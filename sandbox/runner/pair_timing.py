"""Times of two kernels in turns, A B, B A, by HIP events: what amdkernel_mcp/measurement/timing/interleaved.py judges.

The order: settle (both sides at work until their events add up to the time that the job asks for), a few probes that
choose the batch, then the pairs. Between two events lie `batch` launches of a side, each on another set of buffers,
so that a launch finds neither its data in a cache nor its outputs written; launch_queue.py enqueues them as one. The
sets have different inputs in turn, the same ones for both sides. Before a sample the outputs and workspaces of its
sets are filled with poison, untimed: a kernel that leaves out a launch leaves the poison. The first, the last and two
drawn samples of each side are kept for the judge.
"""

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from guarded_buffer import GuardedBuffer, prepare_all
from job_plan import PairPlan
from kernel_launch import BoundLaunch
from launch_queue import LaunchQueue

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
    filled: bool = False  # see LaunchQueue.filled
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
    queue = LaunchQueue()
    try:
        times.settled_us = _settle(sides, plan, queue)
        probes = [[_sample(sets, i, 1, queue) for i in range(PROBES)] for sets in sides]
        times.buffer_sets = min(map(len, sides))
        times.batch = _batch(min(map(median, probes)), plan, times.buffer_sets)
        _take_pairs(sides, plan, times, queue, keep)
        times.filled = queue.filled
    finally:
        queue.close()


def _settle(sides: Sequence[Sequence[Set]], plan: PairPlan, queue: LaunchQueue) -> float:
    """Both sides at work in turns, without a gap between two launches of a chunk. Returns the time of all chunks."""
    worked_us, launches, number = 0.0, 2, 0
    give_up_at = time.monotonic() + plan.settle_limit_s
    while worked_us < 1e6 * plan.settle_s and time.monotonic() < give_up_at:
        chunk = [sides[n % 2][n // 2 % len(sides[n % 2])] for n in range(number, number + launches)]
        took_us = queue.work_us([launch for _, bound in chunk for launch in bound])
        number += launches
        worked_us += took_us
        if took_us < SETTLE_CHUNK_US:
            launches *= 2
    return worked_us


def _batch(probe_us: float, plan: PairPlan, sets: int) -> int:
    wanted = ceil(plan.event_us / probe_us) if probe_us > 0 else plan.most_launches
    return max(1, min(wanted, plan.most_launches, sets))


def _take_pairs(
    sides: Sequence[Sequence[Set]], plan: PairPlan, times: PairTimes, queue: LaunchQueue, keep: Keep
) -> None:
    drawn = {random.SystemRandom().choice(range(first, plan.least_pairs - 1, 2)) for first in (1, 2)}  # of two sets
    end_at = time.monotonic() + plan.budget_s
    times.outputs, times.damage = [[], []], [[], []]
    for pair in range(plan.pairs):
        last = pair == plan.pairs - 1 or (pair + 1 >= plan.least_pairs and time.monotonic() > end_at)
        judged = last or pair == 0 or pair in drawn
        number = (pair * times.batch + random.SystemRandom().randrange(times.batch)) % times.buffer_sets
        us = [0.0, 0.0]
        for side in _order(pair):
            us[side] = _sample(sides[side], pair * times.batch, times.batch, queue)
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


def _sample(sets: Sequence[Set], first: int, batch: int, queue: LaunchQueue) -> float:
    """The time of `batch` launches, each on the next set. The sets are as before any launch."""
    used = [(first + number) % len(sets) for number in range(batch)]
    for number in used:
        prepare_all(sets[number][0])
    return queue.sample_us((id(sets), used[0], batch), [launch for number in used for launch in sets[number][1]])
