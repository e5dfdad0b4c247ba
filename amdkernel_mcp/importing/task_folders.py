"""The files and folders of other collections as the text of one PyTorch module.

A collection is a `Collection`: ours are below, and other packages may add theirs."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from amdkernel_mcp.errors import ImportRefused, InputError
from amdkernel_mcp.extensions import installed
from amdkernel_mcp.importing.inspect_module import ModuleFile

_LARGEST = 48 << 10
_LARGEST_YAML = 64 << 10
_MOST_TESTS = 8
_Case = dict[str, Any]


@runtime_checkable
class Collection(Protocol):
    """Problems of one kind that can be imported."""

    name: str

    def holds(self, path: Path) -> bool:
        """Whether this file or folder is one of its problems. It opens nothing large."""
        ...

    def read(self, path: Path, mode: str) -> ModuleFile:
        """Its problem as a module, whose text is not run here. Raises InputError, ImportRefused with the reason."""
        ...


class GpuMode:
    """Implements `Collection`: a folder with task.yml, reference.py and perhaps other files."""

    name = "GPU-MODE"

    def holds(self, path: Path) -> bool:
        """See `Collection`."""
        return self._task(path).is_file()

    def read(self, path: Path, mode: str) -> ModuleFile:
        """See `Collection`."""
        return _gpu_mode(path, _yaml(self._task(path)), mode)

    def _task(self, path: Path) -> Path:
        return next((file for file in (path / "task.yml", path / "task.yaml") if file.is_file()), path / "task.yml")


class AgentKernelArena:
    """Implements `Collection`: a folder with config.yaml and the module of a PyTorch task."""

    name = "AgentKernelArena"

    def holds(self, path: Path) -> bool:
        """See `Collection`."""
        return (path / "config.yaml").is_file()

    def read(self, path: Path, mode: str) -> ModuleFile:
        """See `Collection`."""
        return _arena(path, mode)


COLLECTIONS: tuple[Collection, ...] = (GpuMode(), AgentKernelArena())


def read_source(path: Path, mode: str) -> ModuleFile:
    """The module that a file or a folder of another collection holds; a file that none claims is a PyTorch module.

    Raises InputError, ImportRefused; InfrastructureError for a package that cannot be loaded.
    """
    others = installed("collections", Collection)  # type: ignore[type-abstract]
    for collection in (*COLLECTIONS, *others):
        if collection.holds(path):
            return collection.read(path, mode)
    if not path.is_dir():
        return ModuleFile(_text(path, _LARGEST), str(path), mode)
    raise InputError(
        f"{path} is not a task folder: it has neither task.yml nor config.yaml",
        hint="KernelBench: the module's file; GPU-MODE: the folder with task.yml; AgentKernelArena: with config.yaml",
    )


# ---- GPU-MODE ----


def _gpu_mode(folder: Path, task: Mapping[str, Any], mode: str) -> ModuleFile:
    reference = _text(folder / "reference.py", _LARGEST)
    tree = _parsed(reference, folder / "reference.py")
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    for name in ("generate_input", "ref_kernel"):
        if name not in functions:
            raise ImportRefused(f"form: reference.py defines no {name}", file=str(folder / "reference.py"))
    cases = _cases(task, folder)
    names = _names(functions["ref_kernel"])
    taken = _defined(tree)
    first = cases[0]
    variables = {key: key if key not in taken else f"{key}_of_task" for key in first}
    future = [line for line in reference.splitlines() if line.startswith("from __future__ import")]
    text = "\n".join(
        [
            *future,
            "import task_folder",
            "",
            "task_folder.provide(",
            f"    {_others(folder, task)!r}",
            ")",
            *(line for line in reference.splitlines() if line not in future),
            "",
            "",
            "# The smallest test of task.yml.",
            *(f"{variables[key]} = {value!r}" for key, value in first.items()),
            "",
            "",
            "def _task_case(seed):",
            f"    return generate_input({', '.join([*(f'{key}={variables[key]}' for key in first), 'seed=seed'])})",
            "",
            "",
            f"get_inputs, Model = task_folder.as_module(_task_case, ref_kernel, {names!r})",
            "",
        ]
    )
    tests = [
        {variables[key]: value for key, value in case.items() if isinstance(value, int) and not isinstance(value, bool)}
        for case in cases[1:]
        if set(case) == set(first)
        and all(value == first[key] for key, value in case.items() if not isinstance(value, int))
    ]
    return ModuleFile(text, str(folder), mode, tuple(tests))


def _defined(tree: ast.Module) -> set[str]:
    """The names that the statements at the top of a file define."""
    found: set[str] = set()
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in each.names}
        else:
            found |= {name.id for name in ast.walk(each) if isinstance(name, ast.Name)}
    return found


def without(module: ModuleFile, unused: Sequence[int]) -> ModuleFile:
    """A task whose data holds tensors that no output depends on, such as an output's memory, without these."""
    last = "get_inputs, Model = task_folder.as_module("
    head, _, tail = module.text.rpartition(last)
    return replace(module, text=f"{head}{last}{tail.rstrip().removesuffix(')')}, {tuple(unused)!r})\n")


