"""What `amdkernel bringup` shows."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.bringup import BringupResult

_MARKS = {"pass": ("✓", "green"), "unknown": ("?", "yellow"), "fail": ("✗", "red")}
_VERDICTS = {"holds": "green", "unknown": "yellow", "broken": "red"}


def show_tried(host: str, results: Sequence[BringupResult]) -> str:
    """Lines about the GPUs of a host that was set up: what its probes found, and what to do where they failed."""
    if not results:
        return f"{host} has no AMD GPU that its driver lists: `amdkernel doctor --host {host}` says why"
    lines = []
    for result in results:
        for probe in result.probes:
            lines.append(f"{_MARKS[probe.status][0]} {result.target} {probe.id}: {probe.found}")
            lines += [f"  → {probe.next}"] if probe.next and probe.status != "pass" else []
    return "\n".join(lines)


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
    console.print(Text(f"\n{result.target}, in {result.seconds:.0f} s: ").append(Text(", ").join(verdicts)))
    if result.archive:
        parts.print_whole(console, Text(f"archive, without names, addresses and serial numbers: {result.archive}"))
