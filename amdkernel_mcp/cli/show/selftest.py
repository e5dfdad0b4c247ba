"""What `amdkernel selftest` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.selftest import NOT_RUN, SelftestResult


def show_selftest(console: Console, result: SelftestResult) -> None:
    """One row for each kernel; below, why the wrong ones got their verdict."""
    table = parts.table("", "kernel", "", "verdict", "")
    for row in result.rows:
        mark, style = ("✓", "green") if row.ok else ("✗", "red")
        if row.got == NOT_RUN:
            mark, style = "-", "yellow"
        wrong = "" if row.ok else f"not {' or '.join(row.expected)}"
        table.add_row(Text(mark, f"bold {style}"), row.name, Text(row.verb, "dim"), row.got, Text(wrong, style))
    console.print(table)
    for row in result.rows:
        if not row.ok or row.got == NOT_RUN:
            console.print(Text.assemble((f"{row.name}: ", "bold red"), row.reason))
    ran = [row for row in result.rows if row.got != NOT_RUN]
    said = (
        f"{sum(row.ok for row in ran)} of {len(ran)} verdicts are right on {result.target}, in {result.seconds:.0f} s"
    )
    console.print(Text(said, "bold green" if result.ok else "bold red"))
