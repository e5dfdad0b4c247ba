"""From a file of another collection to a problem folder: inspect, draft, examine, draft a kernel, compile it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.checking.problem_probe import examine_problem
from amdkernel_mcp.errors import ImportRefused, InputError, ProblemFileError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.importing.draft import Draft, draft
from amdkernel_mcp.importing.inspect_module import ModuleFile, inspect_module
from amdkernel_mcp.importing.inspection import Inspection
from amdkernel_mcp.importing.naive_kernel import naive_kernel
from amdkernel_mcp.importing.skeleton import skeleton
from amdkernel_mcp.importing.task_folders import is_task, plain_stem, without
from amdkernel_mcp.kernel_source import EXTENSION, is_extension
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.problems.size_limits import SizeLimits
from amdkernel_mcp.work import Work

KERNEL = "kernel.hip"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WEAK = ("copies", "only writes")


@dataclass(frozen=True)
class Means:
    """What an import needs of the machine. `compiles`: None, or why a kernel text does not compile."""

    sandbox: Sandbox
    limits: SizeLimits
    cache_dir: Path
    install_torch: Callable[[], object]
    compiles: Callable[[str], str | None]
    work: Work


@dataclass(frozen=True)
class Imported:
    """The texts of a new problem and its kernel. `whole`: the kernel computes the outputs; it is not a skeleton."""

    problem: Problem
    draft: Draft
    kernel: str
    whole: bool
    changed: Mapping[str, tuple[int, int]]  # a size there and here
    notes: tuple[str, ...]


def problem_name(path: Path, name: str | None) -> str:
    """The name of the new problem: the user's, or one made of the file's. Raises InputError."""
    if name is None:
        name = plain_stem(path)
    if not _NAME.fullmatch(name):
        raise InputError(f"{name[:80]!r} cannot be the name of a problem", hint="use a-z, 0-9, _ and -, at most 64")
    return name


def import_module(module: ModuleFile, name: str, sizes: Mapping[str, int], means: Means) -> Imported:
    """The problem of a PyTorch module. Raises ImportRefused with the reason; ProblemFileError, InfrastructureError."""
    if is_extension(module.text):
        raise ImportRefused(f"module: {EXTENSION}", file=module.file)
    means.work.say(f"running {Path(module.file).name} in the sandbox")
    found = inspect_module(means.sandbox, module, sizes)
    if found.unused and is_task(module):
        module = without(module, found.unused)
        found = inspect_module(means.sandbox, module, sizes)
    means.work.say("examining the problem")
    problem, drafted, notes = _examined(module, found, name, means)
    means.work.say("compiling a naive kernel")
    kernel, whole, why = _kernel(problem, found, means)
    changed = {each.name: (each.original, each.value) for each in found.changed}
    return Imported(problem, drafted, kernel, whole, changed, (*found.notes, *notes, *([why] if why else [])))


def write_folder(imported: Imported, folder: Path) -> None:
    """Write the problem's files. Raises InputError where the folder holds something or cannot be written."""
    texts = {
        "problem.toml": imported.draft.declaration,
        "reference.py": imported.draft.reference,
        KERNEL: imported.kernel,
    }
    refuse_used(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def refuse_used(folder: Path) -> None:
    """Raises InputError where the folder holds something already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists already", hint="--name or --to chooses another place")


def _examined(module: ModuleFile, found: Inspection, name: str, means: Means) -> tuple[Problem, Draft, list[str]]:
    """The problem with the module's own inputs; with normal numbers where those would prove nothing."""
    attempts: list[tuple[Problem, Draft, list[str]]] = []
    refused = None
    for normal in (False, True):
        drafted = draft(module, found, normal=normal)
        if normal and drafted.declaration == attempts[0][1].declaration if attempts else False:
            break
        try:
            problem = _load(drafted, name, means.limits)
            warnings = list(examine_problem(means.sandbox, problem, cache_dir=means.cache_dir))
        except ProblemFileError as error:
            refused = refused or error
            continue
        if normal:
            warnings.append(
                "inputs are normal here: with numbers from 0 to 1, as the module draws them, wrong kernels pass"
            )
        attempts.append((problem, drafted, warnings))
        if not any(word in warning for warning in warnings for word in _WEAK):
            return attempts[-1]
    if attempts:
        return attempts[0]
    assert refused is not None
    raise ImportRefused(f"proves nothing: {refused.message}", file=module.file)


def _load(drafted: Draft, name: str, limits: SizeLimits) -> Problem:
    with tempfile.TemporaryDirectory(prefix="amdkernel-import-") as temporary:
        folder = Path(temporary) / name
        folder.mkdir()
        (folder / "problem.toml").write_text(drafted.declaration, encoding="utf-8")
        (folder / "reference.py").write_text(drafted.reference, encoding="utf-8")
        return load_problem(folder, limits)


def _kernel(problem: Problem, found: Inspection, means: Means) -> tuple[str, bool, str | None]:
    """A kernel that compiles, whether it is whole, and why it is not."""
    text, why = naive_kernel(problem, found)
    if text is not None:
        failed = means.compiles(text)
        if failed is None:
            return text, True, None
        why = f"the drafted kernel does not compile: {failed}"
    text = skeleton(problem)
    if failed := means.compiles(text):
        raise ImportRefused(f"kernel: the skeleton does not compile: {failed}")
    return text, False, f"the kernel is a skeleton: {why}"
