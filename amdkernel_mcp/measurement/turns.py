"""The job that times two kernels in turns, and what its report says. Pure: the engine runs the job.

Both sides get the same inputs, in one process, and each has its own buffers: a candidate that finds the outputs of the
baseline in its memory could leave them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import CaseRun
from amdkernel_mcp.measurement.job import MeasurementJob, minimum_of
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN, MOST_BUFFER_SETS, Plan, buffer_sets
from amdkernel_mcp.measurement.timing.trace_agreement import Agreement
from amdkernel_mcp.results.kernels import Clocks, TimingConditions
from amdkernel_mcp.runner_protocol.job import Rival, RunCase, RunnerJob, Timing
from amdkernel_mcp.runner_protocol.report import CaseReport, PairsReport, RunnerReport

BUDGET_S = 30.0
"""Of the pairs of a case, after the first look."""
CASE_TIMEOUT_S = 180.0
MOST_BYTES = 8 << 30
"""Of all sets of one side."""


@dataclass(frozen=True)
class Turns:
    """What one run in turns found: both sides, and a report of the judged samples for each of them."""

    candidate: Side
    baseline: Side
    pairs: tuple[PairsReport, ...]


def job_in_turns(
    candidate: MeasurementJob, baseline: MeasurementJob, gpu: Gpu, *, plan: Plan = DEFAULT_PLAN
) -> RunnerJob:
    """The candidate's cases, each with the baseline's as its rival. Both were planned with the same inputs."""
    cases = tuple(
        replace(mine, rival=_rival(mine, other, gpu, plan), timing=Timing(kept=()))
        for mine, other in zip(candidate.job.cases, baseline.job.cases, strict=True)
    )
    return replace(
        candidate.job,
        cases=cases,
        mode="time",
        case_timeout_s=CASE_TIMEOUT_S,
        rival_code_object=baseline.job.code_object,
    )


def _rival(mine: RunCase, other: RunCase, gpu: Gpu, plan: Plan) -> Rival:
    footprint = max(footprint_bytes(mine), footprint_bytes(other), 1)
    sets = buffer_sets(footprint, gpu.last_level_cache_bytes)
    return Rival(
        other.buffers,
        other.launches,
        more_inputs=other.more_inputs,
        pairs=plan.looks[-1],
        least_pairs=plan.looks[0],
        budget_s=BUDGET_S,
        settle_s=plan.settle_s,
        settle_limit_s=plan.settle_limit_s,
        event_us=plan.event_us,
        most_launches=MOST_BUFFER_SETS,
        buffer_sets=max(2, min(sets, MOST_BYTES // footprint)),
    )


def footprint_bytes(case: RunCase) -> int:
    """Bytes of all buffers of one launch."""
    return sum(buffer.bytes for buffer in case.buffers)


def read_turns(names: Sequence[str], job: RunnerJob, report: RunnerReport) -> Turns | str:
    """Both sides of a report whose cases all ended well, or why there is none."""
    pairs = []
    for name, ran in zip(names, report.cases, strict=True):
        if ran.status != "ok" or ran.pairs is None:
            return f"case {name}: {ran.message or 'the runner returned no pairs'}"
        pairs.append(ran.pairs)
    mine, other = (
        Side(
            tuple(
                CaseRun(name, repeats_us=tuple((pair[side],) for pair in each.pairs_us), minimum=minimum_of(case))
                for name, case, each in zip(names, job.cases, pairs, strict=True)
            )
        )
        for side in (0, 1)
    )
    return Turns(mine, other, tuple(pairs))


def judged_samples_of(job: RunnerJob, report: RunnerReport, *, rival: bool) -> tuple[RunnerJob, RunnerReport]:
    """The timed samples of one side as those of a job that times it alone, so that the same judge takes them."""
    cases, reports = [], []
    for case, ran in zip(job.cases, report.cases, strict=True):
        assert ran.pairs is not None
        assert case.rival is not None
        outputs = ran.pairs.rival_outputs if rival else ran.pairs.outputs
        damage = ran.pairs.rival_damage if rival else ran.pairs.damage
        own = replace(case, buffers=case.rival.buffers, launches=case.rival.launches) if rival else case
        had = Timing(buffer_sets=1 + len(case.more_inputs), kept=ran.pairs.inputs)  # as if each input had one set
        cases.append(replace(own, rival=None, repeats=0, timing=had, emulator_options=()))
        reports.append(CaseReport("ok", "", outputs, guard_damage=damage))
    return replace(job, cases=tuple(cases)), RunnerReport(report.device, tuple(reports))


def fewest_turns(job: RunnerJob, *, plan: Plan = DEFAULT_PLAN) -> RunnerJob:
    """The same job with as few pairs as a verdict takes."""
    cases = tuple(
        replace(case, rival=case.rival and replace(case.rival, pairs=plan.looks[0], least_pairs=plan.looks[0]))
        for case in job.cases
    )
    return replace(job, cases=cases)


def conditions(
    job: RunnerJob,
    turns: Turns,
    *,
    idle: tuple[str, str],
    clocks: tuple[Clocks, Clocks],
    rocm: str,
    driver: str,
    gpu: str,
    traced: Agreement,
    gaps: Mapping[tuple[str, int], float],
) -> TimingConditions:
    """What the answer says about how it was timed. `idle`, `clocks`: before and after. `gaps`: of `gap_shares`."""
    return TimingConditions(
        pairs=min(len(each.pairs_us) for each in turns.pairs),
        clock="HIP events around each sample",
        launches_per_sample=[each.batch for each in turns.pairs],
        buffer_sets=[each.buffer_sets for each in turns.pairs],
        input_sets=[1 + len(case.more_inputs) for case in job.cases],
        footprint_bytes=[footprint_bytes(case) for case in job.cases],
        cache_protocol="each launch of a sample has buffers of its own, whose outputs were overwritten before it",
        settled_us=[each.settled_us for each in turns.pairs],
        queue_filled=all(each.filled for each in turns.pairs),
        idle_before=idle[0],
        idle_after=idle[1],
        clocks_before=clocks[0],
        clocks_after=clocks[1],
        rocm=rocm,
        driver=driver,
        gpu=gpu,
        samples_us=[list(each.pairs_us) for each in turns.pairs],
        kernel_trace=traced.state,
        kernel_trace_note=traced.sentence,
        kernel_trace_ratio=traced.ratio,
        gap_share=max(gaps.values(), default=None),
    )


def not_settled(turns: Turns, *, plan: Plan = DEFAULT_PLAN) -> str | None:
    """Why the clock may still have been rising."""
    least_us = min(each.settled_us for each in turns.pairs)
    if least_us >= 1e6 * plan.settle_s:
        return None
    return f"the GPU worked for {least_us / 1e6:.2f} s before the first sample, and {plan.settle_s:g} s are required"
