"""The verdict of a benchmark: faster, slower or inconclusive, from event times or from the roofline model.

Pure: what ran is given, nothing is run. A kernel that is not correct must not come here; the engine checks first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement import interleaved as interleaved_pairs
from amdkernel_mcp.measurement.counters import CaseRun
from amdkernel_mcp.measurement.roofline import Model, model_case
from amdkernel_mcp.measurement.statistics import Estimate, geometric_mean, noise_floor, speedup
from amdkernel_mcp.results.kernels import BenchmarkResult, BenchmarkVerdict
from amdkernel_mcp.results.quantity import NOT_MEASURED, Interval, Metric, Quantity

SAME_LIMITER_UNCERTAINTY = 0.10
"""Two kernels that the same resource bounds: what the model leaves out slows both alike, and mostly cancels."""
OTHER_LIMITER_UNCERTAINTY = 0.30
"""Different resources: a real kernel reaches 70 to 95 % of a peak, and which share is not known for either."""

LATENCY_US = 1.5
"""Three dependent accesses (arguments, data, result), which every dispatch takes at least and the model leaves out. One
took about 0.5 us on a recorded MI300X, the fabric alone 845 cycles. Counts cannot resolve smaller differences."""

LEAST_DIFFERENCE = interleaved_pairs.LEAST_MARGIN
"""A measured difference below this is never a verdict, however narrow the interval; `interleaved.py` says why."""
SEPARATE_DIFFERENCE = 0.10
"""The same where candidate and baseline were timed one after the other: settling the clock alone changed the time of
identical code by 5.1 % on a gfx950 (GEAK, August 2026), and no interval of such samples contains that error."""
FEW_SAMPLES = 7
"""Fewer pairs than this do not reach a verdict."""
SUSPICIOUS_SPEEDUP = 10.0
IMPOSSIBLE_SPEEDUP = 50.0
LAUNCH_US = 5.0
"""About the cost of a launch: shorter modelled times are hardly visible on a GPU."""
SHORT_US = 20.0
"""Below this, event times are mostly the cost of a launch."""


@dataclass(frozen=True)
class Side:
    """One candidate's runs, a `CaseRun` per case; the occupancy limit of each of its kernels; its main counters."""

    runs: tuple[CaseRun, ...]
    waves_per_simd: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, Metric] = field(default_factory=dict)


def benchmark(
    *, candidate: Side, baseline: Side | None, gpu: Gpu, target: str, emulated: bool, interleaved: bool = True
) -> BenchmarkResult:
    """How fast the candidate is, and against the baseline if there is one.

    Cases are compared one by one, in order; times are sums over the cases and the speed-up is the geometric mean.
    `interleaved`: candidate and baseline were timed turn by turn in one run.
    """
    if baseline is not None:
        _same_cases(candidate, baseline)
    if emulated:
        return _modelled(candidate, baseline, gpu=gpu, target=target)
    return _measured(candidate, baseline, gpu=gpu, target=target, interleaved=interleaved)


def _same_cases(candidate: Side, baseline: Side) -> None:
    ours, theirs = [run.case for run in candidate.runs], [run.case for run in baseline.runs]
    if ours != theirs:
        raise ValueError(f"candidate and baseline ran different cases: {ours} and {theirs}")


# ---- emulator: the roofline model ----


def _modelled(candidate: Side, baseline: Side | None, *, gpu: Gpu, target: str) -> BenchmarkResult:
    ours = _models(candidate, gpu)
    flags = ["modelled_not_measured"]
    if min((model.time_us for model in ours), default=0.0) < LAUNCH_US:
        flags.append("shorter_than_a_launch")
    if not all(model.limiter for model in ours):
        return BenchmarkResult(
            target=target, verdict="not_measured", reason=f"there is no time model for {gpu.name}", flags=flags
        )
    answer = BenchmarkResult(
        target=target,
        verdict="inconclusive",
        time_us=_modelled_us(sum(model.time_us for model in ours)),
        flags=flags,
        limits_us={name: _modelled_us(us) for name, us in _sum_bounds(ours).items()},
        counters=dict(candidate.counters),
    )
    if baseline is None:
        reason = f"modelled on {gpu.name}: {_limiters(ours)} bounds the time; no baseline to compare with"
        return answer.model_copy(update={"reason": reason})
    theirs = _models(baseline, gpu)
    estimate, same = _modelled_speedup(ours, theirs)
    verdict = interleaved_pairs.judge(estimate, margin=0.0)
    return answer.model_copy(
        update={
            "verdict": verdict,
            "reason": _modelled_reason(verdict, estimate, ours, theirs, gpu=gpu),
            "speedup": _interval(estimate),
            "baseline_time_us": _modelled_us(sum(model.time_us for model in theirs)),
            "flags": flags if same else [*flags, "bounds_differ"],
        }
    )


def _models(side: Side, gpu: Gpu) -> list[Model]:
    return [model_case(run.dispatches, gpu, waves_per_simd=side.waves_per_simd) for run in side.runs]


def _modelled_speedup(ours: Sequence[Model], theirs: Sequence[Model]) -> tuple[Estimate, bool]:
    """The ratio with the model's uncertainty around it, and whether the same resource bounds both in every case.

    Each side may take up to a latency per dispatch longer than its model, and the bounds have their own uncertainty.
    """
    pairs = list(zip(ours, theirs, strict=True))
    same = all(a.limiter == b.limiter for a, b in pairs)
    factor = 1 + (SAME_LIMITER_UNCERTAINTY if same else OTHER_LIMITER_UNCERTAINTY)
    value = geometric_mean([b.time_us / a.time_us for a, b in pairs])
    low = geometric_mean([b.time_us / (a.time_us + a.dispatches * LATENCY_US) for a, b in pairs])
    high = geometric_mean([(b.time_us + b.dispatches * LATENCY_US) / a.time_us for a, b in pairs])
    return Estimate(value, low / factor, high * factor), same


