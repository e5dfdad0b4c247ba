"""The verdict on emulated targets: a model of the time, and what it refuses to say.

Times are intervals, of time_interval.py. Two of them may overlap and the ratio be known all the same: its interval, of
paired.py, has what the two kernels do not share. `faster` requires all of that interval to lie above 1. What the model
cannot bound is `inconclusive`, with the reason. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import CaseRun
from amdkernel_mcp.measurement.credibility import Doubt, above_roof, stores_too_little, too_good
from amdkernel_mcp.measurement.paired import CaseTerms, LaunchTerms, Ratio, paired, what_it_rests_on
from amdkernel_mcp.measurement.roofline import Model, model_case
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.simulated import simulated
from amdkernel_mcp.measurement.time_interval import LAUNCH_US, TimeInterval, achieved_us, time_interval
from amdkernel_mcp.measurement.timing.interleaved import judge
from amdkernel_mcp.measurement.timing.statistics import Estimate, geometric_mean
from amdkernel_mcp.measurement.unmodelled import Unmodelled, latency_us, unmodelled
from amdkernel_mcp.results.kernels import BenchmarkResult, BenchmarkVerdict, Span
from amdkernel_mcp.results.quantity import Interval, Quantity

HIDDEN_US = 5.0
"""Shorter bounds are hardly visible on a GPU: their launch costs as much."""


@dataclass(frozen=True)
class CaseModel:
    """A case as it was modelled: the roofline, and upper estimates of what that leaves out."""

    model: Model
    left_out: Unmodelled
    interval: TimeInterval
    terms: CaseTerms

    @property
    def time_us(self) -> float:
        """The roofline's time, a lower bound."""
        return self.model.time_us

    @property
    def launches_us(self) -> float:
        """Below this its bounds are hidden by its launches."""
        return self.model.dispatches * HIDDEN_US


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
    if doubt := _physics(candidate, baseline, ours, theirs, gpu):
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
    ratio = _ratio(candidate, baseline, ours, theirs)
    estimate = ratio.estimate
    verdict: BenchmarkVerdict = judge(estimate, margin=0.0)
    reason = _reason(verdict, ratio, ours, theirs, gpu=gpu)
    differ = any(a.model.limiter != b.model.limiter for a, b in zip(ours, theirs, strict=True))
    flags = [*answer.flags, *(["bounds_differ"] if differ else [])]
    if all(each.time_us < each.launches_us for each in (*ours, *theirs)):
        verdict = "inconclusive"
        reason = (
            f"{_times(ours, theirs, gpu)}: every launch of both kernels is shorter than its own cost of about "
            f"{LAUNCH_US:g} us, so the difference would hardly be seen; use a larger case"
        )
    if candidate.not_judged:
        flags.append("outputs_not_judged")
        if verdict == "faster":
            verdict = "inconclusive"
            reason = f"not called faster, because what this run wrote was not judged ({candidate.not_judged}): {reason}"
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


def _physics(
    candidate: Side, baseline: Side | None, ours: Sequence[CaseModel], theirs: Sequence[CaseModel] | None, gpu: Gpu
) -> Doubt | None:
    """Why the model cannot be true of a kernel that did the whole work."""
    for index, run in enumerate(candidate.runs):
        baseline_us = theirs[index].time_us if theirs else None
        other = baseline.runs[index] if baseline else None
        roof = above_roof(run, ours[index].time_us, gpu, baseline_us=baseline_us, baseline=other)
        if doubt := stores_too_little(run) or roof:
            return doubt
    return None


