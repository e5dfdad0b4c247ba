"""The files of a HIP program that is to run: read on the user's machine, bounded, before a sandbox gets them."""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.runner.source_names import SOURCES, is_source
from amdkernel_mcp.runner_protocol.records import PROGRAM

WORK = "/sandbox/work"  # where the debug data of what is compiled in a sandbox says that it was compiled
MAX_INPUT_BYTES = 1 << 30
MAX_FOLDER_BYTES = 256 << 20
MAX_FOLDER_FILES = 4000
VISIBLE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")  # the caller's own count on the emulator
BuildTool = Literal["make", "cmake"]
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in GNU make's order
_CMAKE = "CMakeLists.txt"
_MADE_BY_CMAKE = b"# CMAKE generated file"
_HISTORY = {".git", ".hg", ".svn"}  # folders of version control, which no build needs
_RESERVED = re.compile(r"(AMDKERNEL_|LD_|PYTHON).*|OUT")  # say which library is loaded, and where the report goes
_SYSTEM = ("/usr/", "/opt/", "/lib/", "/lib64/")  # headers of the compiler and of libraries, in any image


@dataclass(frozen=True)
class Program:
    """What is to run. Keys of `files`, `path`, `sources` and `include` are paths in the sandbox's work folder."""

    name: str  # as the user wrote it
    path: str
    files: Mapping[str, bytes]
    user_paths: Mapping[str, str] = field(default_factory=dict)  # of `files`
    sources: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    project: str | None = None  # the user's folder that is the work folder
    modified: Mapping[str, float] = field(default_factory=dict)  # times of the project's files: `make` compares them
    build_tool: BuildTool | None = None
    build_target: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    visible: Mapping[str, str] = field(default_factory=dict)  # the caller's variables of VISIBLE
    keep: bool = False  # the files that are built and written are wanted

    def name_file(self, path: str, folder: str) -> str | None:
        """The user's path of a file in debug data; None for headers of the system. folder: of the compilation."""
        below_work = posixpath.normpath(posixpath.join(folder, path))
        if below_work.startswith(f"{WORK}/"):
            inside = below_work.removeprefix(f"{WORK}/")
            return self.user_paths.get(inside) or posixpath.join(self.project or "", inside)
        path = path.removeprefix(f"{folder.rstrip('/')}/")
        return None if path.startswith(_SYSTEM) else path


@dataclass(frozen=True)
class ProjectBuild:
    """The user's folder, and the target that its Makefile or CMakeLists.txt builds first; None: nothing is built."""

    folder: Path
    target: str | None = None


def read_program(
    words: Sequence[str],
    *,
    after: Sequence[str] = (),
    files: Sequence[Path] = (),
    include: Sequence[Path] = (),
    flags: Sequence[str] = (),
    project: ProjectBuild | None = None,
    environment: Sequence[str] = (),
    caller: Mapping[str, str] | None = None,
    keep: bool = False,
) -> Program:
    """The program that `words` name, with the files that it needs, its arguments and its variables.

    words: a program or its sources, then arguments; after: more arguments, never sources. With `project` these are
    paths in its folder. caller: the user's environment, but only its variables in VISIBLE are passed on. keep: the
    files that are built and written are wanted. Raises InputError.
    """
    sources, arguments = split_words(words, after)
    read = _ProgramFiles(project)
    if project:
        read.add_project()
    if sources:
        path = PROGRAM
        named = [read.add(Path(source)) for source in sources]
    else:
        named = []
        path, arguments = read.find_program(arguments)
    if (flags or include) and not sources:
        raise InputError(
            "compiler flags and -I need a source file", file=path if project else None, hint="a Makefile has its own"
        )
    folders = [read.add_folder(folder) for folder in include]
    data = [read.add(file, data=True) for file in files]
    named += [name for name in data if sources and is_source(name)]
    variables = read_environment(environment)
    return Program(
        name=sources[0] if sources else read.user_paths.get(path, path),
        path=path,
        files=read.files,
        user_paths=read.user_paths,
        sources=tuple(named),
        include=tuple(folders),
        flags=tuple(flags),
        project=str(project.folder) if project else None,
        modified=read.modified,
        build_tool=read.build_tool(),
        build_target=(project.target or "") if project else "",
        arguments=tuple(arguments),
        environment=variables,
        visible={name: (caller or {})[name] for name in VISIBLE if name in (caller or {})},
        keep=keep,
    )


def sent_program(source: str, file_name: str, flags: Sequence[str] = ()) -> Program:
    """The program of one source whose text was sent."""
    name = posixpath.basename(file_name)
    name = name if is_source(name) else "program.hip"
    return Program(
        name=file_name,
        path=PROGRAM,
        files={name: source.encode()},
        user_paths={name: file_name},
        sources=(name,),
        flags=tuple(flags),
    )


