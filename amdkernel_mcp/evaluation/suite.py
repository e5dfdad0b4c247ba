"""A folder of candidates → problems, baselines and candidates.

Each sub-folder is a problem: its own where it has a problem.toml, else the known problem of that name. Kernel files
(.hip, Triton's .py, .s, .co, .hsaco) and programs with host code (.cpp) lie in it or in its folder `kernels`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.kernel_source import is_kernel_file

BASELINES = ("baseline.hip", "naive.hip")
"""Or with the ending of another language."""
_STEMS = tuple(name.partition(".")[0] for name in BASELINES)
MOST_CANDIDATES = 10_000
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,99}")


@dataclass(frozen=True)
class Task:
    """One problem of a suite with its candidates. `problem`: a folder, or the name of a known problem."""

    name: str
    problem: str
    baseline: Path
    candidates: tuple[Path, ...]
    programs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Suite:
    """The problems of a folder by name, and what of it is not judged."""

    folder: Path
    tasks: tuple[Task, ...]
    not_judged: tuple[str, ...]


def read_suite(folder: Path, bundled: Path) -> Suite:
    """The suite in `folder`; `bundled`: the folder of the known problems. Raises InputError: nothing to judge."""
    if not folder.is_dir():
        raise InputError("there is no such folder", file=str(folder))
    tasks, rest = [], []
    for path in sorted(folder.iterdir()):
        if not path.is_dir() or path.name.startswith("."):
            continue
        found = _task(path, bundled)
        if isinstance(found, Task):
            tasks.append(found)
        else:
            rest.append(f"{path.name}: {found}")
    if not tasks:
        raise InputError(
            "there is no problem in this folder" + (f" ({rest[0]})" if rest else ""),
            file=str(folder),
            hint="a suite has a folder for each problem, with kernel files in it: docs/evaluation.md",
        )
    if sum(len(task.candidates) + len(task.programs) for task in tasks) > MOST_CANDIDATES:
        raise InputError(f"a suite may have {MOST_CANDIDATES:,} candidates at most", file=str(folder))
    return Suite(folder, tuple(tasks), tuple(rest))


def _task(folder: Path, bundled: Path) -> Task | str:
    """The task of a sub-folder, or why there is none."""
    if not _NAME.fullmatch(folder.name):
        return "a problem's name has letters, digits, `_`, `-` and `.`"
    own = (folder / "problem.toml").is_file()
    if not own and not (bundled / folder.name / "problem.toml").is_file():
        return "it has no problem.toml, and no bundled problem has this name"
    kernels = list(_kernels(folder))
    known = [] if own else list(_kernels(bundled / folder.name))
    baseline = next((file for stem in _STEMS for file in (*kernels, *known) if file.stem == stem), None)
    if baseline is None:
        return f"it has no kernel to compare with ({' or '.join(BASELINES)})"
    candidates = tuple(file for file in kernels if file.stem not in _STEMS)
    programs = tuple(_files(folder, lambda file: file.suffix == ".cpp"))
    return Task(folder.name, str(folder if own else folder.name), baseline, candidates, programs)


def _kernels(folder: Path) -> Iterator[Path]:
    return _files(folder, is_kernel_file)


def _files(folder: Path, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    for place in (folder, folder / "kernels"):
        yield from sorted(file for file in place.glob("[!.]*") if file.is_file() and wanted(file))
