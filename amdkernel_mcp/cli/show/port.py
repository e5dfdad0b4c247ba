"""What `amdkernel port` shows."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import counted
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.port import PortHit, PortResult

MOST_HITS = 40


def show_port(console: Console, result: PortResult, kernel: KernelSource) -> None:
    """Verdict, the lines to look at first, runs, the lint, what is left by hand."""
    how = "warps of 32 kept" if result.mode == "keep_warps" else "translated"
    parts.headline(console, result.verdict or "not_measured", kernel.file_name, how, " ".join(result.archs))
    console.print(Text(result.reason))
    parts.diagnostics(console, result.diagnostics, kernel)
    if result.launch:
        console.print(Text(result.launch, "cyan"), soft_wrap=True)
    parts.findings(console, result.findings, KernelSource("", "candidate"))  # lines of the kernel that was taken
    for run in result.runs:
        console.print(Text(f"wave {run.wave}  {run.target}: {run.ended}, {run.seconds:.1f} s", "dim"))
    for hit in result.suspects:
        line = parts.source_line(kernel, hit.line) if hit.file is None else None
        console.print(
            Text.assemble(("look  ", "bold red"), (_place(hit, kernel), "bold"), f"  {hit.kind}: {hit.sentence}")
        )
        if line is not None:
            console.print(line)
    if result.lint:
        console.print(_lint(result.lint[:MOST_HITS], kernel))
        if len(result.lint) > MOST_HITS:
            console.print(Text(f"… and {counted(len(result.lint) - MOST_HITS, 'more hit')} (--json has all)", "dim"))
    for change in result.changes:
        console.print(Text.assemble(("changed  ", "cyan"), f"{change.what} ({counted(change.times, 'time')})"))
    for what in result.by_hand:
        console.print(Text.assemble(("by hand  ", "yellow"), what))
    if result.diff:
        console.print(Text(result.diff), soft_wrap=True)
    parts.footer(console, result)


def _place(hit: PortHit, kernel: KernelSource) -> str:
    return f"{hit.file or kernel.file_name}:{hit.line}"


def _lint(hits: Sequence[PortHit], kernel: KernelSource) -> object:
    made = parts.table("line", "class", "", "what", "on AMD GPUs")
    for hit in hits:
        made.add_row(
            Text(_place(hit, kernel), "bold"),
            hit.kind,
            Text(hit.level, "red" if hit.level == "sure" else "yellow"),
            hit.sentence,
            hit.instead,
        )
    return made
