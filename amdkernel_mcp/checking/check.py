"""Check a compiled kernel: plan → inputs → launches, and the reference at the same time → verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from amdkernel_mcp.checking.cases.aimed_cases import aim_cases, aim_further, constants_of, divisors_of, residues_of
from amdkernel_mcp.checking.cases.case_plans import CasePlan, plan_cases
from amdkernel_mcp.checking.cases.drawn_cases import draw_cases
from amdkernel_mcp.checking.cases.exact_sizes import exact_sizes
from amdkernel_mcp.checking.cases.seeds import SeedKey, fresh_key, read_key
from amdkernel_mcp.checking.conditioning import conditioning_of
from amdkernel_mcp.checking.expected.generate import make_calls
from amdkernel_mcp.checking.expected.reference import expected_outputs
from amdkernel_mcp.checking.expected.reference_run import ReferenceTimeoutError
from amdkernel_mcp.checking.judging.judge_report import judge_report
from amdkernel_mcp.checking.judging.scope import executed, gaps_of, scope_of, sizes_beyond
from amdkernel_mcp.checking.judging.summary import summarise
from amdkernel_mcp.checking.judging.unrun_code import UnrunCode, unrun_code
from amdkernel_mcp.checking.odd_addresses import (
    at_odd_addresses,
    cases_at_odd_addresses,
    promises_addresses,
    relies_on_the_promise,
    tests_addresses,
)
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.disassembly import communicates
from amdkernel_mcp.compiler.jumps import jumps_astray
from amdkernel_mcp.compiler.register_limits import beyond_allocation
from amdkernel_mcp.compiler.wait_states import missing_wait_states
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.hardware.exactness import inexact_among
from amdkernel_mcp.kernel_source import CODE_OBJECT
from amdkernel_mcp.launch.bind import bind
from amdkernel_mcp.launch.kernel_symbols import kernel_symbols
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.results.kernels import CheckResult, CheckScope, CompileResult, Finding, FindingKind, SeedReveal
from amdkernel_mcp.runner_protocol.job import RunnerJob
from amdkernel_mcp.work import Work, carried

if TYPE_CHECKING:
    from amdkernel_mcp.checking.expected.reference import Array, Expected
    from amdkernel_mcp.checking.judging.judge_report import CaseJudgement
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.runner_protocol.records import DispatchRecord
    from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

DEFAULT = CheckOptions()
_MOST_FINDINGS = 8
_NO_VERDICT = ". Code that others compiled is judged by its run: AMD's own hand-written kernels lack such waits too"


def check(
    *,
    sandbox: Sandbox,
    compiled: Compiled,
    problem: Problem,
    plan: LaunchPlan,
    target: Target,
    options: CheckOptions = DEFAULT,
    key: SeedKey | None = None,
    cache_dir: Path | None = None,
    work: Work | None = None,
) -> CheckResult:
    """Whether the kernel computes what the problem asks: every case, every seed; the first seed several times.

    `key`: what seeds and shapes are drawn from, unless the options name others; None: a fresh one.
    Raises ProblemFileError when the reference cannot be used; SandboxError, TargetError. A bad kernel is a verdict.
    """
    began, work = time.monotonic(), work or Work()
    if plan.mistakes:
        return invalid(plan.mistakes, target=target.name)
    if not compiled.result.ok or compiled.code_object is None:
        return invalid_from_compile(compiled.result, target=target.name)
    code = (compiled.code_object, compiled.disassembly)
    if beyond := [
        _finding("registers_over_limit", each.address, each.sentence, compiled) for each in beyond_allocation(*code)
    ]:
        return invalid(beyond, target=target.name)
    given = CODE_OBJECT in compiled.source
    early = [
        _finding("missing_wait", each.address, each.sentence + (_NO_VERDICT if given else ""), compiled)
        for each in missing_wait_states(*code, target.arch)
    ]
    if early and not given:
        return invalid(early, target=target.name, verdict="incorrect").model_copy(update={"evidence": "static"})
    if astray := [_finding("launch_error", each.address, each.sentence, compiled) for each in jumps_astray(code[1])]:
        return invalid(astray, target=target.name)
    key = read_key(options.seed_key) if options.seed_key else key or fresh_key()
    seeds = key.seeds(options.seed_count) if options.seeds is None else options.seeds
    kernel = _Kernel(sandbox, compiled, compiled.code_object, problem, plan, target, options, key, seeds, cache_dir)
    constants = constants_of(compiled.source, compiled.disassembly)
    cases = (*problem.cases, *draw_cases(problem, key))
    divisors, residues = divisors_of(compiled.source), residues_of(compiled.source)
    cases = (*cases, *aim_cases(problem, key, constants, divisors, cases, residues))
    if options.seeds is None:
        work.say(f"the seeds are fixed by sha256:{key.commitment}")
    ran = kernel.run(cases, work)
    if isinstance(ran, Finding):
        return invalid([ran], target=target.name)
    unrun = unrun_code(compiled, ran.records)
    more: tuple[Case, ...] = ()
    if ran.right and target.kind == "emulator":
        blocks = {int(each.text) for launch in plan.launches for each in launch.block if each.text.isdecimal()}
        exact = exact_sizes(compiled.source, problem.ranges, constants | blocks)
        more = aim_further(problem, key, constants, cases, ran.instructions, unrun=bool(unrun.unrun), exact=exact)
    further = _run_further(kernel, more, work) if more else None
    if further:
        unrun = unrun_code(compiled, [*ran.records, *further.records])
    odd, unrun = _at_odd_addresses(kernel, ran, further, unrun, work)
    judged = (*(further.judged if further else ()), *(odd.judged if odd and not odd.right else ()))
    result = summarise(problem, ran.judged, ran.expected, seeds=len(seeds), further=judged)
    scope = None
    if target.kind == "emulator":
        scope, gaps = _scope(ran, further, unrun)
        checked = [each.case for each in (*ran.plans, *(further.plans if further else ()))]
        gaps = [*gaps, sizes_beyond(problem, checked)]
        gaps = [*(["also with arrays at odd addresses"] if odd and odd.right else []), *gaps]
        if result.verdict == "correct":
            result = result.model_copy(update={"reason": "; ".join(filter(None, [result.reason, *gaps]))})
    update: dict[str, object] = {
        "target": target.name,
        "findings": [*result.findings, *early],
        "coverage": scope,
        "isolation": sandbox.isolation,
        "evidence": "emulated" if target.kind == "emulator" else "measured",
        "seconds": round(time.monotonic() - began, 3),
        "code_object": compiled.result.code_object,
        "diagnostics": compiled.result.diagnostics,
        "not_cached": [*compiled.result.not_cached, *ran.not_cached, *(further.not_cached if further else ())],
    }
    return result.model_copy(update=update | (_reveal(result, key, len(seeds)) if options.seeds is None else {}))


def _run_further(kernel: _Kernel, cases: Sequence[Case], work: Work) -> _Ran | None:
    """What came of cases that a check may leave out: None where they cannot be launched, or the reference is slow.

    They are larger than the others, so each runs with one seed, plainly and once more to look for races.
    """
    work.say("drawing cases for code that ran in none so far")
    quick = replace(kernel, seeds=kernel.seeds[:1], options=replace(kernel.options, schedules=0))
    try:
        ran = quick.run(cases, work)
    except ReferenceTimeoutError:
        return None
    return None if isinstance(ran, Finding) else ran


def _at_odd_addresses(
    kernel: _Kernel, ran: _Ran, further: _Ran | None, unrun: UnrunCode, work: Work
) -> tuple[_Ran | None, UnrunCode]:
    """What came of arrays at odd addresses, and the code that ran nowhere then; None where that says nothing."""
    right = ran.right and (further is None or further.right)
    asks = tests_addresses(kernel.compiled.source)
    if not (
        right and kernel.target.kind == "emulator" and promises_addresses(kernel.problem) and (asks or unrun.unrun)
    ):
        return None, unrun
    work.say("placing arrays at odd addresses")
    cases = cases_at_odd_addresses([each.case for each in ran.plans], ran.instructions)
    odd = replace(kernel, odd=True, options=replace(kernel.options, schedules=0)).run(cases, work)
    if isinstance(odd, Finding) or relies_on_the_promise(odd.judged):
        return None, unrun
    records = [*ran.records, *(further.records if further else ()), *odd.records]
    left = unrun_code(kernel.compiled, records)
    if not asks and len(left.unrun) == len(unrun.unrun):
        return None, unrun
    return odd, left


def _reveal(result: CheckResult, key: SeedKey, count: int) -> dict[str, object]:
    """What the answer says about the key, now that the kernel has run."""
    seeds = SeedReveal(commitment=key.commitment, key=key.hex, count=count, replayed=key.replayed)
    warning = "; the inputs are those of a replayed key, so they were known before" if key.replayed else ""
    return {"seeds": seeds, "reason": result.reason + warning}


def _finding(kind: FindingKind, address: int, sentence: str, compiled: Compiled) -> Finding:
    line = next(iter(compiled.lines.lines_near(address)), None) if compiled.lines else None
    return Finding(kind=kind, message=sentence, line=line)


def invalid(
    findings: Sequence[Finding], *, target: str | None = None, verdict: Literal["invalid", "incorrect"] = "invalid"
) -> CheckResult:
    """The verdict on a candidate that cannot be launched, or need not be; the first finding is the reason."""
    first = findings[0]
    at = f"line {first.line}: " if first.line else ""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return CheckResult(
        verdict=verdict, reason=f"{at}{first.message}{more}", findings=list(findings[:_MOST_FINDINGS]), target=target
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


@dataclass(frozen=True)
class _Ran:
    """Cases that ran, and their judgements."""

    plans: tuple[CasePlan, ...]
    reports: tuple[CaseReport, ...]
    judged: tuple[CaseJudgement, ...]
    expected: tuple[dict[str, Array], ...]
    not_cached: tuple[str, ...]

    @property
    def right(self) -> bool:
        return all(each.worst.verdict == "correct" for each in self.judged)

    @property
    def records(self) -> list[DispatchRecord]:
        """Of all launches on the emulator."""
        return [record for report in self.reports for record in report.dispatches]

    @property
    def instructions(self) -> list[int]:
        """Of a plain run of each case, on the emulator."""
        return [executed(report) for report in self.reports]


@dataclass(frozen=True)
class _Kernel:
    """What is checked, and with what."""

    sandbox: Sandbox
    compiled: Compiled
    code_object: bytes
    problem: Problem
    plan: LaunchPlan
    target: Target
    options: CheckOptions
    key: SeedKey
    seeds: Sequence[int]
    cache_dir: Path | None
    odd: bool = False
    """Arrays begin at odd addresses, though the problem promises others."""

    def run(self, cases: Sequence[Case], work: Work) -> _Ran | Finding:
        """Run these cases with all seeds and judge them; a finding where one cannot be launched."""
        kernels, arch, problem, options = kernel_symbols(self.code_object), self.target.arch, self.problem, self.options
        bound = [(case, bind(self.plan, problem, case, kernels=kernels, arch=arch)) for case in cases]
        if refused := next((each.finding for _, each in bound if each.finding), None):
            return refused
        many = f"{counted(len(bound), 'case')} with {counted(len(self.seeds), 'seed')}"
        work.say(f"running {many} on {self.target.name}")
        wanted = [(case, seed, n) for case, _ in bound for n, seed in enumerate(self.seeds)]
        calls = make_calls(self.sandbox, problem, wanted)
        plans = plan_cases(problem, bound, calls, options, shares=communicates(self.compiled.disassembly))
        plans = at_odd_addresses(problem, plans) if self.odd else plans
        job = RunnerJob(
            arch,
            self.code_object,
            tuple(each.run for each in plans),
            "check",
            options.case_timeout_s,
            self.key.derive("layout"),
            options.case_instructions,
        )
        report, expected = _run_both(self.sandbox, self.target, problem, job, plans, self.cache_dir, work)
        conditioning = conditioning_of(self.sandbox, problem, expected.outputs)
        judged = judge_report(problem, self.plan, self.compiled, plans, report, expected.outputs, conditioning)
        why = expected.not_cached
        not_cached = (f"the expected outputs were not cached: {why}",) if why else ()
        return _Ran(tuple(plans), report.cases, tuple(judged), tuple(expected.outputs), not_cached)


def _run_both(
    sandbox: Sandbox,
    target: Target,
    problem: Problem,
    job: RunnerJob,
    plans: Sequence[CasePlan],
    cache_dir: Path | None,
    work: Work,
) -> tuple[RunnerReport, Expected]:
    """The launches and the reference at the same time, in two separate sandboxes."""
    calls = [call for each in plans for call in each.calls]
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="reference") as pool:
        reference = pool.submit(carried(expected_outputs), sandbox, problem, calls, cache_dir=cache_dir)
        try:
            report = run_job(sandbox, target, job, work=work)
        finally:
            expected = reference.result()  # a problem that cannot be used is reported first
    if report.device is None and all(case.status == "crashed" for case in report.cases):
        raise TargetError(f"{target.name} cannot be used: {report.cases[0].message}", hint="`amdkernel doctor`")
    return report, expected


def _scope(ran: _Ran, further: _Ran | None, unrun: UnrunCode) -> tuple[CheckScope, list[str]]:
    """The scope, and what the sentence of the verdict says about it: what was not covered."""
    names = [each.case.name for each in ran.plans]
    orders = any(each.run.repeats > 2 for each in ran.plans)
    all_names = [*names, *(each.case.name for each in (further.plans if further else ()))]
    scope = scope_of(all_names, [*ran.reports, *(further.reports if further else ())]).model_copy(
        update={
            "instructions": unrun.instructions,
            "instructions_not_run": len(unrun.unrun),
            "lines_not_run": [[*lines] for lines in unrun.lines],
            "not_run": unrun.sentence,
            "not_exact": inexact_among(unrun.ran),
        }
    )
    return scope, [unrun.sentence and f"but {unrun.sentence}", gaps_of(names, ran.reports, orders=orders)]
