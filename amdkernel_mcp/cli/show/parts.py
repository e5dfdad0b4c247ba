"""Parts that several answers share: headline, source lines with a marker, findings, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from amdkernel_mcp.counted import counted, rounded
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.job_answer import Artefact, JobAnswer
from amdkernel_mcp.results.quantity import Quantity
from amdkernel_mcp.results.source_line import SourceLine

if TYPE_CHECKING:
    from amdkernel_mcp.results.kernels import Diagnostic, Finding, Span

GOOD = frozenset({"ok", "correct", "faster", "compiled", "profiled", "compiles", "same", "better"})
UNCLEAR = frozenset({"unverified", "inconclusive", "not_measured", "not_emulated", "not_finished"})
_SEVERITY = {"error": "bold red", "warning": "bold yellow", "note": "cyan", "remark": "cyan"}
MOST_FINDINGS = 12


def headline(console: Console, verdict: str, *words: str) -> None:
    """The verdict in its colour, and what it is about."""
    style = verdict_style(verdict)
    mark = {"green": "✓", "yellow": "?"}.get(style, "✗")
    text = Text.assemble((f"{mark} {verdict}", f"bold {style}"))
    for word in filter(None, words):
        text.append("  ").append(word)
    console.print(text)


def print_whole(console: Console, text: Text) -> None:
    """A line with a command or a link: only the terminal wraps it, so that it can be clicked and copied."""
    console.print(text, soft_wrap=True)


def verdict_style(verdict: str) -> str:
    """Green for good news, yellow for what is not decided, red for the rest."""
    return "green" if verdict in GOOD else "yellow" if verdict in UNCLEAR else "red"


def source_line(kernel: KernelSource, line: int | None, column: int | None = None) -> Text | None:
    """The user's line, with its number and a marker below the column; None where there is no such line."""
    lines = kernel.source.splitlines()
    if line is None or isinstance(line, SourceLine) or not 1 <= line <= len(lines):
        return None
    code = lines[line - 1].expandtabs(1)
    number = f"{line:>6} │ "
    if column is None or not 1 <= column <= len(code) + 1:
        column = len(code) - len(code.lstrip()) + 1
        marker = "~" * max(len(code.strip()), 1)
    else:
        marker = "^"
    return Text.assemble(
        (number, "dim"), code, "\n", (f"{'':>6} │ ", "dim"), " " * (column - 1), (marker, "bold magenta")
    )


def diagnostics(console: Console, found: Sequence[Diagnostic], kernel: KernelSource) -> None:
    """The compiler's messages, each with the line it is about."""
    for diagnostic in found:
        place = _place(kernel, diagnostic.line, diagnostic.column)
        style = _SEVERITY[diagnostic.severity]
        console.print(Text.assemble((diagnostic.severity, style), "  ", (place, "bold"), "  ", diagnostic.message))
        _print_line(console, source_line(kernel, diagnostic.line, diagnostic.column))


def findings(console: Console, found: Sequence[Finding], kernel: KernelSource) -> None:
    """What is wrong, each with the line it is about."""
    for finding in found[:MOST_FINDINGS]:
        place = _place(kernel, finding.line, None)
        console.print(Text.assemble((finding.kind, "bold red"), "  ", (place, "bold"), "  ", finding.message))
        _print_line(console, source_line(kernel, finding.line))
    if len(found) > MOST_FINDINGS:
        console.print(Text(f"… and {counted(len(found) - MOST_FINDINGS, 'more finding')} (--json has all)", "dim"))


def footer(console: Console, answer: JobAnswer) -> None:
    """Where the code ran without isolation, and the files with more of the answer."""
    if answer.isolation == "none":
        console.print(Text("isolation: none (the code ran without a container)", "yellow"))
    for note in answer.not_cached:
        console.print(Text(note, "dim"))
    if answer.not_recorded:
        console.print(Text(f"not recorded: {answer.not_recorded}", "yellow"))
    elif answer.attempt:
        console.print(Text(f"attempt {answer.attempt}", "dim"))
    for artefact in answer.artefacts:
        console.print(_artefact(artefact))


def table(*headings: str, numbers: Iterable[int] = ()) -> Table:
    """An empty table; the columns `numbers` are flush right."""
    numbers = set(numbers)
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, heading in enumerate(headings):
        made.add_column(heading, justify="right" if index in numbers else "left", overflow="fold")
    return made


def number(value: float | int | str | None, unit: str = "") -> str:
    """A short figure: whole numbers with separators, others with four digits; `-` for none."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
    text = f"{int(value):,}" if whole else f"{value:,.2f}" if 100 <= abs(value) < 1e6 else f"{value:.4g}"
    return f"{text} {unit}".rstrip()


def quantity(found: Quantity, unit: str = "") -> Text:
    """The figure and where it came from."""
    if found.value is None:
        return Text("not measured", "dim")
    return Text.assemble(number(found.value, unit), "  ", (found.evidence, evidence_style(found.evidence)))


def time(found: Quantity, span: Span | None) -> Text:
    """A time in microseconds and where it came from; a modelled one is its interval."""
    if span is None:
        return quantity(found, "us")
    return Text.assemble(
        f"{rounded(span.low)} to {rounded(span.high)} us  ", (found.evidence, evidence_style(found.evidence))
    )


def evidence_style(evidence: str) -> str:
    """One colour for each way a figure came about."""
    return {"measured": "green", "emulated": "cyan", "modelled": "yellow", "static": "blue"}.get(evidence, "dim")


def _place(kernel: KernelSource, line: int | None, column: int | None) -> str:
    return ":".join(str(part) for part in (kernel.file_name, line, column) if part is not None)


def _print_line(console: Console, text: Text | None) -> None:
    if text is not None:
        console.print(text, no_wrap=True, overflow="ellipsis", crop=True)


def _artefact(artefact: Artefact) -> Text:
    return Text.assemble(
        (f"{artefact.name}: ", "dim"), artefact.path, (f"  {counted(artefact.bytes, 'byte', grouped=True)}", "dim")
    )
