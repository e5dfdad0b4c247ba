"""Two ways of doing one thing, timed in alternation, so that a slow spell of the machine hits both."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Paired:
    """`median`, `low`, `high`: of the ratios ours / anchor, one a round; low and high are the quartiles."""

    median: float
    low: float
    high: float
    rounds: int
    ours_s: float  # medians
    anchor_s: float


def paired(
    ours: Callable[[], object],
    *,
    anchor: Callable[[], object],
    rounds: int,
    settle: Callable[[], object] = lambda: None,
) -> Paired:
    """Time both once a round, in the order A B, B A, A B …, after one round that does not count.

    A call that returns a float has timed itself, in seconds. settle: done before each call and not timed.
    """
    ours_s: list[float] = []
    anchor_s: list[float] = []
    for number in range(-1, rounds):
        order = ((ours, ours_s), (anchor, anchor_s))
        for call, times in order if number % 2 else reversed(order):
            settle()
            started = time.perf_counter()
            timed = call()
            if number >= 0:
                times.append(timed if isinstance(timed, float) else time.perf_counter() - started)
    ratios = [ours_time / anchor_time for ours_time, anchor_time in zip(ours_s, anchor_s, strict=True)]
    low, median, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
    return Paired(median, low, high, rounds, statistics.median(ours_s), statistics.median(anchor_s))
