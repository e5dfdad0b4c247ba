"""Commands about this machine: targets, doctor, setup."""

from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import finish, progress


def targets(json: Json = False) -> int:
    """List where kernels can run.

    Example: amdkernel targets
    """
    from amdkernel_mcp.cli.show.machine import show_targets

    with open_engine() as engine:
        result = engine.machine.targets()
    return finish(result, good=True, json=json, show=lambda console: show_targets(console, result))


def doctor(json: Json = False) -> int:
    """Report what is missing and the command that fixes it.

    Exit code 1: something is missing.

    Example: amdkernel doctor
    """
    from amdkernel_mcp.cli.show.machine import show_doctor

    with open_engine() as engine, progress() as report:
        report("checking this machine")
        result = engine.machine.doctor()
    return finish(result, good=result.ok, json=json, show=lambda console: show_doctor(console, result))


def setup(
    host: Annotated[
        str | None, typer.Option(help="Set up this machine of the setting `hosts` instead.", show_default=False)
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove sandbox images of other versions.")] = False,
) -> int:
    """Install the sandbox and the documentation index.

    The HIP compiler, the sandbox image, the emulator and the documentation index. Parts that
    exist are kept, so running it again is quick.

    Example: amdkernel setup
    """
    with open_engine() as engine, progress(lines=True) as report:
        engine.machine.setup(report, host=host, prune=prune)
        engine.docs.remake(report)
    return 0
