"""The ratio of two sets of times: medians of paired log-ratios and bootstrap intervals.

Times of a GPU are skewed and drift together, so means and unpaired tests mislead. A ratio is taken per
interleaved pair, and its interval by resampling whole pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from random import Random
from statistics import median

RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A ratio with its 95 % interval; low <= value <= high, all positive."""

    value: float
    low: float
    high: float


def speedup(candidate_us: Sequence[float], baseline_us: Sequence[float], *, seed: int = 0) -> Estimate:
    """How many times as fast the candidate is: median over pairs of baseline / candidate.

    Times are positive, in any one unit; pair i was measured side by side, and surplus samples are left out.
    Raises ValueError without a pair.
    """
    pairs = list(zip(candidate_us, baseline_us, strict=False))
    if not pairs:
        raise ValueError("no pair of samples to compare")
    ratios = [log(baseline) - log(candidate) for candidate, baseline in pairs]
    low, high = bootstrap_interval(ratios, seed=seed)
    return Estimate(exp(median(ratios)), exp(low), exp(high))


def bootstrap_interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the median of `values`, by resampling; it holds the median itself. Same seed, same interval."""
    centre = median(values)
    if len(values) < 2:
        return centre, centre
    rng = Random(seed)
    medians = sorted(median(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - LEVEL) / 2)
    return min(medians[tail], centre), max(medians[-1 - tail], centre)


def noise_floor(samples_us: Sequence[float], *, seed: int = 0) -> float | None:
    """What identical code seems to differ by, as a fraction: the A/A test on neighbouring samples of one kernel.

    None with fewer than eight samples, which is too little to say.
    """
    if len(samples_us) < 8:
        return None
    same = speedup(samples_us[::2], samples_us[1::2], seed=seed)
    return max(same.high, 1 / same.low) - 1


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers. Raises ValueError for none."""
    if not values:
        raise ValueError("the mean of nothing")
    return exp(sum(map(log, values)) / len(values))
