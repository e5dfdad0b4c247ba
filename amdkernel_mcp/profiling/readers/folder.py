"""What lies in a recording's folder: the files to read, and why each other one is not read.

A thread trace has thousands of files; only a few of them are opened. The work is bounded by the numbers below.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import READABLE
from amdkernel_mcp.profiling.readers.sources import SNAPSHOTS

MOST_FILES = 2000
"""That are read."""
MOST_ENTRIES = 200_000
DEEPEST = 24
LARGEST_FOLDER_BYTES = 2 << 30
"""Of the files that are read."""
_READ = (".csv", ".json", ".db")
_BESIDE_CODE = (
    (re.compile(r"se\d+_sm\d+_sl\d+_wv\d+\.json"), "a single wave of a thread trace; code.json has the sums"),
    (re.compile(r"wstates\d+\.json"), "states of waves over time; code.json has the sums"),
    (re.compile(r"(occupancy|realtime|se\d+_perfcounter\w*)\.json"), "a time line of a thread trace"),
    (re.compile(r"filenames\.json"), "the list of the files of single waves"),
)
"""Files of a `ui_output` folder, named as rocprofiler-sdk's att-tool names them."""
_BY_SUFFIX = {
    ".att": "a raw thread trace; what rocprofv3 decodes from it is in ui_output_* and stats_*.csv",
    ".pftrace": "a Perfetto trace: record with -f rocpd or -f csv as well",
    ".otf2": "an OTF2 trace: record with -f rocpd or -f csv as well",
}
_CODE_OBJECT = ".out"
_OTHER = "not a format of recordings"


@dataclass(frozen=True)
class Listing:
    """The files of a folder, in the order in which they are read, and the others with why they are not."""

    files: tuple[Path, ...]
    others: tuple[tuple[Path, str], ...]
    objects: tuple[Path, ...] = ()
    """Code objects of thread traces."""


def list_folder(folder: Path) -> Listing:
    """What to read in `folder` and below. Raises ProfileFileError where there is nothing, or too much."""
    files: list[Path] = []
    objects: list[Path] = []
    others: list[tuple[Path, str]] = []
    size, entries = 0, 0
    pending = [(folder, 0)]
    while pending:
        here, depth = pending.pop()
        found = _entries(here)
        entries += len(found)
        if entries > MOST_ENTRIES or depth > DEEPEST:
            what = "is nested too deeply" if depth > DEEPEST else f"has more than {MOST_ENTRIES:,} files"
            raise ProfileFileError(f"the folder {what}", file=str(folder), hint=_ONE)
        traced = any(entry.name in ("code.json", "filenames.json") for entry in found)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), depth + 1))
            elif traced and entry.name == SNAPSHOTS:
                continue  # the reader of code.json opens it
            elif entry.name.lower().endswith(_CODE_OBJECT) and _size(entry) is not None:
                objects.append(Path(entry.path))
            elif why := _why_not(entry, traced=traced):
                others.append((Path(entry.path), why))
            elif (bytes_of := _size(entry)) is not None:
                files.append(Path(entry.path))
                size += bytes_of
            else:
                others.append((Path(entry.path), "not a file that can be read"))
    _refuse_too_much(folder, files, others, size)
    return Listing(
        tuple(sorted(files, key=_by_number)),
        tuple(sorted(others, key=lambda other: _by_number(other[0]))),
        tuple(sorted(objects, key=_by_number)),
    )


_ONE = "use the folder of one recording"


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry, _ in zip(found, range(MOST_ENTRIES + 1), strict=False)]
    except OSError as error:
        raise ProfileFileError(f"cannot read the folder: {error.strerror}", file=str(folder)) from error


def _size(entry: os.DirEntry[str]) -> int | None:
    """Bytes of a file; None for a link to nothing, a socket and the like."""
    try:
        return entry.stat().st_size if entry.is_file() else None
    except OSError:
        return None


def _why_not(entry: os.DirEntry[str], *, traced: bool) -> str | None:
    if traced:
        for pattern, why in _BESIDE_CODE:
            if pattern.fullmatch(entry.name):
                return why
    suffix = os.path.splitext(entry.name)[1].lower()
    if suffix in _READ:
        return None
    if traced and re.fullmatch(r"source_\d+_.+", entry.name):
        return "a source file of the thread trace; only those of hot lines are shown"
    return _BY_SUFFIX.get(suffix, _OTHER)


def _refuse_too_much(folder: Path, files: list[Path], others: list[tuple[Path, str]], size: int) -> None:
    if not files:
        if any(path.suffix.lower() == ".att" for path, _ in others):
            raise ProfileFileError(
                "the folder has raw thread traces (.att) that were not decoded", file=str(folder),
                hint="rocprofv3 decodes them where it finds librocprof-trace-decoder.so (in ROCm since 7.13, before "
                "a separate download named with --att-library-path); then give the folder that it writes",
            )  # fmt: skip
        raise ProfileFileError("the folder has no CSV, JSON or .db file", file=str(folder), hint=READABLE)
    if len(files) > MOST_FILES:
        raise ProfileFileError(f"the folder has {len(files)} files to read", file=str(folder), hint=_ONE)
    if size > LARGEST_FOLDER_BYTES:
        raise ProfileFileError(
            f"the files of the folder have {size >> 20} MiB; the limit is {LARGEST_FOLDER_BYTES >> 20} MiB",
            file=str(folder), hint=f"{_ONE}, or record fewer dispatches",
        )  # fmt: skip


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Process 99 before process 100: the files of processes are read in the order in which these began."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", str(path))]
