"""Commands about the emulated GPU."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import USAGE, complain, finish, progress

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Ask what the emulator can run.")


@app.callback()
def group() -> None:
    """Ask what the emulator can run."""


@app.command()
def coverage(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Code objects, offload bundles, programs.", show_default=False)
    ] = None,
    arch: Annotated[
        str | None, typer.Option(help="All instructions of an architecture instead.", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """List the instructions that the emulator does not know.

    Each with its function, its count and its first source line or address. The files are decoded in the sandbox. Exit
    code 1: an instruction is missing; 2: a file has no device code (the others are reported all the same).

    Example: amdkernel emulator coverage a.out kernels.co
    """
    from amdkernel_mcp.cli.show.emulator import show_arch_coverage, show_coverage

    if bool(files) == bool(arch):
        raise typer.BadParameter("give either files or --arch")
    with open_engine() as engine, progress() as report:
        report("decoding")
        if arch:
            known = engine.machine.instructions(arch)
            return finish(
                known, good=known.complete, json=json, show=lambda console: show_arch_coverage(console, known)
            )
        result = engine.machine.coverage(files or [])
    code = finish(result, good=result.complete, json=json, show=lambda console: show_coverage(console, result))
    without = [file for file in result.files if not file.images]
    for file in without:
        complain(file.note or "", file=file.file)
    return USAGE if without else code
