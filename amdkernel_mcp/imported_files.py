"""The Python files that a candidate imports from its own project, carried at the end of its text.

A candidate is one text: what the sandbox gets, what is hashed, recorded and replayed. So the files that it imports
follow its own lines as comments, and the lines of the candidate keep their numbers:

    # amdkernel-file: PACKAGE/MODULE.py
    #| import math

`sandbox/languages/candidate_module.py` takes them out again.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

BEGIN = "# amdkernel-file: "
LINE = "#| "
PACKAGE = "# amdkernel-package: "
"""Before the name of the package that the candidate itself is in, for its relative imports."""
_MOST_FILES = 64
_MOST_BYTES = 512 << 10
_MOST_LEVELS = 8
_ROOTS = (".git", "pyproject.toml", "setup.cfg")
_OF_OTHERS = frozenset({*sys.stdlib_module_names, "torch", "triton", "flydsl", "numpy"})


def with_imported_files(path: Path, text: str) -> str:
    """`text`, which is the Python of the file `path`, and after it the files of its project that it imports.

    The project is the folder above that has .git, pyproject.toml or setup.cfg; without one, the file's own folder.
    A text that has such files already is returned as it is.
    """
    if f"\n{BEGIN}" in text:
        return text
    path = path.resolve()
    folders = _folders(path)
    root, package = _package(path, folders)
    found: dict[str, str] = {}
    read, left = {path}, _MOST_BYTES
    waiting = [(path, text, package)]
    while waiting and len(found) < _MOST_FILES:
        file, source, inside = waiting.pop(0)
        for other in _imported(source, inside, [root, *folders], functions=file == path):
            if other[0] in read:
                continue
            read.add(other[0])
            content = _read(other[0])
            if content is None or len(content) > left or len(found) == _MOST_FILES:
                continue
            left -= len(content)
            found[other[1]] = content
            waiting.append((other[0], content, _package_of(other[1])))
    head = [f"{PACKAGE}{package}"] if package and found else []
    lines = [*head, *(line for name, content in found.items() for line in _block(name, content))]
    return "\n".join([text.rstrip("\n"), "", *lines, ""]) if lines else text


def _block(name: str, content: str) -> Iterator[str]:
    yield f"{BEGIN}{name}"
    for line in content.split("\n"):
        yield f"{LINE}{line}".rstrip("\r")


def _folders(path: Path) -> list[Path]:
    """The folders in which modules are looked for: the file's own, and those above it within its project."""
    above = [*path.parents][: _MOST_LEVELS + 1]
    for at, folder in enumerate(above):
        if any((folder / name).exists() for name in _ROOTS):
            return above[: at + 1]
    return above[:1]


def _package(path: Path, folders: list[Path]) -> tuple[Path, str]:
    """The folder that holds the topmost package of the file, and the package's dotted name; "" for a file in none."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent in folders:
        folder = folder.parent
    return folder, ".".join(path.parent.relative_to(folder).parts)


def _package_of(name: str) -> str:
    return ".".join(Path(name).parent.parts)


def _imported(source: str, package: str, folders: list[Path], *, functions: bool) -> Iterator[tuple[Path, str]]:
    """The files that a text imports. `functions`: also within its functions, which may be called while it compiles.

    Where only modules of a package are imported, its `__init__.py` is left out: it often imports all of them.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in _statements(tree, functions=functions):
        if isinstance(node, ast.Import):
            yield from filter(None, (_file_of(alias.name, folders) for alias in node.names))
            continue
        module = absolute(node, package)
        if module is None:
            continue
        parts = [_file_of(f"{module}.{alias.name}".strip("."), folders) for alias in node.names]
        yield from filter(None, parts)
        if not all(parts) and (whole := _file_of(module, folders)):
            yield whole


def absolute(node: ast.ImportFrom, package: str) -> str | None:
    """The module that a `from` names, from the topmost package on; None where it is above that."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    if node.level - 1 > len(parts):
        return None
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _statements(tree: ast.AST, *, functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _statements(node, functions=functions)


def _file_of(name: str, folders: list[Path]) -> tuple[Path, str] | None:
    """The file of a module and its path below the folder of its topmost package; None for one of others."""
    parts = name.split(".")
    if parts[0] in _OF_OTHERS or not all(part.isidentifier() for part in parts):
        return None
    for folder in folders:
        for file in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
            if file.is_file() and folder in file.resolve().parents:
                return file.resolve(), file.relative_to(folder).as_posix()
    return None


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes()[: _MOST_BYTES + 1].decode()
    except (OSError, UnicodeDecodeError):
        return None
