"""What `amdkernel problem import` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.problems import ImportedProblem


def show_imported(console: Console, result: ImportedProblem) -> None:
    """The folder, the signature, what was made smaller, and the next command."""
    parts.headline(console, "ok", f"imported  {result.folder}")
    console.print(Text(f"kernel({result.signature})"))
    for case in result.cases:
        console.print(Text(f"case {case}", "dim"))
    if result.scaled:
        sizes = ", ".join(f"{each.name} {each.original} to {each.value}" for each in result.scaled)
        console.print(Text(f"made smaller: {sizes}"))
    for warning in result.warnings:
        console.print(Text(warning, "yellow"))
    parts.print_whole(console, Text(f"next: amdkernel check {result.folder} {result.kernel}", "cyan"))
