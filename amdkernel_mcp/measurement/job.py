"""What is run to measure a kernel, and what its report says. Pure: the engine runs the job."""

from __future__ import annotations

from dataclasses import dataclass

from amdkernel_mcp.checking.inputs import make_inputs
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.launch.bind import bind
from amdkernel_mcp.launch.kernel_symbols import kernel_symbols
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.launch.runner_case import runner_case
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint, PcCounts
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.results.kernels import Finding, FindingKind
from amdkernel_mcp.runner_protocol.job import Mode, RunCase, RunnerJob, RunnerLaunch
from amdkernel_mcp.runner_protocol.records import CaseStatus, DispatchRecord
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

CASE_TIMEOUT_S = 120.0
_SEED = 0
_KINDS: dict[CaseStatus, FindingKind] = {
    "launch_error": "launch_error",
    "fault": "out_of_bounds",
    "timeout": "timeout",
    "not_emulated": "not_emulated",
}


@dataclass(frozen=True)
class MeasurementJob:
    """The job that measures `cases`: one of its cases for each of them."""

    cases: tuple[Case, ...]
    job: RunnerJob
    seed: int  # of all inputs


@dataclass(frozen=True)
class Measured:
    """One run per measured case, or the finding that stopped the measurement.

    `wrong_outputs`: why the outputs of the measured run are wrong, and what was found.
    """

    runs: tuple[CaseRun, ...] = ()
    finding: Finding | None = None
    wrong_outputs: str | None = None
    findings: tuple[Finding, ...] = ()


def plan_measurement(
    *, target: Target, problem: Problem, plan: LaunchPlan, code_object: bytes
) -> MeasurementJob | Finding:
    """Counters on the emulator, event times on a GPU, of every announced case (of all, where none is announced).

    A plan that cannot be launched gives the finding that says why.
    """
    kernels = kernel_symbols(code_object)
    cases = tuple(case for case in problem.cases if not case.held_out) or problem.cases
    runs: list[RunCase] = []
    for case in cases:
        bound = bind(plan, problem, case, kernels=kernels, arch=target.arch)
        if bound.finding:
            return bound.finding
        runs.append(runner_case(problem, case, make_inputs(problem, case, seed=_SEED), bound, repeats=1))
    mode: Mode = "profile" if target.kind == "emulator" else "time"
    return MeasurementJob(cases, RunnerJob(target.arch, code_object, tuple(runs), mode, CASE_TIMEOUT_S), _SEED)


def read_measurement(planned: MeasurementJob, report: RunnerReport) -> Measured:
    """What the report says of each case; a case that did not finish is the finding."""
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


def _footprint(run: RunCase, launch: RunnerLaunch) -> Footprint:
    """Each buffer that the launch is given, once; a workspace could stay in a cache and is not compulsory."""
    given = {argument.buffer for argument in launch.arguments}
    buffers = [buffer for buffer in run.buffers if buffer.name in given]
    return Footprint(
        read_bytes=sum(buffer.bytes for buffer in buffers if buffer.role in ("in", "inout")),
        write_bytes=sum(buffer.bytes for buffer in buffers if buffer.role in ("out", "inout")),
    )
