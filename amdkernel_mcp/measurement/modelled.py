"""The verdict on emulated targets: a model of the time, and what it refuses to say.

Times are intervals, of time_interval.py. Two of them may overlap and the ratio be known all the same: what slows one
kernel beyond a bound slows another with the same bound alike. `faster` requires the candidate to be faster with all
that the model leaves out on its side and nothing of it on the baseline's. What the model cannot bound is
`inconclusive`, with the reason. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.credibility import Doubt, above_roof, stores_too_little, too_good
from amdkernel_mcp.measurement.roofline import Model, model_case
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.time_interval import LAUNCH_US, TimeInterval, time_interval
from amdkernel_mcp.measurement.timing.interleaved import judge
from amdkernel_mcp.measurement.timing.statistics import Estimate, geometric_mean
from amdkernel_mcp.measurement.unmodelled import Unmodelled, unmodelled
from amdkernel_mcp.results.kernels import BenchmarkResult, BenchmarkVerdict, Span
from amdkernel_mcp.results.quantity import Interval, Quantity

SAME_LIMITER_UNCERTAINTY = 0.10
"""Two kernels that the same resource bounds: what the model leaves out slows both alike, and mostly cancels."""
OTHER_LIMITER_UNCERTAINTY = 0.30
"""Different resources: a real kernel reaches 70 to 95 % of a peak, and which share is not known for either."""
HIDDEN_US = 5.0
"""Shorter bounds are hardly visible on a GPU: their launch costs as much."""


@dataclass(frozen=True)
class CaseModel:
    """A case as it was modelled: the roofline, and upper estimates of what that leaves out."""

    model: Model
    left_out: Unmodelled
    interval: TimeInterval

    @property
    def time_us(self) -> float:
        """The roofline's time, a lower bound."""
        return self.model.time_us

    @property
    def launches_us(self) -> float:
        """Below this its bounds are hidden by its launches."""
        return self.model.dispatches * HIDDEN_US

    def slowest_us(self, uncertainty: float) -> float:
        """A time that the case hardly exceeds."""
        return max(self.time_us * (1 + uncertainty) + self.left_out.total_us, self.launches_us)


def modelled(candidate: Side, baseline: Side | None, *, gpu: Gpu, target: str) -> BenchmarkResult:
    """The modelled time of the candidate, and the verdict against the baseline if there is one."""
    ours = _models(candidate, gpu)
    flags = ["modelled_not_measured"]
    if any(each.time_us < each.launches_us for each in ours):
        flags.append("shorter_than_a_launch")
    if not all(each.model.limiter for each in ours):
        reason = f"modelled: there is no time model for {gpu.name}"
        return BenchmarkResult(target=target, verdict="not_measured", reason=reason, flags=flags)
    span = _span(ours)
    answer = BenchmarkResult(
        target=target,
        verdict="inconclusive",
        time_us=_likely(ours),
        modelled_us=span,
        flags=flags,
        limits_us={name: _quantity(us) for name, us in _sum_bounds(ours).items()},
        counters=dict(candidate.counters),
    )
    theirs = _models(baseline, gpu) if baseline else None
    if doubt := _physics(candidate, ours, theirs, gpu):
        return _doubted(answer, doubt, gpu)
    if baseline is None or theirs is None:
        reason = (
            f"modelled {_us(span)} on {gpu.name}, not measured: {_limiters(ours)} bounds the time; no baseline to "
            "compare with"
        )
        return answer.model_copy(update={"reason": reason})
    return _compared(answer, candidate, baseline, ours, theirs, gpu)


def modelled_time(side: Side, gpu: Gpu) -> Estimate | None:
    """The time of all cases, with both ends. None without a model."""
    models = _models(side, gpu)
    if not all(each.model.limiter for each in models):
        return None
    total = _total(models)
    return Estimate(total.likely_us, total.low_us, total.high_us)


