"""Run a candidate's announced cases once for their counters, or many times for their event times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint, PcCounts
from amdkernel_mcp.results.kernels import Finding, FindingKind

if TYPE_CHECKING:
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.runner.answer import CaseStatus, DispatchRecord
    from amdkernel_mcp.execution.runner.job import CaseReport, Launch, Mode, RunCase, RunnerJob
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.execution.targets import Target
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.problems.problem import Case, Problem

CASE_TIMEOUT_S = 120.0
_SEED = 0
_KINDS: dict[CaseStatus, FindingKind] = {
    "launch_error": "launch_error",
    "fault": "out_of_bounds",
    "timeout": "timeout",
    "not_emulated": "not_emulated",
}


@dataclass(frozen=True)
class Plan:
    """The job that measures every announced case once, or the finding that forbids it."""

    cases: tuple[Case, ...] = ()
    job: RunnerJob | None = None
    finding: Finding | None = None


@dataclass(frozen=True)
class Measured:
    """One run per announced case, or the finding that stopped the measurement."""

    runs: tuple[CaseRun, ...] = ()
    finding: Finding | None = None


def plan_job(*, target: Target, problem: Problem, plan: LaunchPlan, compiled: Compiled) -> Plan:
    """Counters on the emulator, event times on a GPU, of every announced case (of all, where none is announced)."""
    from amdkernel_mcp.checking.check import run_case
    from amdkernel_mcp.checking.inputs import make_inputs
    from amdkernel_mcp.checking.reference import Call
    from amdkernel_mcp.execution.runner.job import RunnerJob
    from amdkernel_mcp.launch.bind import place
    from amdkernel_mcp.launch.kernel_symbols import kernel_symbols

    assert compiled.code_object is not None  # callers judge a failed compile before
    kernels = kernel_symbols(compiled.code_object)
    cases = tuple(case for case in problem.cases if not case.held_out) or problem.cases
    runs: list[RunCase] = []
    for case in cases:
        placement = place(plan, problem, case, kernels=kernels, arch=target.arch)
        if placement.finding:
            return Plan(finding=placement.finding)
        call = Call(case, _SEED, make_inputs(problem, case, seed=_SEED))
        runs.append(run_case(problem, call, placement, repeats=1))
    mode: Mode = "profile" if target.kind == "emulator" else "time"
    return Plan(cases, RunnerJob(target.arch, compiled.code_object, tuple(runs), mode, CASE_TIMEOUT_S))


def measure(*, sandbox: Sandbox, target: Target, planned: Plan, on_progress: Callable[[str], None]) -> Measured:
    """What the job of `planned` brought. Raises SandboxError, TargetError."""
    from amdkernel_mcp.execution.runner.job import run_job

    if planned.job is None:
        return Measured(finding=planned.finding)
    on_progress(f"measuring {len(planned.cases)} cases on {target.name}")
    report = run_job(sandbox, target, planned.job, on_progress=on_progress)
    for case, ran in zip(planned.cases, report.cases, strict=True):
        if ran.status != "ok":
            message = f"case {case.name}: {ran.message}"
            return Measured(finding=Finding(kind=_KINDS.get(ran.status, "crashed"), message=message))
    runs = zip(planned.cases, planned.job.cases, report.cases, strict=True)
    return Measured(tuple(_case_run(*each) for each in runs))


def _case_run(case: Case, run: RunCase, report: CaseReport) -> CaseRun:
    footprints = tuple(_footprint(run, launch) for launch in run.launches)
    dispatches = tuple(
        Dispatch(record.kernel, record.grid, record.block, record.counters, footprint, _pcs(record))
        for record, footprint in zip(report.dispatches, footprints, strict=False)
    )
    return CaseRun(case.name, dispatches, report.events_us, footprints)


def _pcs(record: DispatchRecord) -> dict[int, PcCounts]:
    return {address: PcCounts(*counts) for address, *counts in record.pcs or ()}


def _footprint(run: RunCase, launch: Launch) -> Footprint:
    """Each buffer that the launch is given, once; a workspace could stay in a cache and is not compulsory."""
    given = {argument.buffer for argument in launch.arguments}
    buffers = [buffer for buffer in run.buffers if buffer.name in given]
    return Footprint(
        read_bytes=sum(buffer.bytes for buffer in buffers if buffer.role in ("in", "inout")),
        write_bytes=sum(buffer.bytes for buffer in buffers if buffer.role in ("out", "inout")),
    )
