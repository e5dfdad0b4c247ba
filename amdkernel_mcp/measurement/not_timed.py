"""The answer of a benchmark whose kernel could not be timed: why, and what was found."""

from collections.abc import Sequence

from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.measurement.timed_case import name_of_cases
from amdkernel_mcp.problems.problem import Case
from amdkernel_mcp.results.job_answer import Isolation
from amdkernel_mcp.results.kernels import (
    BenchmarkResult,
    BenchmarkVerdict,
    CheckResult,
    CheckScope,
    Finding,
    FindingKind,
    RanCode,
)

_VERDICT_OF: dict[FindingKind, BenchmarkVerdict] = {
    "launch_plan": "invalid",
    "lds_over_limit": "invalid",
    "timeout": "timeout",
    "deadlock": "deadlock",
    "not_emulated": "not_emulated",
}

BASELINE = "the baseline"


def name_baseline(answer: BenchmarkResult, file: str) -> BenchmarkResult:
    """The answer, with the baseline's file where the fault is the baseline's."""
    if answer.at_fault is None:
        return answer
    return answer.model_copy(
        update={"at_fault": file, "reason": answer.reason.replace(BASELINE, f"{BASELINE} {file}", 1)}
    )


def _at_fault(role: str) -> str | None:
    return "baseline.hip" if role == BASELINE else None


def _verdict(found: BenchmarkVerdict, role: str) -> BenchmarkVerdict:
    """The verdict is about the kernel: one whose baseline is wrong is not timed, and is not at fault."""
    return "not_measured" if role == BASELINE else found


def incorrect(checked: CheckResult, role: str) -> BenchmarkResult:
    """The answer for a kernel that is not correct, and so is not timed. `role`: "this kernel" or "the baseline"."""
    found = checked.verdict
    return BenchmarkResult(
        verdict=None if found is None or found == "correct" else _verdict(found, role),
        reason=f"not timed, because {role} is {checked.verdict}: {checked.reason}",
        target=checked.target,
        isolation=checked.isolation,
        at_fault=_at_fault(role),
        findings=checked.findings,
        diagnostics=checked.diagnostics,
    )


def wrong_when_measured(measured: Measured, role: str, target: str, isolation: Isolation) -> BenchmarkResult:
    """The answer for a kernel that passed its check and whose outputs are wrong in the measured run."""
    return BenchmarkResult(
        verdict=_verdict("incorrect", role),
        reason=f"no time counts: {role} is right in its check and wrong while it is measured: {measured.wrong_outputs}",
        target=target,
        isolation=isolation,
        flags=["wrong_when_measured"],
        at_fault=_at_fault(role),
        findings=list(measured.findings),
    )


def about_case(answer: BenchmarkResult, case: str, measured: Measured | None) -> BenchmarkResult:
    """The answer with the case that was timed. measured: of the candidate; None on a GPU, where nothing is sampled."""
    sample = f" ({_sample(measured)})" if measured and measured.sampled else ""
    return answer.model_copy(update={"case": case, "reason": f"{answer.reason}; case {case}{sample}"})


def with_coverage(answer: BenchmarkResult, scope: CheckScope | None) -> BenchmarkResult:
    """The answer with the code that the check of the kernel did not run, which is named in the sentence."""
    if scope is None:
        return answer
    ran = RanCode(**{name: getattr(scope, name) for name in RanCode.model_fields})
    said = f"; in its check {ran.not_run}" if ran.not_run else ""
    return answer.model_copy(update={"coverage": ran, "reason": answer.reason + said})


def _sample(measured: Measured) -> str:
    dispatches = [dispatch for run in measured.runs for dispatch in run.dispatches]
    ran = sum(dispatch.sample.ran if dispatch.sample else dispatch.workgroups for dispatch in dispatches)
    judged = f"{measured.judged_elements:,} elements that they wrote are right" if measured.judged_elements else ""
    of = sum(dispatch.workgroups for dispatch in dispatches)
    return f"{ran:,} of its {of:,} workgroups ran{'; the ' if judged else ''}{judged}"


def too_large(answer: BenchmarkResult, cases: Sequence[Case]) -> BenchmarkResult:
    """The answer for a correct kernel whose timed case is more than the emulator does: that says nothing of it."""
    name = name_of_cases(cases)
    reason = f"{answer.reason}; case {name} is too large to be emulated: `case` chooses a smaller one"
    return answer.model_copy(update={"verdict": "not_measured", "case": name, "reason": reason})


def stopped(finding: Finding, role: str, target: str, isolation: Isolation) -> BenchmarkResult:
    """The answer for a correct kernel whose timed run did not finish."""
    return BenchmarkResult(
        verdict=_verdict(_VERDICT_OF.get(finding.kind, "crashed"), role),
        reason=f"{role} could not be measured: {finding.message}",
        target=target,
        isolation=isolation,
        at_fault=_at_fault(role),
        findings=[finding],
    )