def _modelled_reason(
    verdict: BenchmarkVerdict, estimate: Estimate, ours: Sequence[Model], theirs: Sequence[Model], *, gpu: Gpu
) -> str:
    mine, other = _limiters(ours), _limiters(theirs)
    change = f"the baseline is bounded by {other}, this kernel by {mine}"
    if mine == other:
        change = f"{mine} bounds both"
    if verdict != "inconclusive":
        return f"modelled on {gpu.name}: {estimate.value:.2f} times as fast as the baseline; {change}"
    return (
        f"modelled on {gpu.name}: the difference ({estimate.value:.2f} times as fast) is within the model's"
        f" uncertainty; {change}; only a measurement on a GPU can decide"
    )


def _limiters(models: Sequence[Model]) -> str:
    return " and ".join(dict.fromkeys(str(model.limiter) for model in models))


def _sum_bounds(models: Sequence[Model]) -> dict[str, float]:
    total: dict[str, float] = {}
    for model in models:
        for resource, us in model.bounds_us.items():
            total[resource] = total.get(resource, 0.0) + us
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _modelled_us(value: float) -> Quantity:
    return Quantity(value=value, evidence="modelled")


# ---- a GPU: event times ----


def _measured(candidate: Side, baseline: Side | None, *, gpu: Gpu, target: str, interleaved: bool) -> BenchmarkResult:
    ours = [run.samples_us for run in candidate.runs]
    if not ours or not all(ours) or min(min(samples) for samples in ours) <= 0:
        return BenchmarkResult(target=target, verdict="not_measured", reason="the target returned no event times")
    theirs = None if baseline is None else [run.samples_us for run in baseline.runs]
    floor = _floor(theirs or ours)
    answer = BenchmarkResult(
        target=target,
        verdict="inconclusive",
        reason="no baseline to compare with",
        time_us=_measured_us(ours),
        noise_floor=floor,
        flags=_measured_flags(ours, interleaved=interleaved or theirs is None),
    )
    if too_fast := _above_roof(candidate, gpu):
        flags = [*answer.flags, "above_roof"]
        return answer.model_copy(update={"verdict": "invalid", "reason": too_fast, "flags": flags})
    if theirs is None or not all(theirs):
        return answer
    least = LEAST_DIFFERENCE if interleaved else SEPARATE_DIFFERENCE
    return _compared(answer, ours, theirs, margin=max(least, floor or 0.0))


def _compared(
    answer: BenchmarkResult, ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], *, margin: float
) -> BenchmarkResult:
    each = [speedup(a, b) for a, b in zip(ours, theirs, strict=True)]
    estimate = Estimate(*(geometric_mean([getattr(e, end) for e in each]) for end in ("value", "low", "high")))
    verdict: BenchmarkVerdict = interleaved_pairs.judge(estimate, margin=margin)
    flags = list(answer.flags)
    reason = (
        f"{estimate.value:.3f} times as fast as the baseline, 95 % interval {estimate.low:.3f} to {estimate.high:.3f}; "
        f"a difference counts from {margin:.1%}"
    )
    pairs = min(min(len(a), len(b)) for a, b in zip(ours, theirs, strict=True))
    if pairs < FEW_SAMPLES:
        verdict, reason = "inconclusive", f"{reason}; {pairs} pairs are too few, {FEW_SAMPLES} are required"
    if estimate.value > IMPOSSIBLE_SPEEDUP:
        verdict, reason = "invalid", f"{estimate.value:.0f} times as fast is not credible without an explanation"
    if estimate.value > SUSPICIOUS_SPEEDUP:
        flags.append("over_10x")
    return answer.model_copy(
        update={
            "verdict": verdict,
            "reason": reason,
            "speedup": _interval(estimate),
            "baseline_time_us": _measured_us(theirs),
            "flags": flags,
        }
    )


def _measured_flags(samples: Sequence[Sequence[float]], *, interleaved: bool) -> list[str]:
    flags = []
    if min(map(len, samples)) < FEW_SAMPLES:
        flags.append("few_samples")
    if min(median(case) for case in samples) < SHORT_US:
        flags.append("shorter_than_20_us")
    if not interleaved:
        flags.append("not_interleaved")
    return flags


def _above_roof(candidate: Side, gpu: Gpu) -> str | None:
    """Why the times cannot be true, or None. A case that fits into the caches may well be faster than the memory."""
    for run in candidate.runs:
        moved = run.compulsory_bytes
        if moved <= gpu.last_level_cache_bytes:
            continue
        rate_gbps = moved / (median(run.samples_us) * 1e3)
        if rate_gbps > gpu.memory_gbps:
            return (
                f"case {run.case}: {moved} bytes in {median(run.samples_us):.1f} us is {rate_gbps:.0f} GB/s, but the "
                f"memory of {gpu.name} does {gpu.memory_gbps:.0f}: not all of the work was done"
            )
    return None


def _floor(samples: Sequence[Sequence[float]]) -> float | None:
    floors = [floor for case in samples if (floor := noise_floor(case)) is not None]
    return max(floors, default=None)


def _measured_us(samples: Sequence[Sequence[float]]) -> Quantity:
    if not all(samples):
        return NOT_MEASURED
    return Quantity(value=sum(median(case) for case in samples), evidence="measured")


# ---- both ----


def _interval(estimate: Estimate) -> Interval:
    return Interval(value=estimate.value, low=estimate.low, high=estimate.high)