def is_task(module: ModuleFile) -> bool:
    """Whether the text was made from a task folder."""
    return "\nget_inputs, Model = task_folder.as_module(" in module.text


def _cases(task: Mapping[str, Any], folder: Path) -> list[_Case]:
    """The tests' keyword arguments without their seeds, the smallest first. Raises ImportRefused."""
    found: list[_Case] = []
    for key in ("tests", "benchmarks"):
        listed = task.get(key) or []
        if not isinstance(listed, list):
            raise ImportRefused(f"form: `{key}` of task.yml is not a list", file=str(folder))
        for each in listed:
            case = {name: value for name, value in each.items() if name != "seed"} if isinstance(each, dict) else None
            if case is None or not all(_is_usable(name, value) for name, value in case.items()):
                raise ImportRefused(f"form: `{key}` of task.yml must list keyword arguments", file=str(folder))
            if case not in found:
                found.append(case)
        if found:
            break
    if not found:
        raise ImportRefused("form: task.yml lists no tests", file=str(folder))
    return sorted(found, key=_volume)[:_MOST_TESTS]


def _is_usable(name: object, value: object) -> bool:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or not name.isascii():
        return False
    if isinstance(value, list | tuple):
        return all(isinstance(each, int | float | str | bool) for each in value) and len(value) <= 64
    return value is None or isinstance(value, int | float | str | bool)


def _volume(case: _Case) -> float:
    volume = 1.0
    for value in case.values():
        volume *= max(1, value) if isinstance(value, int) else 1
    return volume


def _names(function: ast.FunctionDef) -> list[str]:
    """The names that ref_kernel gives the parts of its data; numbered ones where it does not say."""
    parameter = function.args.args[0].arg if function.args.args else "data"
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name) or node.value.id != parameter:
            continue
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts):
            return [each.id for each in target.elts if isinstance(each, ast.Name)]
    return [parameter, *(f"{parameter}_{n}" for n in range(2, 33))]


def _others(folder: Path, task: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the task's other Python files that reference.py may import, by module name."""
    listed = task.get("files") or []
    names = [each.get("source") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    found: dict[str, str] = {}
    for name in dict.fromkeys(
        [*(f"{stem}.py" for stem in ("task", "utils")), *(name for name in names if isinstance(name, str))]
    ):
        stem = Path(name).stem
        if not name.endswith(".py") or stem in ("reference", "submission", "eval") or not stem.isidentifier():
            continue
        for place in (folder / name, folder / Path(name).name, folder.parent / Path(name).name):
            inside = (
                place.resolve().is_relative_to(folder.resolve()) or place.resolve().parent == folder.resolve().parent
            )
            if inside and place.is_file() and stem not in found:
                found[stem] = _text(place, _LARGEST // 2)
    return found


# ---- AgentKernelArena ----


def _arena(folder: Path, mode: str) -> ModuleFile:
    config = _yaml(folder / "config.yaml")
    modules = sorted((folder / "pytorch_code_module").glob("*.py"))
    if len(modules) != 1:
        raise ImportRefused(
            f"form: a task of the type {str(config.get('task_type'))[:40]} without pytorch_code_module: "
            "its own scripts judge it, with host code",
            file=str(folder),
        )
    return ModuleFile(_text(modules[0], _LARGEST), str(modules[0]), mode)


# ---- files ----


def _text(path: Path, limit: int) -> str:
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file", file=str(path))
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", file=str(path)) from None
    if len(content) > limit:
        raise ImportRefused(f"size: {path.name} is larger than {limit >> 10} KiB", file=str(path))
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text", file=str(path)) from None


def _yaml(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(_text(path, _LARGEST_YAML))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        raise ImportRefused(
            f"form: {path.name} is not YAML", file=str(path), line=None if line is None else line + 1
        ) from None
    if not isinstance(data, dict):
        raise ImportRefused(f"form: {path.name} is not a table of keys", file=str(path))
    return data


def _parsed(text: str, path: Path) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        raise ImportRefused(f"form: {path.name} is not Python", file=str(path), line=line) from None


def plain_stem(path: Path) -> str:
    """A name for a problem, made of a path's last part."""
    return re.sub(r"[^a-z0-9]+", "_", path.resolve().stem.lower()).strip("_")[:64] or "imported"
