"""How two kernels are timed against each other on a GPU, and when the verdict is reached.

The protocol, in order:

1. Settle: at least 1 s of real work before the first sample. The clock of an MI300 takes 400 ms or more to rise.
2. Probe: a few samples of each side choose the batch, the number of launches between two events. It is long enough for
   the resolution of the events and the cost of a launch to matter little.
3. Pairs in the order A B, B A, B A, A B ...: each pair is one log-ratio. A drift that is slower than a pair cancels in
   it, and a drift in one direction cancels between two pairs. Buffer sets rotate, launch by launch, for both sides
   alike, and have two inputs in turn: with this order, each of two sets is met in both orders of the sides.
4. Look after 9, 16, 28, 44 and 64 pairs, and stop as soon as the interval decides. Five looks are five chances to be
   wrong. Each look spends a fifth of the error (Bonferroni), which holds however the looks depend on each other: all
   together miss the truth in at most 2 % of the comparisons, and on the side of `faster` in at most 1 %.

The margin: `faster` requires the interval to lie above 1 + max(noise floor of this GPU, 0.5 %). A margin of 2 % answers
another question, which differences are worth acting on, and it hides them: a kernel that is 2 % faster has its true
value on that margin, and an honest interval lies above its own true value in at most 1 % of the comparisons. What
identical code differs by is the noise floor's part. The 0.5 % replace it where no floor is stored yet: the placement
of code and buffers makes differences of that order. Whether 0.7 % is worth a change is for the reader of the estimate.

Pure: a `Timer` runs the launches. How often this protocol errs on a simulated GPU: docs/timing.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Literal, Protocol

from amdkernel_mcp.measurement.timing.statistics import Estimate, fewest_pairs, speedup

Side = Literal["candidate", "baseline"]
Verdict = Literal["faster", "slower", "inconclusive"]

LEAST_MARGIN = 0.005
PROBES = 5
MOST_BUFFER_SETS = 64


class Timer(Protocol):
    """What runs the launches. A side is always the same code with the same arguments; only its buffers rotate."""

    def settle(self, seconds: float) -> None:
        """Run both sides for that long without timing them, and return without an idle gap before the next call."""

    def time(self, order: Sequence[Side], *, batch: int) -> Sequence[float]:
        """Event times in us, one for each side of `order`: between two events lie `batch` launches of it."""


@dataclass(frozen=True)
class Plan:
    """What a comparison may cost and how often it may be wrong.

    settle_limit_s: on the clock of the host, after which the settling is given up; on a GPU it takes `settle_s`.
    looks: numbers of pairs after which the verdict may be reached; the last is the budget. error: how often, at most,
    any interval of the looks misses the truth. event_us: how long a batch takes at least; at a resolution of 1 us, one
    tick of 200 us is 0.5 %, and ticks fall at random.
    """

    settle_s: float = 1.0
    settle_limit_s: float = 10.0
    looks: tuple[int, ...] = (9, 16, 28, 44, 64)
    error: float = 0.02
    event_us: float = 200.0
    most_launches: int = 256

    def __post_init__(self) -> None:
        if not self.looks or sorted(set(self.looks)) != list(self.looks):
            raise ValueError(f"the looks {self.looks} do not increase")
        if self.looks[0] < max(7, fewest_pairs(self.level)):
            raise ValueError(f"{self.looks[0]} pairs have no interval of {self.level:.2%}")

    @property
    def level(self) -> float:
        """The level of the interval of each look: all of them hold the truth with a probability of 1 - error."""
        return 1 - self.error / len(self.looks)


DEFAULT_PLAN = Plan()


@dataclass(frozen=True)
class Comparison:
    """A verdict and what it rests on.

    estimate: the speed-up of the candidate with the interval of the last look. pairs_us: (candidate, baseline) for each
    pair, per launch. batch: launches between two events. decided: whether it ended before the budget did.
    """

    verdict: Verdict
    estimate: Estimate
    margin: float
    pairs_us: tuple[tuple[float, float], ...]
    batch: int
    decided: bool


def compare(timer: Timer, *, floor: float | None, plan: Plan = DEFAULT_PLAN) -> Comparison:
    """Settle, choose the batch, and take pairs until the interval decides or the budget is used up.

    floor: `stored_noise_floor` of this GPU, or None where it has too few A/A runs.
    """
    timer.settle(plan.settle_s)
    probe = timer.time(("candidate", "baseline") * PROBES, batch=1)
    batch = batch_size(min(median(probe[::2]), median(probe[1::2])), plan=plan)
    pairs: list[tuple[float, float]] = []
    for target in plan.looks:
        pairs += _timed_pairs(timer, range(len(pairs), target), batch=batch)
        comparison = decide(pairs, floor=floor, plan=plan, batch=batch)
        if comparison.decided:
            break
    return comparison


def decide(
    pairs: Sequence[tuple[float, float]], *, floor: float | None, plan: Plan = DEFAULT_PLAN, batch: int = 1
) -> Comparison:
    """The verdict at the first look that decides; pairs behind it are not used, so that each look costs its error once.

    pairs: (candidate, baseline) per launch, in the order of their measurement. Raises ValueError for fewer pairs than
    the first look needs.
    """
    margin = max(LEAST_MARGIN, floor or 0.0)
    looks = [look for look in plan.looks if look <= len(pairs)]
    if not looks:
        raise ValueError(f"{len(pairs)} pairs are fewer than the {plan.looks[0]} of the first look")
    for look in looks:
        estimate = speedup([a for a, _ in pairs[:look]], [b for _, b in pairs[:look]], level=plan.level)
        verdict = judge(estimate, margin=margin)
        decided = verdict != "inconclusive" or _within(estimate, margin)
        if decided:
            break
    return Comparison(verdict, estimate, margin, tuple(pairs[:look]), batch, decided)


def _timed_pairs(timer: Timer, numbers: range, *, batch: int) -> list[tuple[float, float]]:
    """(candidate, baseline) in us per launch, for each pair."""
    order: list[Side] = []
    for number in numbers:
        order += ("candidate", "baseline") if candidate_first(number) else ("baseline", "candidate")
    times = [us / batch for us in timer.time(order, batch=batch)]
    pairs = zip(times[::2], times[1::2], strict=True)
    return [pair if candidate_first(number) else pair[::-1] for number, pair in zip(numbers, pairs, strict=True)]


def candidate_first(pair: int) -> bool:
    """The order of the sides in pair 0, 1, 2 ... as sandbox/runner/pair_timing.py has it: A B, B A, B A, A B."""
    return pair % 4 in (0, 3)


def judge(estimate: Estimate, *, margin: float) -> Verdict:
    """`faster` or `slower` where the whole interval lies beyond the margin on that side, else `inconclusive`."""
    if estimate.low > 1 + margin:
        return "faster"
    if estimate.high < 1 / (1 + margin):
        return "slower"
    return "inconclusive"


def _within(estimate: Estimate, margin: float) -> bool:
    """Whether the difference is surely within the margin: more pairs are not expected to change the verdict."""
    return 1 / (1 + margin) <= estimate.low and estimate.high <= 1 + margin


def batch_size(probe_us: float, *, plan: Plan = DEFAULT_PLAN) -> int:
    """Launches between two events, for a kernel that took `probe_us` once: 1 where that is long enough."""
    if probe_us <= 0:
        return plan.most_launches  # shorter than the resolution of the events
    return min(plan.most_launches, max(1, ceil(plan.event_us / probe_us)))


def buffer_sets(footprint_bytes: int, cache_bytes: int) -> int:
    """How many sets of buffers to rotate, so that a set was evicted from the cache before its turn comes again.

    The rotation covers more than twice the last-level cache; two sets at least, so that pointers change.
    """
    if footprint_bytes <= 0:
        return 2
    return min(MOST_BUFFER_SETS, max(2, 2 * cache_bytes // footprint_bytes + 1))
