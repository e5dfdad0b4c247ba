"""How many times as fast one kernel is as another in the model of time: an interval of the ratio itself.

The times of two kernels are uncertain together. What a wait for memory costs, what a launch costs, how near to its
peak a unit comes: each is one unknown figure, the same for both kernels, which got the same inputs at the same
addresses. So the ratio is worked out for each value that such a figure may have, and its interval has the least and the
most of them. What two kernels do not share stays: how evenly each of them uses the unit that bounds it, and how far
each stays below the estimates of unmodelled.py, which only one of them may meet.

Sources: the ranges of the shared figures are those of time_interval.py and unmodelled.py; the rest are assumptions,
whose effect `python benchmarks/modelled_verdicts.py` counts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from amdkernel_mcp.measurement.simulated import Simulated
from amdkernel_mcp.measurement.timing.statistics import Estimate, geometric_mean
from amdkernel_mcp.measurement.unmodelled import SENTENCES, Unmodelled

SAME_BOUND = 0.10
"""Both bound by one unit: what is left of the ratio is how evenly each of the kernels keeps that unit busy."""
OWN_WAITS = 0.20
"""How much of the waits of its waves overlaps is a kernel's own. The same of a simulation: the ratios of the six steps
of a published ladder were off by 0.17 at most."""
OTHER_BOUND = 0.30
"""Bound by different units: a real kernel reaches 70 to 95 % of a peak, and which share is not known for either."""
OWN_PART = 0.85
"""Of an estimate of unmodelled.py that both kernels have: one may meet it, while the other needs this part of it."""
NEAR = 0.5
"""A part of the larger one, from which a kernel's unit or its waits are near to binding it."""
WAITS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Parts of the upper estimate of waits, of time_interval.py: the same part for both."""
USUAL_WAITS = 0.6
"""The part at which the simulation's own latency counts once."""
LAUNCHES_US = (2.7, 5.0)
"""What a launch costs."""
_MATTERS = 0.05
"""A part of the time from which an assumption is named."""


@dataclass(frozen=True)
class LaunchTerms:
    """What one launch may be bound by, in microseconds: its largest bound at the peak rate and at the rate that is
    reached, the name of that bound, and the upper estimate of its waits; in place of the waits, its simulation."""

    peak_us: float
    reached_us: float
    bound: str
    waits_us: float
    unit: Simulated | None = None


@dataclass(frozen=True)
class CaseTerms:
    """The launches of a case, and the estimates of what the model leaves out, without its latency."""

    launches: tuple[LaunchTerms, ...]
    left_out: Unmodelled


@dataclass(frozen=True)
class Assumed:
    """One value of each figure that both kernels share. `left_out`: the estimates that count."""

    waits: float
    launch_us: float
    at_peak: bool
    left_out: frozenset[str]


@dataclass(frozen=True)
class Own:
    """How much longer a kernel's unit, and its waits, may take than those of the other kernel, as a part of them."""

    unit: float
    waits: float


@dataclass(frozen=True)
class Ratio:
    """The ratio with its interval, and what its low and its high end assume."""

    estimate: Estimate
    low: Assumed
    high: Assumed


def paired(candidate: Sequence[CaseTerms], baseline: Sequence[CaseTerms], *, value: float) -> Ratio:
    """How many times as fast the candidate is over the cases, by the geometric mean. `value`: by the bounds alone.

    Where the interval does not hold the value, because a launch hides the bounds, the value is its nearest end.
    """
    lows, highs = [], []
    if not all(launch.unit for case in (*candidate, *baseline) for launch in case.launches):
        candidate, baseline = _by_estimates(candidate), _by_estimates(baseline)
    for assumed in _assumptions([*candidate, *baseline]):
        low, high = [], []
        for mine, other in zip(candidate, baseline, strict=True):
            low.append(_least_us(other, assumed) / _most_us(mine, assumed, _own(mine, other, assumed)))
            high.append(_most_us(other, assumed, _own(other, mine, assumed)) / _least_us(mine, assumed))
        lows.append((geometric_mean(low), assumed))
        highs.append((geometric_mean(high), assumed))
    least, low_by = min(lows, key=lambda each: each[0])
    most, high_by = max(highs, key=lambda each: each[0])
    return Ratio(Estimate(min(max(value, least), most), least, most), low_by, high_by)