def split_words(words: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    """(sources, the rest): the words up to the first that does not end as a source does. `after` holds no sources but,
    where there are no `words`, the program."""
    count = next((n for n, word in enumerate(words) if not is_source(word)), len(words))
    if not words and after and is_source(after[0]):
        return [after[0]], list(after[1:])
    return list(words[:count]), [*words[count:], *after]


def read_environment(given: Sequence[str]) -> dict[str, str]:
    """Variables for the program, from NAME=VALUE each; a later one wins. Raises InputError."""
    variables: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise InputError(f"{item!r} is not of the form NAME=VALUE")
        if _RESERVED.fullmatch(name):
            raise InputError(f"{name} is reserved for the sandbox and cannot be set for the program")
        variables[name] = value
    return variables


class _ProgramFiles:
    """Collects files by their paths in the sandbox, and counts their bytes."""

    def __init__(self, project: ProjectBuild | None) -> None:
        self.files: dict[str, bytes] = {}
        self.user_paths: dict[str, str] = {}
        self.modified: dict[str, float] = {}
        self._project = project
        self._bytes = 0

    def add_project(self) -> None:
        """All files of the project's folder."""
        assert self._project
        folder = self._project.folder
        for inside, path in _files_in(folder):
            self._put(inside, path, _read(path))
            self.modified[inside] = path.stat().st_mtime

    def add(self, path: Path, *, data: bool = False) -> str:
        """The name that the file gets; one of the project keeps its own. data: the program opens it by its name."""
        if self._project and not data:
            return self._inside(path, "source file")
        name = path.name
        if data and (name in self.files or name == PROGRAM):
            raise InputError(f"two files would have the name {name} next to the program", file=str(path))
        if name in self.files or name == PROGRAM:
            name = f"{len(self.files)}/{name}"
        self._put(name, path, _read(path))
        return name

    def add_folder(self, folder: Path) -> str:
        """The path that a folder of headers gets, with all files in it."""
        if self._project:
            return self._inside(folder, "folder")
        place = f"include/{len({name.split('/')[1] for name in self.files if name.startswith('include/')})}"
        for inside, path in _files_in(folder):
            self._put(f"{place}/{inside}", path, _read(path))
        return place

    def find_program(self, words: Sequence[str]) -> tuple[str, list[str]]:
        """(path, arguments) of a built program: the first word, or the target that is built where there is none."""
        if not self._project:
            if not words:
                raise InputError("no program is given", hint="amdkernel run --help")
            path = Path(words[0])
            content = _read(path)
            if not content.startswith(b"\x7fELF"):
                raise InputError(
                    "this is neither an x86-64 program nor a source file",
                    file=words[0],
                    hint=f"names of sources end in {', '.join(SOURCES)}",
                )
            self._put(PROGRAM, path, content)
            return PROGRAM, list(words[1:])
        if not words and not self._project.target:
            raise InputError("no program is given", hint="name a program of the project, or build one: --make TARGET")
        named = words[0] if words else str(self._project.target)
        if self._project.target:
            return posixpath.normpath(named), list(words[1:])
        return self._inside(Path(named), "program"), list(words[1:])

    def build_tool(self) -> BuildTool | None:
        """How the project is built. Raises InputError for one that has neither a Makefile nor CMakeLists.txt."""
        if not self._project or self._project.target is None:
            return None
        makefile = next((self.files[name] for name in _MAKEFILES if name in self.files), None)
        if makefile is not None and not (_CMAKE in self.files and makefile.startswith(_MADE_BY_CMAKE)):
            return "make"
        if _CMAKE in self.files:
            return "cmake"
        raise InputError("the project has neither a Makefile nor CMakeLists.txt", file=str(self._project.folder))

    def _inside(self, path: Path, what: str) -> str:
        """A path that the project's folder must hold."""
        assert self._project
        name = posixpath.normpath(str(path))
        if name not in self.files and not any(file.startswith(f"{name}/") for file in (*self.files, "./")):
            raise InputError(
                f"the project has no {what} {name}",
                file=str(self._project.folder),
                hint="with --dir, paths are those inside the project's folder",
            )
        return name

    def _put(self, name: str, path: Path, content: bytes) -> None:
        self._bytes += len(content)
        if self._bytes > MAX_INPUT_BYTES:
            raise InputError(f"the program and its files exceed {MAX_INPUT_BYTES >> 30} GiB", file=str(path))
        self.files[name] = content
        self.user_paths[name] = str(path)


def _files_in(folder: Path) -> list[tuple[str, Path]]:
    """The regular files below a folder, by their paths in it. Raises InputError over the limits.

    Links to files inside the folder are followed. Others are refused: they would send files that the user did not name.
    """
    if not folder.is_dir():
        raise InputError("there is no such folder", file=str(folder))
    root = folder.resolve()
    found: list[tuple[str, Path]] = []
    total = 0
    for path in _walk(folder):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise InputError(
                "this link leads out of the folder", file=str(path), hint="remove it, or pass the file with --file"
            )
        if not path.is_file():
            continue
        total += path.stat().st_size
        found.append((str(path.relative_to(folder)), path))
        if len(found) > MAX_FOLDER_FILES or total > MAX_FOLDER_BYTES:
            raise InputError(
                f"the folder has more than {MAX_FOLDER_FILES} files or {MAX_FOLDER_BYTES >> 20} MiB",
                file=str(folder),
                hint="name a smaller folder",
            )
    return found


def _walk(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise InputError(f"the folder cannot be read: {error.strerror}", file=error.filename) from None

    for here, folders, names in os.walk(folder, onerror=fail):
        links = [name for name in folders if Path(here, name).is_symlink()]
        folders[:] = sorted(set(folders) - _HISTORY - set(links))
        yield from (Path(here, name) for name in sorted(names + links))


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InputError("there is no such file", file=str(path))
        if path.stat().st_size > MAX_INPUT_BYTES:
            raise InputError(f"the file exceeds {MAX_INPUT_BYTES >> 30} GiB", file=str(path))
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None