def _compared(
    answer: BenchmarkResult,
    candidate: Side,
    baseline: Side,
    ours: Sequence[CaseModel],
    theirs: Sequence[CaseModel],
    gpu: Gpu,
) -> BenchmarkResult:
    uncertainty = _uncertainty(ours, theirs)
    estimate = _speedup(ours, theirs, uncertainty)
    verdict: BenchmarkVerdict = judge(estimate, margin=0.0)
    reason = _reason(verdict, estimate, ours, theirs, gpu=gpu)
    flags = [*answer.flags, *(["bounds_differ"] if uncertainty == OTHER_LIMITER_UNCERTAINTY else [])]
    if all(each.time_us < each.launches_us for each in (*ours, *theirs)):
        verdict = "inconclusive"
        reason = (
            f"{_times(ours, theirs, gpu)}: every launch of both kernels is shorter than its own cost of about "
            f"{LAUNCH_US:g} us, so the difference would hardly be seen; use a larger case"
        )
    times = [(a.time_us, b.time_us) for a, b in zip(ours, theirs, strict=True)]
    good = too_good(_ratio_of_bounds(ours, theirs), candidate.runs, baseline.runs, times, gpu)
    if good is not None:
        flags.append("over_10x")
    compared = answer.model_copy(
        update={
            "verdict": verdict,
            "reason": f"{reason}; {good}" if isinstance(good, str) and verdict == "faster" else reason,
            "speedup": Interval(value=estimate.value, low=estimate.low, high=estimate.high),
            "baseline_time_us": _likely(theirs),
            "baseline_modelled_us": _span(theirs),
            "flags": flags,
        }
    )
    return _doubted(compared, good, gpu) if isinstance(good, Doubt) else compared


def _doubted(answer: BenchmarkResult, doubt: Doubt, gpu: Gpu) -> BenchmarkResult:
    return answer.model_copy(
        update={
            "verdict": doubt.verdict,
            "reason": f"modelled on {gpu.name}: {doubt.sentence}",
            "flags": [*answer.flags, doubt.flag],
        }
    )


def _physics(candidate: Side, ours: Sequence[CaseModel], theirs: Sequence[CaseModel] | None, gpu: Gpu) -> Doubt | None:
    """Why the model cannot be true of a kernel that did the whole work."""
    for index, run in enumerate(candidate.runs):
        baseline_us = theirs[index].time_us if theirs else None
        if doubt := stores_too_little(run) or above_roof(run, ours[index].time_us, gpu, baseline_us=baseline_us):
            return doubt
    return None


def _models(side: Side, gpu: Gpu) -> list[CaseModel]:
    found = []
    for run in side.runs:
        left_out = Unmodelled()
        for dispatch in run.dispatches:
            one = model_case([dispatch], gpu, waves_per_simd=side.waves_per_simd)
            limit = side.waves_per_simd.get(dispatch.kernel)
            left_out += unmodelled(dispatch, gpu, time_us=one.time_us, waves_per_simd=limit, sleeps=side.sleeps)
        model = model_case(run.dispatches, gpu, waves_per_simd=side.waves_per_simd)
        interval = time_interval(run.dispatches, gpu, waves_per_simd=side.waves_per_simd, sleeps=side.sleeps)
        found.append(CaseModel(model, left_out, interval))
    return found


def _uncertainty(ours: Sequence[CaseModel], theirs: Sequence[CaseModel]) -> float:
    same = all(a.model.limiter == b.model.limiter for a, b in zip(ours, theirs, strict=True))
    return SAME_LIMITER_UNCERTAINTY if same else OTHER_LIMITER_UNCERTAINTY


def _speedup(ours: Sequence[CaseModel], theirs: Sequence[CaseModel], uncertainty: float) -> Estimate:
    """The ratio of the lower bounds; at each end one side takes as long as it may, and the other its lower bound.

    Never further from 1 than the intervals of both times allow, which contain the cost of a launch as well. Where those
    and the bounds disagree on which side is faster, the estimate is that of the bounds, and decides nothing.
    """
    pairs = list(zip(ours, theirs, strict=True))
    value = _ratio_of_bounds(ours, theirs)
    low = geometric_mean([1 / _most(b, a, uncertainty) for a, b in pairs])
    high = geometric_mean([_most(a, b, uncertainty) for a, b in pairs])
    most = geometric_mean([b.interval.high_us / a.interval.low_us for a, b in pairs])
    least = geometric_mean([b.interval.low_us / a.interval.high_us for a, b in pairs])
    if value >= 1 and most >= 1:
        value, low, high = (min(each, most) for each in (value, low, high))
    elif value < 1 and least <= 1:
        value, low, high = (max(each, least) for each in (value, low, high))
    return Estimate(value, low, high)


