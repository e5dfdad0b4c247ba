"""The answer of a benchmark whose kernel could not be timed: why, and what was found."""

from amdkernel_mcp.results.job_answer import Isolation
from amdkernel_mcp.results.kernels import BenchmarkResult, BenchmarkVerdict, CheckResult, Finding, FindingKind

_VERDICT_OF: dict[FindingKind, BenchmarkVerdict] = {
    "launch_plan": "invalid",
    "lds_over_limit": "invalid",
    "timeout": "timeout",
    "not_emulated": "not_emulated",
}


def incorrect(checked: CheckResult, role: str) -> BenchmarkResult:
    """The answer for a kernel that is not correct, and so is not timed. `role`: "this kernel" or "the baseline"."""
    return BenchmarkResult(
        verdict=checked.verdict if checked.verdict != "correct" else None,
        reason=f"not timed, because {role} is {checked.verdict}: {checked.reason}",
        target=checked.target,
        isolation=checked.isolation,
        findings=checked.findings,
        diagnostics=checked.diagnostics,
    )


def stopped(finding: Finding, role: str, target: str, isolation: Isolation) -> BenchmarkResult:
    """The answer for a correct kernel whose timed run did not finish."""
    return BenchmarkResult(
        verdict=_VERDICT_OF.get(finding.kind, "crashed"),
        reason=f"{role} could not be measured: {finding.message}",
        target=target,
        isolation=isolation,
        findings=[finding],
    )
