"""The command about code objects of any origin."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import USAGE, complain, finish, progress
from amdkernel_mcp.work import Work


def inspect(
    file: Annotated[Path, typer.Argument(help="Code object, offload bundle or program.", show_default=False)],
    kernel: Annotated[str | None, typer.Option(help="Show this kernel alone.", show_default=False)] = None,
    json: Json = False,
) -> int:
    """Show what is in a code object, whoever made it.

    For each kernel: registers, LDS, scratch, arguments, workgroup limits, occupancy, the instruction mix, and what the
    emulator lacks. The file is decoded in the sandbox, nothing of it runs. Exit code 2: a part of it is damaged (the
    rest is shown all the same).

    Example: amdkernel inspect softmax.hsaco --kernel softmax
    """
    from amdkernel_mcp.cli.show.inspection import show_inspection

    with open_engine() as engine, progress() as report:
        result = engine.inspect(file, kernel=kernel, work=Work(say=report))
    code = finish(result, good=True, json=json, show=lambda console: show_inspection(console, result))
    damaged = [found for found in result.objects if found.damaged]
    for found in damaged:
        entry = f"{found.bundle_entry}: " if found.bundle_entry else ""
        complain(f"{entry}{found.damaged}", file=result.file)
    return USAGE if damaged else code
