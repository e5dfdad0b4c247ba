"""What is run to measure a kernel, and what its report says. Pure: the engine runs the job."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.seeds import SeedKey
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.launch.bind import bind
from amdkernel_mcp.launch.kernel_symbols import kernel_symbols
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.launch.runner_case import runner_case
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint, PcCounts, Sample
from amdkernel_mcp.measurement.timed_case import timed_cases
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.results.kernels import Finding, FindingKind
from amdkernel_mcp.runner_protocol.job import Mode, RunCase, RunnerJob, RunnerLaunch, Timing
from amdkernel_mcp.runner_protocol.records import CaseStatus, DispatchRecord
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

CASE_TIMEOUT_S = 120.0
SAMPLE_ABOVE = 32_000_000
"""Wave-instructions: the workgroups of a launch with more are sampled, which then takes seconds."""
MOST_INPUT_BYTES = 256 << 20
"""Of all inputs of a measurement that has several for each case."""
_KINDS: dict[CaseStatus, FindingKind] = {
    "launch_error": "launch_error",
    "fault": "out_of_bounds",
    "timeout": "timeout",
    "not_emulated": "not_emulated",
}


@dataclass(frozen=True)
class TimingInputs:
    """One call for each measured case."""

    calls: tuple[Call, ...]


@dataclass(frozen=True)
class MeasurementJob:
    """The job that measures `calls`: each of its cases runs all calls of that case."""

    calls: tuple[Call, ...]
    job: RunnerJob

    @property
    def cases(self) -> tuple[Case, ...]:
        """The case of each case of the job."""
        return tuple(calls[0].case for calls in _by_case(self.calls))


@dataclass(frozen=True)
class Measured:
    """One run per measured case, or the finding that stopped the measurement.

    `wrong_outputs`: why the outputs of the measured run are wrong, and what was found. `judged_elements`: how many
    elements of the outputs were judged; `not_judged`: why those of a sample were not, or which were not.
    """

    runs: tuple[CaseRun, ...] = ()
    finding: Finding | None = None
    wrong_outputs: str | None = None
    findings: tuple[Finding, ...] = ()
    judged_elements: int = 0
    not_judged: str | None = None

    @property
    def sampled(self) -> bool:
        """Not all workgroups ran, so the outputs are incomplete."""
        return any(dispatch.sample for run in self.runs for dispatch in run.dispatches)

    @property
    def why_not_judged(self) -> str:
        """Why what a sample wrote was not judged, or only in part; empty where it was, and where all workgroups ran."""
        if not self.sampled:
            return ""
        return self.not_judged or ("" if self.judged_elements else "none of their elements was changed")


def measured_inputs(
    problem: Problem, key: SeedKey, *, inputs: int = 1, case: str | None = None
) -> list[tuple[Case, int, int]]:
    """What is measured: the case, seed (of `key`) and turn of the cases that count, or of the one that `case` names.

    inputs: of each case, at most; one where more would take too much memory. Raises InputError for an unknown `case`.
    """
    cases = timed_cases(problem, case)
    size = sum(each.dtype.bytes * prod(case.shape_of(each)) for each in problem.inputs for case in cases)
    count = inputs if inputs * size <= MOST_INPUT_BYTES else 1
    return [(case, seed, turn) for case in cases for turn, seed in enumerate(key.seeds(count))]


def plan_measurement(
    *,
    target: Target,
    problem: Problem,
    plan: LaunchPlan,
    code_object: bytes,
    calls: Sequence[Call],
    layout_seed: str,
    sampled: bool = False,
) -> MeasurementJob | Finding:
    """Counters on the emulator, event times on a GPU, of every case; the calls of a case follow each other.

    `layout_seed`: draws where buffers lie. `sampled`: of a large launch on the emulator a sample of the workgroups may
    run. A plan that cannot be launched gives the finding that says why.
    """
    kernels = kernel_symbols(code_object)
    runs: list[RunCase] = []
    timing = Timing(kept=judged_samples(Timing().samples))
    for first, *others in _by_case(calls):
        bound = bind(plan, problem, first.case, kernels=kernels, arch=target.arch)
        if bound.finding:
            return bound.finding
        more = tuple({name: array.tobytes() for name, array in call.inputs.items()} for call in others)
        run = runner_case(problem, first.case, first.inputs, bound, repeats=1)
        alone = sampled and len(run.launches) == 1  # what a later launch reads must be complete
        options = (f"sample_above={SAMPLE_ABOVE}",) if alone else ()
        runs.append(replace(run, timing=timing, more_inputs=more, emulator_options=options))
    mode: Mode = "profile" if target.kind == "emulator" else "time"
    job = RunnerJob(target.arch, code_object, tuple(runs), mode, CASE_TIMEOUT_S, layout_seed)
    return MeasurementJob(tuple(calls), job)


def _by_case(calls: Sequence[Call]) -> list[list[Call]]:
    return [list(own) for _, own in groupby(calls, key=lambda call: id(call.case))]


def judged_samples(count: int) -> tuple[int, ...]:
    """The timed samples whose outputs are judged: the first, the last and two that no kernel can foresee."""
    between = range(1, count - 1)
    return tuple(sorted({0, count - 1, *random.SystemRandom().sample(between, min(2, len(between)))}))


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
        Dispatch(
            record.kernel,
            record.grid,
            record.block,
            record.counters,
            footprint,
            _pcs(record),
            record.lds_bytes,
            _sample(record),
            record.not_sampled,
        )
        for record, footprint in zip(report.dispatches, footprints, strict=False)
    )
    known = dispatches and not any(each.sample for each in dispatches)
    unread = sum(seen.bytes for seen in report.untouched if seen.access == "load" and seen.repeat == 0) if known else 0
    return CaseRun(case.name, dispatches, report.events_us, footprints, minimum_of(run), unread)


def minimum_of(run: RunCase) -> Footprint:
    """Bytes of the inputs, and of the outputs that are not inputs as well."""
    return Footprint(
        read_bytes=sum(buffer.bytes for buffer in run.buffers if buffer.role in ("in", "inout")),
        write_bytes=sum(buffer.bytes for buffer in run.buffers if buffer.role == "out"),
    )


def _sample(record: DispatchRecord) -> Sample | None:
    return Sample(record.sampled.ran, record.sampled.of, record.sampled.errors) if record.sampled else None


def _pcs(record: DispatchRecord) -> dict[int, PcCounts]:
    return {address: PcCounts(*counts) for address, *counts in record.pcs or ()}


def _footprint(run: RunCase, launch: RunnerLaunch) -> Footprint:
    """Each buffer that the launch is given, once; a workspace could stay in a cache and is not compulsory."""
    given = {argument.buffer for argument in launch.arguments}
    buffers = [buffer for buffer in run.buffers if buffer.name in given]
    return Footprint(
        read_bytes=sum(buffer.bytes for buffer in buffers if buffer.role in ("in", "inout")),
        write_bytes=sum(buffer.bytes for buffer in buffers if buffer.role in ("out", "inout")),
        workspace_bytes=sum(buffer.bytes for buffer in buffers if buffer.role == "workspace"),
    )
