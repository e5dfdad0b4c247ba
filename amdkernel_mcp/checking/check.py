"""Check a compiled kernel: plan → inputs → launches, and the reference at the same time → verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.results.kernels import CaseResult, CheckResult, CheckScope, CompileResult, Finding

if TYPE_CHECKING:
    from amdkernel_mcp.checking.judge import RunJudgement
    from amdkernel_mcp.checking.reference import Array, Call, Expected
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.findings.faults import Layout
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.launch.bind import BoundPlan
    from amdkernel_mcp.runner_protocol.job import RunCase
    from amdkernel_mcp.runner_protocol.report import RunnerReport

DEFAULT = CheckOptions()
# A check for races takes about ten times as long as the run. The smallest case may take longer than the others.
CLOSE_LOOK_WITHIN_S = 0.3
SMALLEST_WITHIN_S = 1.0
_MOST_FINDINGS = 8
_MOST_NOTES = 4


def silent(_: str) -> None:
    """Progress that is not shown."""


def check(
    *,
    sandbox: Sandbox,
    compiled: Compiled,
    problem: Problem,
    plan: LaunchPlan,
    target: Target,
    options: CheckOptions = DEFAULT,
    cache_dir: Path | None = None,
    on_progress: Callable[[str], None] = silent,
) -> CheckResult:
    """Whether the kernel computes what the problem asks: every case, every seed; the first seed several times.

    Raises ProblemFileError when the reference cannot be used; SandboxError, TargetError. A bad kernel is a verdict.
    """
    began = time.monotonic()
    if plan.mistakes:
        return invalid(plan.mistakes, target=target.name)
    if not compiled.result.ok or compiled.code_object is None:
        return invalid_from_compile(compiled.result, target=target.name)
    bound = _bind(plan, problem, compiled.code_object, target.arch)
    refused = next((each.finding for each in bound if each.finding), None)
    if refused:
        return invalid([refused], target=target.name)
    on_progress(f"running {len(problem.cases)} cases with {len(options.seeds)} seeds on {target.name}")
    calls = _calls(problem, options.seeds)
    runs = _run_cases(problem, calls, bound, options)
    report, expected = _run_both(
        sandbox, target, compiled.code_object, problem, calls, runs, cache_dir, options.case_timeout_s, on_progress
    )
    judged = judge_calls(problem, plan, compiled, calls, report, expected.outputs)
    result = _summarise(problem, calls, judged, expected.outputs)
    evidence = "emulated" if target.kind == "emulator" else "measured"
    return result.model_copy(
        update={
            "target": target.name,
            "coverage": _scope(calls, report, runs) if target.kind == "emulator" else None,
            "isolation": sandbox.isolation,
            "evidence": evidence,
            "seconds": round(time.monotonic() - began, 3),
            "code_object": compiled.result.code_object,
            "diagnostics": compiled.result.diagnostics,
            "not_cached": _not_cached(compiled, expected),
        }
    )


def _not_cached(compiled: Compiled, expected: Expected) -> list[str]:
    reason = expected.not_cached
    return [*compiled.result.not_cached, *([f"the expected outputs were not cached: {reason}"] if reason else [])]


def invalid(findings: Sequence[Finding], *, target: str | None = None) -> CheckResult:
    """The verdict on a candidate that cannot be launched; the first finding is the reason."""
    first = findings[0]
    at = f"line {first.line}: " if first.line else ""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return CheckResult(
        verdict="invalid", reason=f"{at}{first.message}{more}", findings=list(findings[:_MOST_FINDINGS]), target=target
    )


def invalid_from_compile(result: CompileResult, *, target: str | None = None) -> CheckResult:
    """The verdict on a candidate that does not compile: the first error is the reason."""
    errors = [diagnostic for diagnostic in result.diagnostics if diagnostic.severity == "error"]
    findings = [
        Finding(
            kind="lds_over_limit" if _is_lds(error.message) else "compile_error", message=error.message, line=error.line
        )
        for error in errors or result.diagnostics
    ] or [Finding(kind="compile_error", message="the compiler made no code object and gave no reason")]
    answer = invalid(findings, target=target)
    return answer.model_copy(
        update={
            "reason": f"does not compile: {answer.reason}",
            "diagnostics": result.diagnostics,
            "isolation": result.isolation,
            "not_cached": result.not_cached,
        }
    )


def _is_lds(message: str) -> bool:
    return "local memory" in message and "exceeds limit" in message


def _bind(plan: LaunchPlan, problem: Problem, code_object: bytes, arch: str) -> list[BoundPlan]:
    from amdkernel_mcp.launch.bind import bind
    from amdkernel_mcp.launch.kernel_symbols import kernel_symbols

    kernels = kernel_symbols(code_object)
    return [bind(plan, problem, case, kernels=kernels, arch=arch) for case in problem.cases]


def _calls(problem: Problem, seeds: Sequence[int]) -> list[Call]:
    from amdkernel_mcp.checking.inputs import make_inputs
    from amdkernel_mcp.checking.reference import Call

    return [Call(case, seed, make_inputs(problem, case, seed=seed)) for case in problem.cases for seed in seeds]


def _run_cases(
    problem: Problem, calls: Sequence[Call], bound: Sequence[BoundPlan], options: CheckOptions
) -> tuple[RunCase, ...]:
    from amdkernel_mcp.launch.runner_case import runner_case

    plans = {id(case): each for case, each in zip(problem.cases, bound, strict=True)}
    first_seed = calls[0].seed
    runs = [
        runner_case(
            problem,
            call.case,
            call.inputs,
            plans[id(call.case)],
            repeats=options.repeats if call.seed == first_seed else 1,
        )
        for call in calls
    ]
    smallest = min(runs, key=lambda run: sum(buffer.bytes for buffer in run.buffers))
    return tuple(
        replace(
            run,
            emulator_options=_emulator_options(run.repeats, options.order),
            close_look_within_s=SMALLEST_WITHIN_S if run is smallest or options.patient else CLOSE_LOOK_WITHIN_S,
        )
        for run in runs
    )


def _emulator_options(repeats: int, order: int | None) -> tuple[str, ...]:
    """The first repeat is plain, the second checks for races, each of the others runs in its own order.

    The first of the others checks for races as well: in the plain order a wave may see a flag so late that everything
    looks ordered. With one `order` to replay, the second and the third repeat run in it.
    """
    seeds = range(1, repeats - 1) if order is None else (order,)
    looks = (f"races={int(n == seeds[0] and order is None)},schedule_seed={n}" for n in seeds)
    close = (f"races=1,schedule_seed={order or 0}", *looks)
    return ("races=0,schedule_seed=0", *close[: repeats - 1])


def _run_both(
    sandbox: Sandbox,
    target: Target,
    code_object: bytes,
    problem: Problem,
    calls: Sequence[Call],
    runs: tuple[RunCase, ...],
    cache_dir: Path | None,
    case_timeout_s: float,
    on_progress: Callable[[str], None],
) -> tuple[RunnerReport, Expected]:
    """The launches and the reference at the same time, in two separate sandboxes."""
    from amdkernel_mcp.checking.reference import expected_outputs
    from amdkernel_mcp.execution.runner.job import run_job
    from amdkernel_mcp.runner_protocol.job import RunnerJob

    job = RunnerJob(target.arch, code_object, runs, "check", case_timeout_s)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="reference") as pool:
        reference = pool.submit(expected_outputs, sandbox, problem, calls, cache_dir=cache_dir)
        try:
            report = run_job(sandbox, target, job, on_progress=on_progress)
        finally:
            expected = reference.result()  # a problem that cannot be used is reported first
    if report.device is None and all(case.status == "crashed" for case in report.cases):
        raise TargetError(f"{target.name} cannot be used: {report.cases[0].message}", hint="`amdkernel doctor`")
    return report, expected


def judge_calls(
    problem: Problem,
    plan: LaunchPlan,
    compiled: Compiled,
    calls: Sequence[Call],
    report: RunnerReport,
    expected: Sequence[dict[str, Array]],
) -> list[RunJudgement]:
    """One judgement for each call, in order."""
    from amdkernel_mcp.checking.judge import judge_run

    arch, lines = compiled.result.arch, compiled.lines
    return [
        judge_run(problem, call.case, ran, outputs, arch=arch, lines=lines, layouts=_layouts(problem, plan, call.case))
        for call, ran, outputs in zip(calls, report.cases, expected, strict=True)
    ]


def _layouts(problem: Problem, plan: LaunchPlan, case: Case) -> dict[str, Layout]:
    from amdkernel_mcp.findings.faults import Layout

    layouts = {argument.name: Layout(argument.dtype.bytes, case.shape_of(argument)) for argument in problem.arrays}
    values = {**plan.constants(), **case.values}
    for space in plan.workspaces:
        layouts[space.name] = Layout(space.dtype.bytes, tuple(dimension.value(values) for dimension in space.shape))
    return layouts


def _summarise(
    problem: Problem, calls: Sequence[Call], judged: Sequence[RunJudgement], expected: Sequence[dict[str, Array]]
) -> CheckResult:
    from amdkernel_mcp.checking.judge import SEVERITY, judge_case

    cases = [
        judge_case(case, [run for call, run in zip(calls, judged, strict=True) if call.case is case])
        for case in problem.cases
    ]
    worst = max(cases, key=lambda case: SEVERITY.index(case.verdict))
    findings = _distinct(calls, judged)
    reason = f"case {worst.case}: {worst.reason}"
    if worst.verdict == "correct":
        reason = _praise(cases, calls)
        if suspicion := _suspicion(expected):
            findings.append(suspicion)
            reason += f"; but {suspicion.message}"
    notes = list(dict.fromkeys(note for run in judged for note in run.notes))
    return CheckResult(
        verdict=worst.verdict, reason=reason, cases=cases, findings=findings[:_MOST_FINDINGS], notes=notes[:_MOST_NOTES]
    )


def _scope(calls: Sequence[Call], report: RunnerReport, runs: Sequence[RunCase]) -> CheckScope:
    from amdkernel_mcp.checking.scope import scope_of

    chosen = [k for k, call in enumerate(calls) if call.seed == calls[0].seed]
    return scope_of(
        [calls[k].case.name for k in chosen],
        [report.cases[k] for k in chosen],
        [runs[k].close_look_within_s for k in chosen],
    )


def _praise(cases: Sequence[CaseResult], calls: Sequence[Call]) -> str:
    held_out = sum(case.held_out for case in cases)
    hidden = f" ({held_out} held out)" if held_out else ""
    error = max((case.max_rel_err or 0.0 for case in cases), default=0.0)
    seeds = len({call.seed for call in calls})
    return f"all {len(cases)} cases{hidden} are correct with {seeds} seeds each; largest relative error {error:.2g}"


def _distinct(calls: Sequence[Call], judged: Sequence[RunJudgement]) -> list[Finding]:
    """One finding for each kind and line: the first, which is of the first case that has it.

    The first seed of a case has several runs and explains wrong values best; findings of other seeds about values are
    used only where the first seed has none.
    """
    about_values = ("wrong_result", "nan_or_inf", "not_written")
    first: dict[tuple[str, int | None], Finding] = {}
    pairs = list(zip(calls, judged, strict=True))
    explained = {id(call.case) for call, run in pairs if call.seed == calls[0].seed and run.findings}
    for call, run in pairs:
        for finding in run.findings:
            if finding.kind in about_values and call.seed != calls[0].seed and id(call.case) in explained:
                continue
            first.setdefault((finding.kind, finding.line), finding)
    return list(first.values())


def _suspicion(expected: Sequence[dict[str, Array]]) -> Finding | None:
    """A finding when one constant would pass every case of an output: such a problem proves nothing."""
    import numpy as np

    for name in expected[0]:
        values = [outputs[name] for outputs in expected]
        first = values[0].flat[0]
        if sum(value.size for value in values) > len(values) and all(np.all(value == first) for value in values):
            message = f"the reference expects {first} everywhere in {name}, so a constant would pass"
            return Finding(kind="suspicious", message=message)
    return None
