"""Commands about problems: import."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Import problems of other collections.")


@app.callback()
def _group() -> None:
    """Import problems of other collections."""


@app.command("import")
def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="A PyTorch module as in KernelBench, or a task folder of GPU-MODE or AgentKernelArena.",
            show_default=False,
        ),
    ],
    to: Annotated[Path, typer.Option(help="The folder in which the problem folder is made.")] = Path(),
    name: Annotated[
        str | None, typer.Option(help="Name of the problem; default: the file's.", show_default=False)
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(help="Value of a whole number in the file, e.g. --shape dim=512; may be repeated."),
    ] = None,
    inference: Annotated[
        bool, typer.Option("--eval", help="Import the module as in inference: no dropout, stored statistics.")
    ] = False,
    json: Json = False,
) -> int:
    """Make a problem folder from another collection's file.

    The file is run in the sandbox, once. Writes problem.toml, reference.py, which holds the module, and kernel.hip, a
    naive kernel that compiles. The first import installs PyTorch in the sandbox (1 to 3 minutes). Exit code 2: it
    cannot be imported, with the reason.

    Example: amdkernel problem import 23_Softmax.py --to problems
    """
    from amdkernel_mcp.cli.show.problems import show_imported

    sizes = dict(_size(each) for each in shape or [])
    with open_engine() as engine, progress() as report:
        result = engine.imports.problem(path, to=to, name=name, sizes=sizes, inference=inference, work=Work(say=report))
    return finish(result, good=True, json=json, show=lambda console: show_imported(console, result))


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        size = int(value)
    except ValueError:
        size = 0
    if not 1 <= size < 1 << 31:
        raise typer.BadParameter(f"--shape takes NAME=VALUE with a whole number, not {text!r}")
    return name.strip(), size
