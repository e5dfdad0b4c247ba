"""Commands that write files to start from: examples, new."""

import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.options import problem_names
from amdkernel_mcp.cli.report import GOOD, deliver, note, print_line
from amdkernel_mcp.errors import InputError

_START = "vector_add"  # the problem that a new one is made of


def examples(
    name: Annotated[
        str | None, typer.Argument(help="The example to copy.", show_default=False, autocompletion=problem_names)
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="The new folder; default: one of its name here.", show_default=False)
    ] = None,
) -> int:
    """List the bundled examples, or copy one.

    Each has a problem and kernels: naive, better, and broken ones.

    Example: amdkernel examples row_softmax --to softmax
    """
    from amdkernel_mcp.bundled import folder
    from amdkernel_mcp.problems.problem_file import bundled_problems

    if name is None:
        deliver(lambda: print_line("\n".join(bundled_problems())))
        return GOOD
    if name not in bundled_problems():
        raise InputError(f"there is no example {name!r}", hint="`amdkernel examples` lists them")
    made = _new_folder(to or Path(name))
    shutil.copytree(folder("examples") / name, made, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    note(f"copied to {made}; try: amdkernel check {made} {made}/kernels/naive.hip")
    return GOOD


def new(
    problem: Annotated[Path, typer.Argument(help="The new folder; its name is the problem's.", show_default=False)],
) -> int:
    """Make a problem of your own to fill in.

    Writes problem.toml, reference.py and kernel.hip: the sum of two vectors, which already checks as correct.

    Example: amdkernel new my_problem
    """
    from amdkernel_mcp.bundled import folder

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", problem.name):
        raise InputError(f"{problem.name!r} cannot be the name of a problem", hint="use letters, digits, _ and -")
    made, start = _new_folder(problem), folder("examples") / _START
    for source, name in (("problem.toml",) * 2, ("reference.py",) * 2, ("kernels/naive.hip", "kernel.hip")):
        (made / name).write_text((start / source).read_text(encoding="utf-8"), encoding="utf-8")
    note(f"wrote {made}; change its files, then: amdkernel check {made} {made}/kernel.hip")
    return GOOD


def _new_folder(path: Path) -> Path:
    """The folder, made. Raises InputError where it has files or cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise InputError("the folder has files already", file=str(path))
    except OSError as error:
        raise InputError(f"the folder cannot be made: {error.strerror}", file=str(path)) from None
    return path
