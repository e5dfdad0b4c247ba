"""The files of this machine that a call names, sent as text to a server that cannot read them.

A model chooses the path, and the text leaves this machine. So only source files are sent: a path to a key or a
configuration is refused, also through a link.
"""

from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.kernel_source import is_python_kernel, read_kernel

SENT_AS = {"path": "source", "baseline_path": "baseline_source"}
"""Parameters of tools that name a file, and the parameters that take its text instead."""

SUFFIXES = (".hip", ".cpp", ".cc", ".cxx", ".c", ".cu", ".h", ".hpp", ".hh", ".cuh", ".py", ".s", ".co", ".hsaco")


def with_text(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with the text of each file in place of its path.

    Raises InputError for a file that cannot be read or is not sent, and for a problem that is a folder.
    """
    sent = {name: value for name, value in arguments.items() if name not in SENT_AS}
    for name, text in SENT_AS.items():
        path = arguments.get(name)
        if path is None:
            continue
        if sent.get(text) is not None:
            raise InputError(f"give either `{name}` or `{text}`, not both")
        sent[text] = _text_of(path, name)
    _refuse_folder(sent.get("problem"))
    return sent


def _text_of(path: object, name: str) -> str:
    if not isinstance(path, str):
        raise InputError(f"`{name}` must be a string")
    try:
        file = Path(path).expanduser()
        real = file.resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links, no home, a zero byte
        raise InputError("there is no such file", file=path[:200]) from None
    if file.suffix.lower() not in SUFFIXES or real.suffix.lower() not in SUFFIXES:
        raise InputError(
            "only source files are sent to the server",
            file=path[:200],
            hint=f"a kernel's name ends with one of {' '.join(SUFFIXES)}",
        )
    source = read_kernel(real).source
    if real.suffix.lower() == ".py" and not is_python_kernel(source):
        raise InputError("of Python files, only kernels in Triton and FlyDSL are sent to the server", file=path[:200])
    return source


def _refuse_folder(problem: object) -> None:
    if isinstance(problem, str) and (problem.startswith(("~", ".")) or "/" in problem or "\\" in problem):
        raise InputError(
            "the server cannot read a problem folder of this machine",
            file=problem[:200],
            hint="create_problem with the texts of problem.toml and reference.py stores it there; then give its name",
        )
