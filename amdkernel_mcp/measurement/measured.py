"""The verdict on a GPU: event times of both kernels in turns, and what they must be before they are believed. Pure."""

from collections.abc import Sequence
from math import exp, log
from statistics import fmean, median

from amdkernel_mcp.counted import counted
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.credibility import Doubt, above_roof, too_good
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN, LEAST_MARGIN, Comparison, Plan, decide
from amdkernel_mcp.results.kernels import BenchmarkResult
from amdkernel_mcp.results.quantity import NOT_MEASURED, Interval, Quantity

LEAST_DIFFERENCE = LEAST_MARGIN
"""A measured difference below this is never a verdict, however narrow the interval; `interleaved.py` says why."""
FEW_SAMPLES = DEFAULT_PLAN.looks[0]
"""Fewer pairs than this do not reach a verdict."""
SHORT_US = 20.0
"""Below this, event times of single launches are mostly the cost of a launch: several lie between two events."""


def measured(
    candidate: Side,
    baseline: Side | None,
    *,
    gpu: Gpu,
    target: str,
    floor: float | None = None,
    plan: Plan = DEFAULT_PLAN,
) -> BenchmarkResult:
    """The measured time of the candidate, and the verdict against the baseline if there is one.

    Sample i of both sides is a pair, timed side by side. `floor`: `stored_noise_floor` of this GPU, if it is known.
    """
    ours = [run.samples_us for run in candidate.runs]
    if not ours or not all(ours) or min(min(samples) for samples in ours) <= 0:
        return BenchmarkResult(target=target, verdict="not_measured", reason="the target returned no event times")
    theirs = None if baseline is None else [run.samples_us for run in baseline.runs]
    answer = BenchmarkResult(
        target=target,
        verdict="inconclusive",
        reason="no baseline to compare with",
        time_us=_measured_us(ours),
        noise_floor=floor,
        flags=_flags(ours, floor=floor, compared=theirs is not None),
    )
    for index, run in enumerate(candidate.runs):
        baseline_us = median(theirs[index]) if theirs and theirs[index] else None
        if doubt := above_roof(run, median(run.samples_us), gpu, baseline_us=baseline_us):
            return _doubted(answer, doubt)
    if baseline is None or theirs is None or not all(theirs):
        return answer
    compared = _compared(answer, ours, theirs, floor, plan)
    times = [(median(a), median(b)) for a, b in zip(ours, theirs, strict=True)]
    good = too_good(compared.speedup.value or 0.0, candidate.runs, baseline.runs, times, gpu)
    if good is None:
        return compared
    flagged = compared.model_copy(update={"flags": [*compared.flags, "over_10x"]})
    return _doubted(flagged, good) if isinstance(good, Doubt) else _because(flagged, good)


def _compared(
    answer: BenchmarkResult,
    ours: Sequence[Sequence[float]],
    theirs: Sequence[Sequence[float]],
    floor: float | None,
    plan: Plan,
) -> BenchmarkResult:
    pairs = _over_all_cases(ours, theirs)
    baseline_us = _measured_us(theirs)
    if len(pairs) < plan.looks[0]:
        reason = f"{counted(len(pairs), 'pair is', 'pairs are')} too few, {plan.looks[0]} are required"
        return answer.model_copy(update={"reason": reason, "baseline_time_us": baseline_us})
    found = decide(pairs, floor=floor, plan=plan)
    interval = Interval(value=found.estimate.value, low=found.estimate.low, high=found.estimate.high)
    return answer.model_copy(
        update={
            "verdict": found.verdict,
            "reason": _reason(found, floor, plan),
            "speedup": interval,
            "baseline_time_us": baseline_us,
        }
    )


def _over_all_cases(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Pair i over all cases: the geometric mean of each side, so that one interval holds for all cases together."""
    count = min(map(len, (*ours, *theirs)))
    return [
        (exp(fmean(log(case[i]) for case in ours)), exp(fmean(log(case[i]) for case in theirs))) for i in range(count)
    ]


def _reason(found: Comparison, floor: float | None, plan: Plan) -> str:
    estimate = found.estimate
    basis = "no noise floor is known of this GPU" if floor is None else f"its noise floor is {floor:.1%}"
    text = (
        f"{estimate.value:.3f} times as fast as the baseline, {plan.level:.1%} interval {estimate.low:.3f} to "
        f"{estimate.high:.3f} from {len(found.pairs_us)} pairs; a difference counts from {found.margin:.1%} ({basis})"
    )
    if found.verdict != "inconclusive":
        return text
    return f"{text}; {'the difference is too small to count' if found.decided else 'the pairs do not decide'}"


def _doubted(answer: BenchmarkResult, doubt: Doubt) -> BenchmarkResult:
    return answer.model_copy(
        update={"verdict": doubt.verdict, "reason": doubt.sentence, "flags": [*answer.flags, doubt.flag]}
    )


def _because(answer: BenchmarkResult, proof: str) -> BenchmarkResult:
    return answer.model_copy(update={"reason": f"{answer.reason}; {proof}"}) if answer.verdict == "faster" else answer


def _flags(samples: Sequence[Sequence[float]], *, floor: float | None, compared: bool) -> list[str]:
    flags = []
    if min(map(len, samples)) < FEW_SAMPLES:
        flags.append("few_samples")
    if min(median(case) for case in samples) < SHORT_US:
        flags.append("shorter_than_20_us")
    if compared and floor is None:
        flags.append("no_noise_floor")
    return flags


def _measured_us(samples: Sequence[Sequence[float]]) -> Quantity:
    if not all(samples):
        return NOT_MEASURED
    return Quantity(value=sum(median(case) for case in samples), evidence="measured")
