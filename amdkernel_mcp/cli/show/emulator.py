"""What `amdkernel emulator coverage` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import counted
from amdkernel_mcp.results.machine import ArchCoverage, CoverageResult, ImageCoverage

MOST_ROWS = 40


def show_coverage(console: Console, result: CoverageResult) -> None:
    """A line for each code object, and below it what is missing."""
    for file in result.files:
        for image in file.images:
            _show_image(console, file.file, image)


def _show_image(console: Console, name: str, image: ImageCoverage) -> None:
    mark = Text("✓", "bold green") if image.complete else Text("✗", "bold red")
    missing = sum(one.count for one in image.missing)
    found = f"{counted(image.instructions, 'instruction')}, {f'{missing} not emulated' if missing else 'all emulated'}"
    console.print(Text.assemble(mark, f" {name} ", (image.arch, "bold"), f": {image.note or found}"))
    if not image.missing:
        return
    table = parts.table("count", "mnemonic", "function", "first at", "as")
    for one in image.missing[:MOST_ROWS]:
        table.add_row(str(one.count), one.mnemonic, one.function or "-", one.line or f"{one.offset:#x}", one.text)
    console.print(table)
    if len(image.missing) > MOST_ROWS:
        console.print(f"and {len(image.missing) - MOST_ROWS} more; --json has all")


def show_arch_coverage(console: Console, result: ArchCoverage) -> None:
    """How many mnemonics there are, and the missing ones with an example each."""
    known = result.instructions - len(result.missing)
    console.print(f"{result.arch}: {known} of {counted(result.instructions, 'instruction')} are emulated")
    if result.missing:
        table = parts.table("missing", "for example")
        for mnemonic, text in result.missing.items():
            table.add_row(mnemonic, text)
        console.print(table)
