"""The steps of a benchmark: check each kernel, measure it, compare. Part of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from amdkernel_mcp.engine.known_steps import KnownSteps
from amdkernel_mcp.engine.prepared_kernel import PreparedKernel, side_of, what_is_launched
from amdkernel_mcp.engine.side_by_side import side_by_side
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.job import Measured, TimingInputs
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


Role = Literal["this kernel", "the baseline"]


@dataclass(frozen=True)
class _Side:
    """A kernel and what is known of it. `stop`: the answer where something is wrong with it."""

    role: Role
    prepared: PreparedKernel
    checked: CheckResult
    measured: Measured | None = None
    stop: BenchmarkResult | None = None

    @property
    def launched(self) -> str:
        """What runs of it: the same need not be emulated twice."""
        return repr(what_is_launched(self.prepared))


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
    in_turns = steps.target(target).kind == "gpu"

    def check(text: str, role: Role) -> _Side:
        name, own = (file_name, values) if role == "this kernel" else (baseline_file, None)
        prepared = steps.prepare(problem, text, file_name=name, target=target, work=work, values=own)
        seen.append(prepared)
        checked = known.check(prepared, work)
        return _Side(role, prepared, checked, stop=None if checked.verdict == "correct" else incorrect(checked, role))

    def measure(side: _Side, work: Work) -> _Side:
        prepared = side.prepared
        measured = known.measure(prepared, steps.plan_measurement(prepared, inputs), work)
        stop = None
        if measured.finding:
            stop = stopped(measured.finding, side.role, prepared.target.name, prepared.sandbox.isolation)
            stop = too_large(stop, cases) if measured.finding.kind == "timeout" else stop
        elif measured.wrong_outputs:
            stop = wrong_when_measured(measured, side.role, prepared.target.name, prepared.sandbox.isolation)
        return replace(side, measured=measured, stop=stop)

    inputs = TimingInputs(())
    sides = [check(source, "this kernel")]
    if baseline is not None and not sides[0].stop:
        sides.append(check(baseline, "the baseline"))
    if not in_turns and not any(side.stop for side in sides):
        inputs = steps.timing_inputs(sides[0].prepared, case=case)
        mine, *others = sides
        # Emulations use few cores for most of their time, so two take little longer than one. The same code runs once.
        if others:
            first, other = side_by_side(
                partial(measure, mine),
                partial(measure, others[0]),
                work,
                went_wrong=lambda side: side.stop is not None,
                at_once=mine.launched != others[0].launched,
            )
            sides = [first, other or others[0]]
        else:
            sides = [measure(mine, work)]
    if stop := next((side.stop for side in sides if side.stop), None):
        return stop
    prepared, ready = sides[-1].prepared, [side.prepared for side in sides]
    checks, runs = [side.checked for side in sides], [side.measured for side in sides if side.measured]
    where = prepared.target
    if in_turns:
        answer = steps.benchmark_in_turns(ready[0], ready[1] if len(ready) > 1 else None, work, case=case)
    else:
        answer = benchmark(
            candidate=side_of(ready[0], runs[0]),
            baseline=side_of(ready[1], runs[1]) if baseline is not None else None,
            gpu=gpu_by_name(where.gpu),
            target=where.name,
            emulated=True,
        )
    answer = about_case(answer, name_of_cases(cases), runs[0] if runs else None)
    answer = with_coverage(answer, checks[0].coverage)
    notes = dict.fromkeys(note for side in checks for note in side.not_cached)
    update = {"isolation": prepared.sandbox.isolation, "not_cached": [*notes]}
    return answer.model_copy(update=update)
