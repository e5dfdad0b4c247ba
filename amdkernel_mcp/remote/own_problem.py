"""A problem folder of this machine, stored on the server as one of the user's own."""

from __future__ import annotations

import re
from pathlib import Path

from amdkernel_mcp.errors import InputError, ProblemFileError
from amdkernel_mcp.remote.answers import read_answer
from amdkernel_mcp.remote.calls import Server
from amdkernel_mcp.results.problems import CreatedProblem

PREFIX = "local-"
"""Of the names of such problems: none is a bundled one, or one that the user created by name."""

_LARGEST = 1 << 16  # of each file; what create_problem takes
_LONGEST_NAME = 64


def stored_problem(server: Server, problem: str) -> tuple[str, str | None]:
    """The name by which the server knows `problem`, and of a folder of this machine its hash there.

    A folder is sent each time, in place of what it was before; the server keeps its examination. Raises
    ProblemFileError for a folder that is none, and what the server says against it.
    """
    folder = _folder(problem)
    if folder is None:
        return problem, None
    files = {name: _read(folder / name) for name in ("problem.toml", "reference.py")}
    words = {
        "name": _name(folder),
        "problem_toml": files["problem.toml"],
        "reference_py": files["reference.py"],
    }
    created = read_answer(CreatedProblem, server.call("create_problem", words), server.url)
    return created.name, created.hash


def _folder(problem: str) -> Path | None:
    """The folder that a person means; None for a name, which the server knows or not. As on the own machine."""
    path = Path(problem).expanduser()
    if path.name == "problem.toml":
        path = path.parent
    if path.is_dir():
        return path
    if len(path.parts) == 1 and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", problem):
        return None
    raise ProblemFileError(
        f"{problem[:200]} is neither a problem folder nor the name of a problem",
        file=problem[:200],
        hint="a folder of this machine has problem.toml and reference.py",
    )


def _name(folder: Path) -> str:
    """The folder's name as the server takes it."""
    return (PREFIX + re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()))[:_LONGEST_NAME]


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise InputError(f"{file.name} is larger than {_LARGEST >> 10} KiB", file=str(file))
        return data.decode()
    except OSError as error:
        raise ProblemFileError(f"{file.name} cannot be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise ProblemFileError(f"{file.name} is not UTF-8 text", file=str(file)) from None
