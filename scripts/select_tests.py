"""Prints the tests that a change needs, for `.ci/run`: each file of tests that uses something that has changed.

    select_tests.py RECORD     prints the paths for pytest on stdout, and why on stderr

The change is what lies between HEAD and its merge-base with the main branch. On the main branch it is what came after
the last commit that passed every test, by RECORD, where `.ci/run` writes each commit that passed and the turn of the
thorough tests that it had. When neither is known, every test is selected. A file of tests uses the modules that it
imports, what these import in turn, and the folders that they read.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
# A change of these can change any test: the emulator and the runner are under most of them.
EVERYTHING = ("Makefile", "pyproject.toml", "requirements/", ".ci/", "sandbox/", "tests/conftest.py")
READ_AS_FILES = (
    "benchmarks", "cookbook", "deploy", "docs", "docs_index", "examples", "integrations", "scripts", "tools",
)  # fmt: skip
PROGRAMS = frozenset({"amdkernel_mcp.cli.main", "amdkernel_mcp.stdio.main", "amdkernel_mcp.server.app"})
RUNS_A_PROGRAM = ('with_name("amdkernel")', ' "amdkernel"', '"amdkernel-mcp"', "bin/amdkernel")


class Uses:
    """What each file of tests uses."""

    def __init__(self) -> None:
        self.graph = grimp.build_graph("amdkernel_mcp", "tools")
        self.helpers: dict[str, Path] = {}  # under the name of the file alone, and under the whole name
        for file in TESTS.rglob("*.py"):
            whole = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            self.helpers |= {file.stem: file, whole: file}

    def why(self, test: Path, changed: Iterable[str]) -> str | None:
        """The first changed file that the tests of a file use, or None."""
        files = self._test_files(test)
        texts = [file.read_text(encoding="utf-8") for file in files]
        modules = self._modules(files, texts)
        folders = {file.parent.relative_to(ROOT).as_posix() for file in files}
        packages = {_package(module) for module in modules}
        for path in changed:
            first, parent = path.split("/")[0], path.rpartition("/")[0]
            if path.endswith(".py"):
                used = _module(path) in modules or ROOT / path in files
            elif first == "amdkernel_mcp":
                used = self._package_of(parent) in packages
            else:
                used = first == "tests" and any(f"{parent}/".startswith(f"{folder}/") for folder in folders)
            if first in READ_AS_FILES and (any(_names(text, first) for text in texts) or self._read(modules, first)):
                used = True
            if used:
                return path
        return None

    def _test_files(self, test: Path) -> set[Path]:
        """The file, the conftest files above it, and the helpers that these import."""
        todo = [test, *(folder / "conftest.py" for folder in test.parents if folder.is_relative_to(TESTS))]
        found: set[Path] = set()
        while todo:
            file = todo.pop()
            if file not in found and file.exists():
                found.add(file)
                todo += [self.helpers[name] for name in _imports(file) if name in self.helpers]
        return found

    def _modules(self, files: set[Path], texts: list[str]) -> set[str]:
        imported = {name for file in files for name in _imports(file) if name in self.graph.modules}
        if any(word in text for text in texts for word in RUNS_A_PROGRAM):
            imported |= PROGRAMS
        found = self._closed(imported)
        if "amdkernel_mcp.server.app" in found:  # it loads the files of tools/ by itself
            found = self._closed(found | {module for module in self.graph.modules if module.startswith("tools")})
        return found

    def _closed(self, modules: Iterable[str]) -> set[str]:
        return set().union(*(self._upstream(module) for module in modules))

    @cache  # noqa: B019 - one object for one run
    def _upstream(self, module: str) -> frozenset[str]:
        return frozenset({module, *self.graph.find_upstream_modules(module)})

    def _read(self, modules: set[str], folder: str) -> bool:
        return any(f'folder("{folder}")' in _source(module) for module in modules)

    def _package_of(self, folder: str) -> str:
        name = folder.replace("/", ".")
        return name if name in self.graph.modules else self._package_of(folder.rpartition("/")[0])


@cache
def _uses() -> Uses:
    return Uses()


def _module(path: str) -> str:
    return path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def _package(module: str) -> str:
    return module if (ROOT / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]


@cache
def _source(module: str) -> str:
    path = ROOT / module.replace(".", "/")
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


@cache
def _imports(file: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _names(text: str, folder: str) -> bool:
    return f'/ "{folder}"' in text or f"{folder}/" in text


def base_commit(repository: Path, record: Path) -> str | None:
    """The commit to compare HEAD with; None when none is known, which means every test.

    record: a file with the commits that passed, `COMMIT K/N` in each line: with the K-th of N parts of the thorough
    tests. A commit has passed every test once each part has passed there or later.
    """
    head = _git(repository, "rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        fork = _git(repository, "merge-base", "HEAD", main)
        if fork:
            if fork != head:
                return fork
            break  # HEAD is on the main branch
    passed = [line.split() for line in record.read_text(encoding="utf-8").splitlines()] if record.exists() else []
    seen: dict[str, set[str]] = {}  # by N
    for commit in (_git(repository, "rev-list", "HEAD") or "").split():
        for turn, of in (line[1].split("/") for line in passed if line[0] == commit):
            seen.setdefault(of, set()).add(turn)
        if any(len(turns) == int(of) for of, turns in seen.items()):
            return commit
    return None


def _git(repository: Path, *arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def changed_files(repository: Path, base: str) -> list[str]:
    """Paths that differ between the commit and HEAD; a renamed file counts under both names."""
    return (_git(repository, "diff", "--name-only", "--no-renames", "-z", base, "HEAD") or "").strip("\0").split("\0")


def select(changed: list[str]) -> tuple[list[str], list[str]]:
    """The paths for pytest, and a sentence for each folder."""
    everything = next((path for path in changed if path.startswith(EVERYTHING)), None)
    if everything:
        return ["tests"], [f"every test: {everything} changed"]
    uses = _uses()
    reasons = {test: uses.why(test, changed) for test in sorted(TESTS.rglob("test_*.py"))}
    needed = [test for test, why in reasons.items() if why or test.parent == TESTS]
    sentences = [f"{len(needed)} of {len(reasons)} files of tests"]
    for room in sorted({test.parent for test in reasons}):
        mine = [why for test, why in reasons.items() if test.parent == room]
        used = [why for why in mine if why]
        sentences.append(f"{room.relative_to(ROOT)}: {len(used)} of {len(mine)}" + (f", for {used[0]}" if used else ""))
    return [test.relative_to(ROOT).as_posix() for test in needed], sentences


def main() -> int:
    """Print the selection; without a base, every test."""
    record = Path(sys.argv[1])
    base = base_commit(ROOT, record)
    if base is None:
        paths, sentences = ["tests"], ["every test: no commit is known that a full run passed"]
    else:
        paths, sentences = select(changed_files(ROOT, base))
        print(f"compared with {base[:12]}", file=sys.stderr)
    print(*paths, sep="\n")
    print(*sentences, sep="\n", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
