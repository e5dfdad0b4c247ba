"""What `amdkernel check` shows."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.host_programs import ProgramCheckResult
from amdkernel_mcp.results.kernels import CaseResult, CheckResult

MOST_CASES = 16


def show_check(console: Console, result: CheckResult, kernel: KernelSource) -> None:
    """Verdict, the worst element, findings with their lines, then the cases."""
    verdict: str = result.verdict or "not_measured"
    if isinstance(result, ProgramCheckResult) and verdict == "correct":
        verdict = "unverified"  # a green mark is for what was verified
    where = f"{kernel.file_name} on {result.target} ({result.evidence})" if result.target else kernel.file_name
    parts.headline(console, verdict, where, f"{result.seconds:.1f} s" if result.seconds else "")
    if not any(finding.message in result.reason for finding in result.findings):  # else shown below, with the line
        console.print(Text(result.reason))
    worst = next((case for case in result.cases if case.worst), None)
    if worst and worst.worst:
        element, wrong = worst.worst, worst.violations
        index = ", ".join(str(i) for i in element.index)
        console.print(
            Text.assemble(
                ("worst  ", "bold red"),
                (f"{element.argument}[{index}]", "bold"),
                f"  got {parts.number(element.got)}, expected {parts.number(element.expected)}",
                (f"  ({worst.case}; {parts.number(wrong)} element{'s' * (wrong != 1)} outside the tolerance)", "dim"),
            )
        )
    parts.diagnostics(console, result.diagnostics, kernel)
    shown = [finding for finding in result.findings if not (finding.kind == "compile_error" and result.diagnostics)]
    parts.findings(console, shown, kernel)
    for note in result.notes:
        console.print(Text.assemble(("note  ", "cyan"), note))
    if result.cases:
        console.print(_cases(result.cases))
    if result.coverage:
        console.print(Text(result.coverage.note, "dim"))
        for each in result.coverage.not_exact:
            console.print(Text(f"not bit for bit: {each}", "dim"))
    parts.footer(console, result)


def _cases(cases: list[CaseResult]) -> Table:
    table = parts.table("case", "verdict", "max abs err", "max rel err", "outside", "", numbers=(2, 3, 4))
    shown = sorted(cases, key=lambda case: case.verdict == "correct")[:MOST_CASES]
    for case in [case for case in cases if case in shown]:
        style = "green" if case.verdict == "correct" else "red"
        table.add_row(
            case.case,
            Text(case.verdict, style),
            parts.number(case.max_abs_err),
            parts.number(case.max_rel_err),
            parts.number(case.violations),
            Text("drawn" if case.drawn else "held out" if case.held_out else "", "dim"),
        )
    if len(cases) > len(shown):
        table.add_row(Text(f"… and {len(cases) - len(shown)} more", "dim"))
    return table
