"""The files of a CUDA program that are to be ported, and its sizes made smaller."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from amdkernel_mcp.errors import InputError

MOST_FILES, MOST_BYTES = 200, 4 << 20
_TEXT = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".inl", ".inc")
_UNITS = (".cu", ".cpp", ".cc", ".cxx")
_MAIN = re.compile(r"\bmain\s*\(")


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
        included = any(f'"{PurePosixPath(name).name}"' in text for text in self.files.values())
        return included or bool(_MAIN.search(self.files[name]))


def read_folder(folder: Path) -> CudaProgram:
    """The program in a folder: the file with `main` and all other sources. Raises InputError."""
    files: dict[str, str] = {}
    total = 0
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _TEXT or not path.is_file() or path.is_symlink():
            continue
        total += path.stat().st_size
        if len(files) >= MOST_FILES or total > MOST_BYTES:
            raise InputError(
                f"the folder has more than {MOST_FILES} sources or {MOST_BYTES >> 20} MiB of them",
                file=str(folder),
                hint="name a smaller folder, or one file",
            )
        files[path.relative_to(folder).as_posix()] = path.read_text(errors="replace")
    kernels = [name for name in files if name.endswith(".cu")]
    if not kernels:
        raise InputError("there is no .cu file in the folder", file=str(folder))
    mains = [name for name, text in files.items() if name.endswith(_UNITS) and _MAIN.search(text)]
    if len(mains) > 1:
        listed = ", ".join(mains[:6])
        raise InputError(f"the folder has several programs: {listed}", file=str(folder), hint="port one file")
    return CudaProgram(mains[0] if mains else kernels[0], files)


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
