"""The steps of a benchmark: check each kernel, measure it, compare. Part of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from amdkernel_mcp.engine.known_steps import KnownSteps
from amdkernel_mcp.engine.prepared_kernel import PreparedKernel, side_of
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.job import TimingInputs
from amdkernel_mcp.measurement.not_timed import (
    about_case,
    incorrect,
    stopped,
    too_large,
    with_coverage,
    wrong_when_measured,
)
from amdkernel_mcp.measurement.timed_case import name_of_cases, timed_cases
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.problems.problem import Problem


def benchmark_steps(
    steps: KernelSteps,
    problem: Problem,
    source: str,
    *,
    file_name: str,
    baseline: str | None,
    baseline_file: str,
    target: str | None,
    values: Mapping[str, str] | None,
    work: Work,
    seen: list[PreparedKernel],
    case: str | None = None,
    fresh: bool = False,
) -> BenchmarkResult:
    """The verdict on `source`, against `baseline` if given. `seen` gets both kernels as they were compiled.

    case: in place of the one that counts. fresh: what an earlier benchmark found is not used. Raises InputError for a
    case that the problem does not announce.
    """
    known = KnownSteps(steps, fresh)
    cases = timed_cases(problem, case)
    inputs: TimingInputs | None = None
    sides, ready, runs = [], [], []
    checks: list[CheckResult] = []
    in_turns = steps.target(target).kind == "gpu"
    for text, role in ((source, "this kernel"), (baseline, "the baseline")):
        if text is None:
            continue
        name = file_name if role == "this kernel" else baseline_file
        own = values if role == "this kernel" else None
        prepared = steps.prepare(problem, text, file_name=name, target=target, work=work, values=own)
        seen.append(prepared)
        checked = known.check(prepared, work)
        checks.append(checked)
        if checked.verdict != "correct":
            return incorrect(checked, role)
        ready.append(prepared)
        if in_turns:
            continue
        inputs = inputs or steps.timing_inputs(prepared, case=case)
        measured = known.measure(prepared, steps.plan_measurement(prepared, inputs), work)
        if measured.finding:
            answer = stopped(measured.finding, role, prepared.target.name, prepared.sandbox.isolation)
            return too_large(answer, cases) if measured.finding.kind == "timeout" else answer
        if measured.wrong_outputs:
            return wrong_when_measured(measured, role, prepared.target.name, prepared.sandbox.isolation)
        runs.append(measured)
        sides.append(side_of(prepared, measured))
    where = prepared.target
    if in_turns:
        answer = steps.benchmark_in_turns(ready[0], ready[1] if len(ready) > 1 else None, work, case=case)
    else:
        answer = benchmark(
            candidate=sides[0],
            baseline=sides[1] if baseline is not None else None,
            gpu=gpu_by_name(where.gpu),
            target=where.name,
            emulated=True,
        )
    answer = about_case(answer, name_of_cases(cases), runs[0] if runs else None)
    answer = with_coverage(answer, checks[0].coverage)
    notes = dict.fromkeys(note for side in checks for note in side.not_cached)
    update = {"isolation": prepared.sandbox.isolation, "not_cached": [*notes]}
    return answer.model_copy(update=update)
