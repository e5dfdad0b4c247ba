"""Runs the statements of a candidate in Python, in the sandbox: what its host code imports is stood in for.

Used by the scripts that compile Triton and FlyDSL.
"""

import __future__

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

FILE = "kernel.py"
FOLDER = "carried"
"""Of the files that the candidate carries at the end of its text: `amdkernel_mcp/imported_files.py` puts them there."""
BEGIN, LINE, PACKAGE = "# amdkernel-file: ", "#| ", "# amdkernel-package: "


class Wrong(Exception):
    """A mistake of the candidate, with its line, and the name that is not defined because of it."""

    def __init__(self, message: str, line: int = 0, column: int = 0, defines: str = "") -> None:
        super().__init__(message)
        self.line, self.column, self.defines = line, column, defines


class Anything:
    """Stands for what a file imports for its host code (torch): any use of it is another one, none has an effect."""

    def __init__(self, *_args: object, **_named: object) -> None:
        pass

    def __getattr__(self, name: str) -> "Anything":
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: object, **_named: object) -> object:
        # a decorator leaves the function as it is
        return args[0] if len(args) == 1 and callable(args[0]) and not isinstance(args[0], Anything) else Anything()

    def __mro_entries__(self, _bases: object) -> tuple[()]:
        return ()

    def __bool__(self) -> bool:
        return False

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(())

    def __index__(self) -> int:
        return 0

    def __getitem__(self, _key: object) -> "Anything":
        return Anything()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __lt__(self, _other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __or__(self, _other: object) -> "Anything":
        return Anything()

    __ror__ = __and__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __or__


class Missing(Anything):
    """Stands for what a file imports from a module that is not here: decorators and host code do without it."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__()
        vars(self).update(name=name, module=module)

    def __getattr__(self, name: str) -> "Anything":
        super().__getattr__(name)
        return Missing(self.name, self.module)

    def __repr__(self) -> str:
        return str(self.name)


class HostOnly(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch and its parts, of which the sandbox has none: kernels do not use them, the code around them does."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if name.split(".")[0] in ("torch", "pytest", "matplotlib", "pandas"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__getattr__ = lambda name: Anything().__getattr__(name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        del module


class Tolerant(importlib.machinery.SourceFileLoader):
    """Runs a file that the candidate imports as the candidate itself is run: what fails costs what it defines."""

    def exec_module(self, module: ModuleType) -> None:
        run_statements(module, self.path, package(module))


def package(module: ModuleType) -> str:
    return module.__spec__.parent if module.__spec__ else ""


class Carried(importlib.abc.MetaPathFinder):
    """Finds the files that the candidate carries. Of a package without an `__init__.py` among them nothing is run."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        del path, target
        place = Path(FOLDER, *name.split("."))
        for file, folders in ((place.with_suffix(".py"), None), (place / "__init__.py", [str(place)])):
            if file.is_file():
                return importlib.util.spec_from_file_location(
                    name, file, loader=Tolerant(name, str(file)), submodule_search_locations=folders
                )
        if not place.is_dir():
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec


def carried_files() -> str:
    """Write the files that the text of the candidate carries. Returns the package that the candidate is in."""
    inside, name, lines = "", None, []
    for line in [*Path(FILE).read_text(errors="replace").split("\n"), ""]:
        if name is not None and not line.startswith(LINE):
            file = Path(FOLDER, *(part for part in name.split("/") if part not in ("", ".", "..")))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines))
            name, lines = None, []
        if name is not None:
            lines.append(line[len(LINE) :])
        elif line.startswith(BEGIN):
            name = line[len(BEGIN) :].strip()
        elif line.startswith(PACKAGE):
            inside = line[len(PACKAGE) :].strip()
    if Path(FOLDER).is_dir():
        sys.meta_path.insert(0, Carried())
    return inside


def say(kind: str, message: str, line: int = 0, column: int = 0) -> None:
    place = f"{FILE}:{line}:{column or 1}: " if line > 0 else ""
    print(f"{place}{kind}: {' '.join(message.split())[:600]}", file=sys.stderr)


def run_candidate(module: ModuleType) -> list[Wrong]:
    """Run the statements of the candidate, which finds the files that it carries. See `run_statements`."""
    return run_statements(module, FILE, carried_files())


def run_statements(module: ModuleType, path: str, inside: str) -> list[Wrong]:
    """Run the statements of a file in the package `inside` into `module`. Returns the errors of those that failed.

    Files of tutorials have host code too, which cannot run here: a statement that fails costs what it defines, and
    one that is only a call or a test is left out.
    """
    try:
        tree = ast.parse(Path(path).read_bytes(), path)
    except SyntaxError as error:
        raise Wrong(f"{type(error).__name__}: {error.msg}", error.lineno or 0, error.offset or 0) from None
    except ValueError as error:
        raise Wrong(str(error)) from None
    flags, failed = 0, []
    for node in tree.body:
        if isinstance(node, (ast.Expr, ast.Assert)):
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for name in node.names:
                flags |= getattr(__future__, name.name).compiler_flag if hasattr(__future__, name.name) else 0
        make_absolute(node, inside)
        try:
            exec(compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True), vars(module))
        except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == path and frame.lineno]
            line, defines = lines[-1] if lines else node.lineno, getattr(node, "name", "")
            failed.append(Wrong(f"{type(error).__name__}: {error}", line, defines=defines))
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                stand_in(node, module)
            elif isinstance(node, (ast.If, ast.Try)):
                import_what_is_here(node, module)
    return failed


def import_what_is_here(statement: ast.stmt, module: ModuleType) -> None:
    """Of a statement that chooses imports and failed, as one that asks for a version: the first that works of each."""
    imports = [node for node in ast.walk(statement) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in sorted(imports, key=lambda each: each.lineno):
        found: dict[str, object] = {}
        try:
            exec(compile(ast.Module([node], []), FILE, "exec", dont_inherit=True), found)
        except BaseException:  # the candidate's own code
            continue
        del found["__builtins__"]
        for name, value in found.items():
            vars(module).setdefault(name, value)


def make_absolute(node: ast.stmt, inside: str) -> None:
    """Name the modules of relative imports from the topmost package on: the candidate itself is in no package here."""
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom) and each.level:
            parts = inside.split(".") if inside else []
            if each.level - 1 <= len(parts):
                names = [*parts[: len(parts) - each.level + 1], *([each.module] if each.module else [])]
                if names:
                    each.level, each.module = 0, ".".join(names)


def stand_in(node: ast.Import | ast.ImportFrom, module: ModuleType) -> None:
    """Bind the names of an import that failed, as they are often used by decorators and host code alone."""
    for alias in node.names:
        name = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
        origin = alias.name if isinstance(node, ast.Import) else "." * node.level + (node.module or "")
        vars(module).setdefault(name, Missing(name, origin))
