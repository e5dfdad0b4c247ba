"""What `amdkernel bringup` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.bringup import BringupResult

_MARKS = {"pass": ("✓", "green"), "unknown": ("?", "yellow"), "fail": ("✗", "red")}
_VERDICTS = {"holds": "green", "unknown": "yellow", "broken": "red"}


def show_bringup(console: Console, result: BringupResult) -> None:
    """A row for each probe, the next commands, and a verdict for each promise."""
    table = parts.table("", "probe", "found")
    for probe in result.probes:
        mark, style = _MARKS[probe.status]
        table.add_row(Text(mark, f"bold {style}"), probe.id, Text(probe.found, "" if probe.status == "pass" else style))
    console.print(table)
    for probe in result.probes:
        if probe.next and probe.status != "pass":
            parts.print_whole(console, Text.assemble(("→ ", "bold"), f"{probe.id}: ", (probe.next, "bold cyan")))
    verdicts = [
        Text.assemble(f"{name} ", (status, f"bold {_VERDICTS[status]}")) for name, status in result.promises.items()
    ]
    console.print(Text(f"\n{result.target}: ").append(Text(", ").join(verdicts)))
    if result.archive:
        parts.print_whole(console, Text(f"archive, without names, addresses and serial numbers: {result.archive}"))