def _ratio_of_bounds(ours: Sequence[CaseModel], theirs: Sequence[CaseModel]) -> float:
    return geometric_mean([b.time_us / a.time_us for a, b in zip(ours, theirs, strict=True)])


def _most(faster: CaseModel, slower: CaseModel, uncertainty: float) -> float:
    """How many times as fast one side may be at most; where both are hidden by their launches, these alone count."""
    least_us = faster.time_us
    if faster.time_us < faster.launches_us and slower.time_us < slower.launches_us:
        least_us = faster.launches_us
    return max(slower.slowest_us(uncertainty) / least_us, slower.time_us / faster.time_us)


def _reason(
    verdict: BenchmarkVerdict, estimate: Estimate, ours: Sequence[CaseModel], theirs: Sequence[CaseModel], *, gpu: Gpu
) -> str:
    mine, other = _limiters(ours), _limiters(theirs)
    change = f"the baseline is bounded by {other}, this kernel by {mine}"
    if mine == other:
        change = f"{mine} bounds both"
    hidden = any(each.time_us < each.launches_us for each in (*ours, *theirs))
    if verdict != "inconclusive":
        span = f"{rounded(estimate.low, 3)} to {rounded(estimate.high, 3)} times as fast as the baseline"
        ratio = "" if hidden else f"{rounded(estimate.value, 3)} by the bounds alone; "
        return f"{_times(ours, theirs, gpu)}: {span} with what the model leaves out; {ratio}{change}"
    ratio = "" if hidden else f" ({rounded(estimate.value, 3)} times as fast)"
    return (
        f"{_times(ours, theirs, gpu)}: the difference{ratio} is within the model's uncertainty; {change}; "
        f"{_cannot_bound(estimate, ours, theirs)}only a measurement on a GPU can decide"
    )


def _cannot_bound(estimate: Estimate, ours: Sequence[CaseModel], theirs: Sequence[CaseModel]) -> str:
    """What the model leaves out of the side that seems faster, where it is worth a sentence."""
    side, who = (ours, "this kernel") if estimate.value >= 1 else (theirs, "the baseline")
    left_out = sum((each.left_out for each in side), Unmodelled())
    if left_out.total_us <= 0.1 * sum(each.time_us for each in side):
        return ""
    return f"{who} may lose up to {left_out.total_us:.0f} us more, mostly by {left_out.largest}; "


def _limiters(models: Sequence[CaseModel]) -> str:
    return " and ".join(dict.fromkeys(str(each.model.limiter) for each in models))


def _sum_bounds(models: Sequence[CaseModel]) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in models:
        for resource, us in each.model.bounds_us.items():
            total[resource] = total.get(resource, 0.0) + us
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _total(models: Sequence[CaseModel]) -> TimeInterval:
    return sum((each.interval for each in models), TimeInterval())


def _span(models: Sequence[CaseModel]) -> Span:
    total = _total(models)
    return Span(low=total.low_us, high=total.high_us)


def _likely(models: Sequence[CaseModel]) -> Quantity:
    return _quantity(_total(models).likely_us)


def _times(ours: Sequence[CaseModel], theirs: Sequence[CaseModel], gpu: Gpu) -> str:
    return f"modelled {_us(_span(ours))} on {gpu.name}, the baseline {_us(_span(theirs))}"


def _us(span: Span) -> str:
    return f"{rounded(span.low)} to {rounded(span.high)} us"


def _quantity(value: float) -> Quantity:
    return Quantity(value=value, evidence="modelled")
