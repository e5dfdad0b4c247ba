"""The files of a CUDA program that are to be ported, and its sizes made smaller."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.constants import Constants
from amdkernel_mcp.port.tokens import read_tokens

MOST_FILES, MOST_BYTES = 200, 4 << 20
_TEXT = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".inl", ".inc")
_UNITS = (".cu", ".cpp", ".cc", ".cxx")
_MAIN = re.compile(r"\bmain\s*\(")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
_SENT = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")
OUTSIDE = "include-"
"""Folders of headers that were named, by their order."""
_INTEGERS = ("int", "unsigned", "long", "size_t", "uint32_t", "uint64_t")
_LARGE, _MOST_SHOWN = 100, 4


@dataclass(frozen=True)
class CudaProgram:
    """The files of one program by their paths; `main`: the one that it is named after."""

    main: str
    files: Mapping[str, str]

    @property
    def units(self) -> list[str]:
        """The files that are compiled: those with code of their own, and no other program's `main`."""
        others = [name for name in self.files if name != self.main and name.endswith(_UNITS)]
        return [self.main, *(name for name in others if not self._is_other_program(name))]

    @property
    def has_main(self) -> bool:
        """Whether it can run."""
        return any(_MAIN.search(self.files[name]) for name in self.units)

    def _is_other_program(self, name: str) -> bool:
        last = re.compile(rf'["/]{re.escape(PurePosixPath(name).name)}"')
        included = any(last.search(text) for text in self.files.values())
        return included or bool(_MAIN.search(self.files[name]))


def read_program(path: Path, include: Sequence[Path] = ()) -> CudaProgram:
    """The program of a file or of a folder. include: folders of further headers. Raises InputError."""
    return (read_folder if path.is_dir() else read_file)(path, include)


def read_folder(folder: Path, include: Sequence[Path] = ()) -> CudaProgram:
    """The program in a folder: the file with `main`, all other sources, and what they include from outside of it.

    include: folders of further headers. Raises InputError.
    """
    read = _Files(include)
    for path in sorted(folder.rglob("*")):
        if path.suffix in _TEXT and path.is_file() and not path.is_symlink():
            read.add(path)
    texts = {str(path.relative_to(folder)): text for path, text in read.own.items()}
    if not any(name.endswith(".cu") for name in texts):
        raise InputError("there is no .cu file in the folder", file=str(folder))
    mains = [name for name, text in texts.items() if name.endswith(_UNITS) and _MAIN.search(text)]
    if len(mains) > 1:
        listed = ", ".join(mains[:6])
        raise InputError(f"the folder has several programs: {listed}", file=str(folder), hint="port one file")
    return read.program(folder / (mains[0] if mains else next(name for name in texts if name.endswith(".cu"))))


def read_file(path: Path, include: Sequence[Path] = ()) -> CudaProgram:
    """The program of one file, with what it includes by a path next to it or from the folders `include`.

    Raises InputError for a file that cannot be read.
    """
    read = _Files(include)
    if not path.is_file():
        raise InputError("there is no such file", file=str(path))
    read.add(path)
    return read.program(path)


class _Files:
    """Sources by their paths on this machine, and the headers that they include, bounded."""

    def __init__(self, include: Sequence[Path]) -> None:
        self.own: dict[Path, str] = {}
        self._headers: dict[str, str] = {}
        self._include = [folder.absolute() for folder in include]
        self._bytes = 0

    def add(self, path: Path) -> None:
        """A source. Raises InputError where it cannot be read, or is one too many."""
        self.own[path] = self._text(path)

    def program(self, main: Path) -> CudaProgram:
        """All of them, with the paths that they have below the folder that holds them all."""
        found = {Path(os.path.abspath(path)): text for path, text in self.own.items()}
        waiting = list(found)
        while waiting:
            path = waiting.pop()
            for inner in self._next_to(path, found[path]):
                if inner not in found:
                    found[inner] = self._text(inner)
                    waiting.append(inner)
            self._from_folders(found[path])
        root = Path(os.path.commonpath([path.parent for path in found]))
        files = {path.relative_to(root).as_posix(): text for path, text in found.items()}
        return CudaProgram(Path(os.path.abspath(main)).relative_to(root).as_posix(), files | self._headers)

    @staticmethod
    def _next_to(path: Path, text: str) -> Iterator[Path]:
        for name in _INCLUDE.findall(text):
            inner = Path(os.path.abspath(path.parent / name))
            if not Path(name).is_absolute() and inner.is_file():
                yield inner

    def _from_folders(self, text: str, inside: str = "") -> None:
        """Headers of the named folders, with what these include. inside: the folder of `text` in one of them."""
        names = {each for name in _INCLUDE.findall(text) for each in (name, posixpath.join(inside, name))}
        for name in sorted(names):
            for number, folder in enumerate(self._include):
                place = f"{OUTSIDE}{number}/{name}"
                if ".." not in Path(name).parts and place not in self._headers and (folder / name).is_file():
                    self._headers[place] = self._text(folder / name)
                    self._from_folders(self._headers[place], posixpath.dirname(name))

    def _text(self, path: Path) -> str:
        try:
            self._bytes += path.stat().st_size
            if len(self.own) + len(self._headers) >= MOST_FILES or self._bytes > MOST_BYTES:
                raise InputError(
                    f"the program has more than {MOST_FILES} sources or {MOST_BYTES >> 20} MiB of them",
                    file=str(path),
                    hint="name a smaller folder, or one file",
                )
            return path.read_text(errors="replace")
        except OSError as error:
            raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None


