"""`amdkernel bringup`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import finish, progress


def bringup(
    target: Annotated[str, typer.Argument(help="A GPU, such as gpu1:0 or local:0.")] = "local:0",
    hang: Annotated[bool, typer.Option("--hang", help="Also start a kernel that never ends.")] = False,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Also run the emulator's tests of instructions; in a checkout.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run this probe alone; can be given more than once.")
    ] = None,
    watch: Annotated[float, typer.Option(help="Seconds for which the idle GPU is watched.", min=0, max=600)] = 60.0,
    within: Annotated[
        float, typer.Option(help="Seconds for all probes; later ones are not run. Not of --instructions.", min=0)
    ] = 570.0,
    to: Annotated[Path, typer.Option(help="Folder for the archive.")] = Path(),
    json: Json = False,
) -> int:
    """Find out what a machine with an AMD GPU is and does.

    Probes in order, from ssh to counters; one that fails stops no other, and each names the next command. Writes one
    archive without names, addresses and serial numbers, which is a test fixture as well. Small kernels of ours run on
    the GPU, one with a memory fault; the attempts are in your history.

    Exit code 1: a probe failed.

    Example: amdkernel bringup gpu1:0
    """
    from amdkernel_mcp.bringup.run import bringup as run
    from amdkernel_mcp.cli.show.bringup import show_bringup
    from amdkernel_mcp.config import load_settings

    with progress() as report:
        result = run(
            load_settings(),
            target,
            hang=hang,
            instructions=instructions,
            only=only or (),
            watch_s=watch,
            within_s=within,
            archive_in=to,
            on_progress=report,
        )
    return finish(result, good=result.ok, json=json, show=lambda console: show_bringup(console, result))
