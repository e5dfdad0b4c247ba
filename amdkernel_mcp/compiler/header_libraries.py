"""Header libraries: folders of the setting `headers`, which a `build` line names as `--headers=NAME`.

They go into the compile sandbox as files of the job, so that it reads nothing of the host, and their hash is part of
the cache's key and of the record. Only what a preprocessor reads is taken.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.compiler.flags import parse_flags
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import FlagError, InputError

FOLDER = "headers"
"""In the working folder of a compile."""
MOST_FILES = 6000
MOST_BYTES = 64 << 20
_FLAG = "--headers="
_SUFFIXES = frozenset({"", ".h", ".hh", ".hpp", ".hxx", ".h++", ".cuh", ".inc", ".inl", ".ipp", ".tpp", ".def"})


@dataclass(frozen=True)
class HeaderLibraries:
    """The libraries of one compile. `files`: by their path in the working folder; `digests`: sha256 by name."""

    files: Mapping[str, bytes]
    digests: Mapping[str, str]

    @property
    def folders(self) -> list[str]:
        """Where `#include` looks, in the order in which they were named."""
        return [f"{FOLDER}/{name}" for name in self.digests]


NO_HEADERS = HeaderLibraries({}, {})


def named_libraries(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of libraries among the flags, each once, and the other flags."""
    names = [flag.removeprefix(_FLAG) for flag in flags if flag.startswith(_FLAG)]
    return list(dict.fromkeys(names)), [flag for flag in flags if not flag.startswith(_FLAG)]


def check_hip_flags(flags: Sequence[str]) -> None:
    """Raises FlagError for a flag that no HIP kernel may have. Which libraries there are is not known here."""
    parse_flags(named_libraries(flags)[1])


def read_libraries(folders: Mapping[str, Path], names: Sequence[str]) -> HeaderLibraries:
    """The libraries of these names. Raises FlagError for one that is not set up, InputError for an unusable folder."""
    files: dict[str, bytes] = {}
    digests: dict[str, str] = {}
    for name in names:
        if name not in folders:
            known = f"known are {', '.join(sorted(folders))}" if folders else "the setting `headers` names none"
            raise FlagError(f"no header library is called {name[:60]!r}", hint=known)
        digest = hashlib.sha256()
        for path, content in _read(name, folders[name]):
            digest.update(f"{path}\0{len(content)}\0".encode())
            digest.update(content)
            files[f"{FOLDER}/{name}/{path}"] = content
        digests[name] = digest.hexdigest()
    return HeaderLibraries(files, digests)


def _read(name: str, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of each header, in the order of paths. Links are left out: they may lead anywhere."""
    if not folder.is_dir():
        raise InputError(f"the header library {name} has no folder", file=str(folder), hint="see the setting `headers`")
    found = sorted(_paths(folder))
    if not found:
        raise InputError(f"the header library {name} has no header", file=str(folder))
    left = MOST_BYTES
    for number, path in enumerate(found, 1):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"a header cannot be read: {error.strerror}", file=str(path)) from None
        left -= len(content)
        if number > MOST_FILES or left < 0:
            most = f"{counted(MOST_FILES, 'header', grouped=True)} or {MOST_BYTES >> 20} MiB"
            raise InputError(f"the header library {name} has more than {most}", file=str(folder))
        yield path.relative_to(folder).as_posix(), content


def _paths(folder: Path) -> Iterator[Path]:
    for place, below, names in os.walk(folder):
        below[:] = [each for each in below if not each.startswith(".")]
        for name in names:
            path = Path(place, name)
            if (
                path.suffix.lower() in _SUFFIXES
                and not name.startswith(".")
                and path.is_file()
                and not path.is_symlink()
            ):
                yield path