def sent_files(files: Mapping[str, str]) -> dict[str, str]:
    """Further files that a caller sent, by the names that sources include them by. Raises InputError."""
    if len(files) > MOST_FILES or sum(len(text.encode(errors="replace")) for text in files.values()) > MOST_BYTES:
        raise InputError(f"a program may have {MOST_FILES} files and {MOST_BYTES >> 20} MiB at most")
    for name in files:
        parts = PurePosixPath(name).parts
        if not _SENT.fullmatch(name) or PurePosixPath(name).is_absolute() or ".." in parts or not name.endswith(_TEXT):
            hint = f"a path below the source, with one of the endings {' '.join(_TEXT)}"
            raise InputError(f"{name[:80]!r} cannot be a source or header", hint=hint)
    return dict(files)


def with_headers(text: str, others: Mapping[str, str]) -> str:
    """`text` with the program's own headers in the place of their includes, each once."""
    left = {PurePosixPath(name).name: other for name, other in others.items()}

    def put(match: re.Match[str]) -> str:
        inner = left.pop(PurePosixPath(match.group(1)).name, None)
        return match.group() if inner is None else _INCLUDE.sub(put, inner)

    return _INCLUDE.sub(put, text)


def with_sizes(program: CudaProgram, given: Sequence[str]) -> tuple[CudaProgram, list[str]]:
    """The program with other values of its constants, and flags for names that it does not define.

    given: NAME=VALUE, for a `#define`, `const` or `constexpr` of the program, else for the compiler.
    Raises InputError for another form.
    """
    files, flags = dict(program.files), []
    for item in given:
        match = re.fullmatch(r"([A-Za-z_]\w*)=([\w.+\-*/()<> ]{1,60})", item)
        if match is None:
            raise InputError(f"{item[:80]!r} is not of the form NAME=VALUE")
        name, value = match.groups()
        macro = re.compile(rf"^([ \t]*#[ \t]*define[ \t]+{name})(?:[ \t]+(?:[^\n\\]|\\\n)*)?$", re.M)
        constant = re.compile(rf"\b((?:const|constexpr)\b[^;(){{}}]*?\b{name}\s*=\s*)[^,;]+")
        changed = 0
        for path, text in files.items():
            text, macros = macro.subn(lambda found, value=value: f"{found.group(1)} {value}", text)  # type: ignore[misc]
            files[path], constants = constant.subn(lambda found, value=value: f"{found.group(1)}{value}", text)  # type: ignore[misc]
            changed += macros + constants
        if not changed:
            flags.append(f"-D{name}={value}")
    return CudaProgram(program.main, files), flags


def large_sizes(program: CudaProgram, arguments: Sequence[str]) -> str:
    """What makes a run of the program smaller, as `: its arguments are 4096 100, N is 1048576`; empty where nothing is
    seen."""
    known: dict[str, int] = {}
    for text in program.files.values():
        tokens = read_tokens(text)
        constants = Constants(tokens)
        for before, token in itertools.pairwise(tokens):
            named = before.text == "define" or before.text in _INTEGERS
            value = constants.value([token]) if named and token.kind == "name" else None
            if value is not None and value >= _LARGE and not (token.text.startswith("_") or value >= 1 << 31):
                known[token.text] = value
    largest = sorted(known, key=lambda name: -known[name])[:_MOST_SHOWN]
    parts = [f"{name} is {known[name]}" for name in largest]
    if any("argv[" in program.files[name].replace(" ", "") for name in program.units):
        parts.insert(0, f"its arguments are {' '.join(arguments)}" if arguments else "it takes arguments")
    return f" ({', '.join(parts)})" if parts else ""