def _models(side: Side, gpu: Gpu) -> list[CaseModel]:
    found = []
    for run in side.runs:
        left_out, launches = Unmodelled(), []
        for dispatch in run.dispatches:
            one = model_case([dispatch], gpu, waves_per_simd=side.waves_per_simd)
            limit = side.waves_per_simd.get(dispatch.kernel)
            left_out += unmodelled(dispatch, gpu, time_us=one.time_us, waves_per_simd=limit, sleeps=side.sleeps)
            waits_us = latency_us(dispatch, gpu, waves_per_simd=limit)
            launches.append(
                LaunchTerms(
                    one.time_us,
                    achieved_us(one.bounds_us, gpu),
                    str(one.limiter or "nothing"),
                    waits_us,
                    simulated(dispatch, gpu),
                )
            )
        model = model_case(run.dispatches, gpu, waves_per_simd=side.waves_per_simd)
        interval = time_interval(run.dispatches, gpu, waves_per_simd=side.waves_per_simd, sleeps=side.sleeps)
        found.append(CaseModel(model, left_out, interval, CaseTerms(tuple(launches), replace(left_out, latency=0.0))))
    return found


def terms_of(side: Side, gpu: Gpu) -> list[CaseTerms]:
    """What the time of each case of a kernel may consist of."""
    return [each.terms for each in _models(side, gpu)]


def modelled_ratio(candidate: Side, baseline: Side, gpu: Gpu) -> Estimate | None:
    """How many times as fast the candidate is, with the interval of the ratio. None without a model."""
    ours, theirs = _models(candidate, gpu), _models(baseline, gpu)
    if not all(each.model.limiter for each in (*ours, *theirs)):
        return None
    return _ratio(candidate, baseline, ours, theirs).estimate


def _ratio(candidate: Side, baseline: Side, ours: Sequence[CaseModel], theirs: Sequence[CaseModel]) -> Ratio:
    value = _ratio_of_bounds(ours, theirs)
    if _all_simulated(ours, theirs):
        value = geometric_mean([b.interval.likely_us / a.interval.likely_us for a, b in zip(ours, theirs, strict=True)])
    ratio = paired([each.terms for each in ours], [each.terms for each in theirs], value=value)
    return replace(ratio, estimate=Estimate(1.0, 1.0, 1.0)) if same_run(candidate, baseline) else ratio


def _all_simulated(ours: Sequence[CaseModel], theirs: Sequence[CaseModel]) -> bool:
    return all(launch.unit for each in (*ours, *theirs) for launch in each.terms.launches)


def same_run(candidate: Side, baseline: Side) -> bool:
    """Whether the same machine code did the same: a copy with another comment is neither faster nor slower."""
    if not candidate.code or candidate.code != baseline.code:
        return False
    return [_counted(run) for run in candidate.runs] == [_counted(run) for run in baseline.runs]


def _counted(run: CaseRun) -> list[object]:
    return [(each.grid, each.block, each.lds_bytes, dict(each.counters)) for each in run.dispatches]


def _ratio_of_bounds(ours: Sequence[CaseModel], theirs: Sequence[CaseModel]) -> float:
    return geometric_mean([b.time_us / a.time_us for a, b in zip(ours, theirs, strict=True)])


def _reason(
    verdict: BenchmarkVerdict, ratio: Ratio, ours: Sequence[CaseModel], theirs: Sequence[CaseModel], *, gpu: Gpu
) -> str:
    estimate, times = ratio.estimate, _times(ours, theirs, gpu)
    if estimate.low == estimate.high:
        return f"{times}: 1.00 times as fast, exactly: both have the same machine code, and it did the same"
    mine, other = _limiters(ours), _limiters(theirs)
    change = f"the baseline is bounded by {other}, this kernel by {mine}"
    if mine == other:
        change = f"{mine} bounds both"
    hidden = any(each.time_us < each.launches_us for each in (*ours, *theirs))
    by = "the simulation" if _all_simulated(ours, theirs) else "the bounds alone"
    span = f"{rounded(estimate.low, 3)} to {rounded(estimate.high, 3)} times as fast as the baseline"
    rests = what_it_rests_on(ratio, [each.terms for each in ours], [each.terms for each in theirs])
    if verdict != "inconclusive":
        bounds = "" if hidden else f"{rounded(estimate.value, 3)} by {by}; "
        return f"{times}: {span} with what the model leaves out; {bounds}{change}; {rests}"
    bounds = "" if hidden else f" ({rounded(estimate.value, 3)} by {by})"
    return (
        f"{times}: {span}{bounds}, so the difference is within the model's uncertainty; {change}; {rests}; "
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
