"""What `amdkernel targets` and `amdkernel doctor` show."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.machine import DoctorResult, TargetsResult

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "missing": ("✗", "red")}


def show_targets(console: Console, result: TargetsResult) -> None:
    """One row for each target; the default one is marked."""
    table = parts.table("", "target", "GPU", "arch", "ROCm", "")
    table.columns[1].no_wrap = True
    for target in result.targets:
        mark = Text("✓", "green") if target.ready else Text("✗", "red")
        notes = ["default" if target.default else "", target.note if target.ready else ""]
        note = " · ".join(filter(None, notes))
        kind = " (emulated)" if target.kind == "emulator" else ""
        name = Text(target.name, "bold")
        table.add_row(mark, name, f"{target.gpu}{kind}", target.arch, target.rocm or "-", Text(note, "dim"))
    console.print(table)
    for why in dict.fromkeys(target.note for target in result.targets if not target.ready):
        parts.print_whole(console, Text(f"✗ {why or 'not ready'}", "red"))


def show_doctor(console: Console, result: DoctorResult) -> None:
    """What this machine has, and what else is possible without it."""
    show_checks(console, result)
    if not result.ok:
        drive = "amdkernel install CLIENT --url URL"
        console.print(Text(f"\nTo use a team's server from here, none of this is needed: {drive}", "dim"))


def show_checks(console: Console, result: DoctorResult) -> None:
    """One row for each part, and below them the commands that fix what is missing."""
    table = parts.table("", "what", "found")
    for check in result.checks:
        mark, style = _MARKS[check.status]
        table.add_row(Text(mark, f"bold {style}"), check.name, Text(check.found, "" if check.status == "ok" else style))
    console.print(table)
    remedies: dict[str, list[str]] = {}
    for check in result.checks:
        if check.remedy and check.status != "ok":
            remedies.setdefault(check.remedy, []).append(check.name)
    for remedy, names in remedies.items():
        text = Text.assemble(("\n→ ", "bold"), f"{', '.join(names)}: ", (remedy, "bold cyan"))
        parts.print_whole(console, text)
    if result.ok:
        console.print(Text("\nready", "bold green"))