def what_it_rests_on(ratio: Ratio, candidate: Sequence[CaseTerms], baseline: Sequence[CaseTerms]) -> str:
    """The assumption behind the end that is nearer to no difference, as part of a sentence."""
    faster = ratio.estimate.value >= 1
    assumed = ratio.low if faster else ratio.high
    bounds = {_binding(each, assumed) for each in (*candidate, *baseline)}
    what = " and ".join(sorted(bounds))
    parts = [f"{what} {'binds both' if len(bounds) == 1 else 'bind one each'}"]
    slower_side = candidate if faster else baseline
    total_us = sum(_most_us(each, assumed, Own(0.0, 0.0)) for each in slower_side)
    parts += [
        SENTENCES[name]
        for name in sorted(assumed.left_out)
        if sum(vars(each.left_out)[name] for each in slower_side) > _MATTERS * total_us
    ]
    if "the simulated CU" in bounds:
        parts.append(f"{assumed.waits / USUAL_WAITS:.1f} times the usual latency of memory")
    if "waits" in bounds:
        parts.append(f"{assumed.waits:.0%} of the most that waits can cost")
    return f"{'lower' if faster else 'upper'} end: {', '.join(parts)}"


def _by_estimates(cases: Sequence[CaseTerms]) -> list[CaseTerms]:
    """Without simulations: a simulated time is not compared with an estimated one."""
    return [replace(case, launches=tuple(replace(each, unit=None) for each in case.launches)) for case in cases]


def _assumptions(cases: Sequence[CaseTerms]) -> Iterator[Assumed]:
    """The corners of the ranges, between which a ratio of sums has no end of its own, and steps of the waits."""
    names = [name for name in SENTENCES if name != "latency" and any(vars(each.left_out)[name] for each in cases)]
    for waits, launch_us, at_peak in product(WAITS, LAUNCHES_US, (False, True)):
        for chosen in product((False, True), repeat=len(names)):
            counted = frozenset(name for name, counts in zip(names, chosen, strict=True) if counts)
            yield Assumed(waits, launch_us, at_peak, counted)


def _least_us(case: CaseTerms, assumed: Assumed) -> float:
    """With nothing of its own in its way."""
    bounds = sum(max(_roof_us(each, assumed), _waits_us(each, assumed)) for each in case.launches)
    return float(len(case.launches) * assumed.launch_us + bounds + OWN_PART * _left_out_us(case, assumed))


def _most_us(case: CaseTerms, assumed: Assumed, own: Own) -> float:
    """With all that may be its own."""
    bounds = sum(
        max(_roof_us(each, assumed) * (1 + own.unit), _waits_us(each, assumed) * (1 + own.waits))
        for each in case.launches
    )
    return float(len(case.launches) * assumed.launch_us + bounds + _left_out_us(case, assumed))


def _left_out_us(case: CaseTerms, assumed: Assumed) -> float:
    return float(sum(vars(case.left_out)[name] for name in assumed.left_out))


def _own(case: CaseTerms, other: CaseTerms, assumed: Assumed) -> Own:
    """An error of the model is shared only by a kernel that has the same in its time, or nearly."""
    unit_us = sum(_roof_us(each, assumed) for each in other.launches)
    waits_us = sum(_waits_us(each, assumed) for each in other.launches)
    same_unit = {each.bound for each in case.launches} == {each.bound for each in other.launches}
    return Own(
        unit=SAME_BOUND if same_unit and unit_us >= NEAR * waits_us else OTHER_BOUND,
        waits=OWN_WAITS if waits_us >= NEAR * unit_us else OTHER_BOUND,
    )


def _waits_us(launch: LaunchTerms, assumed: Assumed) -> float:
    """Of the simulation, whose latency is the usual one; else of the estimate of the waits."""
    if launch.unit:
        return launch.unit.with_latency(assumed.waits / USUAL_WAITS)
    return assumed.waits * launch.waits_us


def _roof_us(launch: LaunchTerms, assumed: Assumed) -> float:
    return launch.peak_us if assumed.at_peak else launch.reached_us


def _binding(case: CaseTerms, assumed: Assumed) -> str:
    """What binds most of the case's time."""
    held: dict[str, float] = {}
    for each in case.launches:
        roof_us, waits_us = _roof_us(each, assumed), _waits_us(each, assumed)
        name = each.bound if roof_us >= waits_us else "the simulated CU" if each.unit else "waits"
        held[name] = held.get(name, 0.0) + max(roof_us, waits_us)
    return max(held, key=lambda name: held[name], default="nothing")
