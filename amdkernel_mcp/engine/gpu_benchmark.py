"""A benchmark in turns on a GPU: idle check, noise floor, the job, the judge, the trace, the verdict.

Part of the engine: it calls the workers in turn and holds the order only. A kernel without a baseline is timed in turns
with itself, so that every time comes about in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.measured import judge_measured
from amdkernel_mcp.errors import ProfileFileError, SandboxError, TargetError
from amdkernel_mcp.execution.gpu_idle import GpuState, read_state, state_afterwards, why_busy, why_unknown
from amdkernel_mcp.execution.runner.gpu_profile import FOLDER, record_profile
from amdkernel_mcp.execution.runner.job import run_job, runner_command
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.measurement.not_timed import stopped, wrong_when_measured
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN, LEAST_MARGIN, Plan, decide
from amdkernel_mcp.measurement.timing.noise_floors import NoiseFloors
from amdkernel_mcp.measurement.timing.trace_agreement import (
    Agreement,
    agreement,
    gap_shares,
    launch_bound,
    not_compared,
)
from amdkernel_mcp.measurement.turns import (
    Turns,
    conditions,
    fewest_turns,
    job_in_turns,
    judged_samples_of,
    not_settled,
    read_turns,
)
from amdkernel_mcp.profiling.kernel_trace import traced_launches
from amdkernel_mcp.profiling.rocprofv3 import trace_command
from amdkernel_mcp.results.kernels import BenchmarkResult, Clocks, Finding
from amdkernel_mcp.runner_protocol.job import RunnerJob
from amdkernel_mcp.runner_protocol.report import RunnerReport
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.measurement.job import MeasurementJob

TRACE_START_S, TRACE_CASE_S = 40.0, 20.0
"""After which a profiler counts as hung: the start of the run, and each case."""


@dataclass(frozen=True)
class Contest:
    """Both kernels, prepared and planned with the same inputs, and the GPU they run on.

    Without a baseline the candidate is on both sides: `rival` and `other` are its own.
    """

    candidate: PreparedKernel
    rival: PreparedKernel
    planned: MeasurementJob
    other: MeasurementJob
    render_node: Callable[[], str]  # asked when the GPU is held: Slurm gives any
    exclusively: Callable[[Work], AbstractContextManager[Work, bool | None]]  # see `leased_sandbox.exclusively`
    data_dir: Path
    cache_dir: Path | None
    protocol: Plan = DEFAULT_PLAN
    saw: Callable[[RunnerReport | None], None] = lambda _: None
    """Is given the report of each run that either kernel was in."""

    @property
    def compared(self) -> bool:
        """Whether there is a baseline."""
        return self.rival is not self.candidate


@dataclass(frozen=True)
class _Taken:
    """What was taken on the GPU, to be judged without it."""

    job: RunnerJob
    report: RunnerReport
    turns: Turns
    traced: Agreement
    floor: float | None
    rocm: str
    before: GpuState
    ended: GpuState | str
    after: GpuState | str


def benchmark_in_turns(contest: Contest, work: Work) -> BenchmarkResult:
    """The verdict, or why there is none. Raises what the sandbox and the lease raise."""
    sandbox = contest.candidate.sandbox
    with contest.exclusively(work) as held:
        taken = _take_times(contest, held)
    if isinstance(taken, BenchmarkResult):
        return taken
    if wrong := _wrong_outputs(contest, taken.job, taken.report):
        return wrong
    answer = _judge(contest, taken.turns, taken.floor)
    before, ended, after, traced = taken.before, taken.ended, taken.after, taken.traced
    gaps = gap_shares(_names(contest), taken.turns.pairs, traced)
    how = conditions(
        taken.job,
        taken.turns,
        idle=(before.text, after if isinstance(after, str) else after.text),
        clocks=(before.clocks, Clocks() if isinstance(ended, str) else ended.clocks),
        rocm=taken.rocm,
        driver=before.driver,
        gpu=before.unique_id,
        traced=traced,
        gaps=gaps,
    )
    answer = answer.model_copy(update={"timing": how, "isolation": sandbox.isolation})
    answer = _believed(answer, taken.turns, after, traced, launch_bound(gaps), contest.protocol)
    return _beyond_twice_the_margin(answer, why, taken.floor) if (why := why_unknown(before)) else answer


def _take_times(contest: Contest, work: Work) -> _Taken | BenchmarkResult:
    """All that needs the GPU; or why there are no times."""
    where, sandbox = contest.candidate.target, contest.candidate.sandbox
    before = read_state(sandbox, contest.render_node())
    if isinstance(before, str):
        return _not_timed(contest, before)
    if busy := why_busy(before):
        return _not_timed(contest, busy)
    job = job_in_turns(contest.planned, contest.other, gpu_by_name(where.gpu), plan=contest.protocol)
    work.say(f"timing {'both kernels' if contest.compared else 'the kernel and itself'} in turns on {where.name}")
    report = run_job(sandbox, where, job, work)
    contest.saw(report)
    ended = read_state(sandbox, contest.render_node())  # at once, for its clocks: they fall within moments
    turns = read_turns(_names(contest), job, report)
    if isinstance(turns, str):
        timed_out = any(case.status == "timeout" for case in report.cases)
        finding = Finding(kind="timeout" if timed_out else "crashed", message=turns)
        return stopped(finding, "a kernel", where.name, sandbox.isolation)
    traced = _compare_with_trace(contest, job, work)
    rocm = report.device.rocm if report.device else "not_measured"
    floor = _floor(contest, before, rocm, work)
    after = state_afterwards(sandbox, contest.render_node())
    return _Taken(job, report, turns, traced, floor, rocm, before, ended, after)


def _names(contest: Contest) -> list[str]:
    return [case.name for case in contest.planned.cases]


def _judge(contest: Contest, turns: Turns, floor: float | None) -> BenchmarkResult:
    where = contest.candidate.target
    gpu = gpu_by_name(where.gpu)

    def against(rival: Side | None) -> BenchmarkResult:
        return benchmark(
            candidate=turns.candidate, baseline=rival, gpu=gpu, target=where.name, emulated=False, floor=floor
        )

    answer = against(turns.baseline)
    if contest.compared or answer.verdict not in ("faster", "slower", "inconclusive"):
        return answer
    alone, itself = against(None), answer.speedup
    reason = f"{alone.reason}; in turns with itself it is {itself.value:.3f} times as fast"
    flags = alone.flags if answer.verdict == "inconclusive" else [*alone.flags, "differs_from_itself"]
    return alone.model_copy(update={"reason": reason, "flags": flags})


def _believed(
    answer: BenchmarkResult, turns: Turns, after: GpuState | str, traced: Agreement, gaps: str | None, plan: Plan
) -> BenchmarkResult:
    """The answer, or the same times without a verdict where the GPU was not ours alone or not settled, or where a
    profiler saw other times. `gaps`: why the times are those of launching."""
    if traced.state == "not_measured":
        answer = answer.model_copy(update={"flags": [*answer.flags, "no_kernel_trace"]})
    disturbed = after if isinstance(after, str) else why_busy(after)
    doubts = {
        "not_idle": disturbed,
        "not_settled": not_settled(turns, plan=plan),
        "trace_disagrees": traced.sentence if traced.state == "disagrees" else None,
        "launch_bound": gaps,
    }
    found = {flag: why for flag, why in doubts.items() if why}
    if not found or answer.verdict not in ("faster", "slower", "inconclusive"):
        return answer
    reason = f"{'; '.join(found.values())}: {answer.reason}"
    return answer.model_copy(update={"verdict": "inconclusive", "reason": reason, "flags": [*answer.flags, *found]})


def _beyond_twice_the_margin(answer: BenchmarkResult, why: str, floor: float | None) -> BenchmarkResult:
    """The answer of a GPU of which it is not known whether it was idle: the work of others may make a difference."""
    if answer.verdict not in ("faster", "slower", "inconclusive"):
        return answer
    margin, found = 2 * max(LEAST_MARGIN, floor or 0.0), answer.speedup
    low, high = found.low or 0.0, found.high or math.inf
    counts = low > 1 + margin if answer.verdict == "faster" else high < 1 / (1 + margin)
    reason = f"{why}, so a difference counts from {margin:.1%}: {answer.reason}"
    verdict = answer.verdict if counts else "inconclusive"
    return answer.model_copy(update={"verdict": verdict, "reason": reason, "flags": [*answer.flags, "idle_unknown"]})


def _compare_with_trace(contest: Contest, job: RunnerJob, work: Work) -> Agreement:
    """What rocprofv3 says in one more run of few pairs. Where it fails there is no comparison, but there are times."""
    where, sandbox = contest.candidate.target, contest.candidate.sandbox
    kernels = {kernel.name for side in (contest.candidate, contest.rival) for kernel in side.compiled.result.kernels}
    job = fewest_turns(job, plan=contest.protocol)
    command = trace_command(folder=FOLDER, program=runner_command(where, job), kernels=sorted(kernels))
    work.say(f"comparing the times with rocprofv3's kernel trace on {where.name}")
    try:
        timeout_s = TRACE_START_S + TRACE_CASE_S * len(job.cases)
        recorded = record_profile(sandbox, where, job, [command], pass_timeout_s=timeout_s)
        contest.saw(recorded.report)
        traces = traced_launches(recorded.files)
    except (ProfileFileError, SandboxError, TargetError) as error:
        return not_compared(error.message)
    if recorded.report is None:
        return not_compared("the run under rocprofv3 left no report")
    turns = read_turns(_names(contest), job, recorded.report)
    if isinstance(turns, str):
        return not_compared(f"the run under rocprofv3 failed: {turns}")
    return agreement(job.cases, _names(contest), turns.pairs, traces, kernels=frozenset(kernels))


def _wrong_outputs(contest: Contest, job: RunnerJob, report: RunnerReport) -> BenchmarkResult | None:
    rival = "the baseline" if contest.compared else "this kernel"
    sides = (("this kernel", contest.candidate, False), (rival, contest.rival, True))
    for role, prepared, is_rival in sides:
        own_job, own_report = judged_samples_of(job, report, rival=is_rival)
        wrong = judge_measured(
            own_report,
            job=own_job,
            calls=contest.planned.calls,
            sandbox=prepared.sandbox,
            problem=prepared.problem,
            plan=prepared.plan,
            compiled=prepared.compiled,
            cache_dir=contest.cache_dir,
        ).wrong
        if wrong:
            case, judged = wrong
            found = _measured_wrong(case, judged.reason, judged.findings)
            return wrong_when_measured(found, role, prepared.target.name, prepared.sandbox.isolation)
    return None


def _measured_wrong(case: str, reason: str, findings: Sequence[Finding]) -> Measured:
    return Measured(wrong_outputs=f"case {case}: {reason}", findings=tuple(findings))


def _floor(contest: Contest, state: GpuState, rocm: str, work: Work) -> float | None:
    """The GPU's noise floor; A/A runs of a baseline come first where too few are known."""
    floors = NoiseFloors(contest.data_dir, f"{contest.candidate.target.host or 'local'} {state.unique_id}")
    if contest.compared and (missing := floors.missing(rocm)):
        work.say(f"{missing} A/A runs for the noise floor of {contest.candidate.target.name}")
        floors.add(_same_code(contest, missing), rocm)
    return floors.floor(rocm)


def _same_code(contest: Contest, runs: int) -> list[float]:
    where = contest.rival.target
    planned = replace(contest.other, job=replace(contest.other.job, cases=contest.other.job.cases[:1] * runs))
    job = job_in_turns(planned, planned, gpu_by_name(where.gpu), plan=contest.protocol)
    report = run_job(contest.rival.sandbox, where, job)
    contest.saw(report)
    found = read_turns([str(run) for run in range(runs)], job, report)
    if isinstance(found, str):
        return []
    return [decide(each.pairs_us, floor=None, plan=contest.protocol).estimate.value for each in found.pairs]


def _not_timed(contest: Contest, why: str) -> BenchmarkResult:
    return BenchmarkResult(
        verdict="not_measured",
        reason=f"not timed: {why}",
        target=contest.candidate.target.name,
        isolation=contest.candidate.sandbox.isolation,
        flags=["not_idle"],
    )
