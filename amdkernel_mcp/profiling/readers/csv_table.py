"""CSV files of profilers: columns by name in any case, errors with file and line."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.recording import LARGEST_WHOLE, visible

LARGEST_BYTES = 512 * 2**20
MOST_COLUMNS = 10_000  # a workload folder has hundreds
_LONGEST_FIELD = 1 << 20  # demangled names of templates are long
_LONGEST_NUMBER = 400


class NothingRecorded(ProfileFileError):
    """A file with a header and no row: an error for a single file, ignored in a folder with other files."""


@dataclass(frozen=True)
class Row:
    """One line: its number and its cells by lower-case column name."""

    file: str
    line: int
    cells: Mapping[str, str]

    def text(self, *names: str) -> str:
        """The first of these cells that is not empty; an empty string if all are."""
        for name in names:
            if value := self.cells.get(name, "").strip():
                return value
        return ""

    def number(self, *names: str) -> float | None:
        """The cell as a number, None when it is empty. Raises ProfileFileError for text."""
        value = self.text(*names)
        return None if not value else parse_number(value, file=self.file, line=self.line, column=names[0])

    def integer(self, *names: str) -> int | None:
        """The cell as a whole number: `454139` and `454139.0` alike."""
        value = self.number(*names)
        if value is not None and abs(value) >= LARGEST_WHOLE:
            raise ProfileFileError(f"{names[0]} is {value:g}: not a number of 64 bits", file=self.file, line=self.line)
        return None if value is None else int(value)


@dataclass(frozen=True)
class Table:
    """A CSV file: its header as written, and its rows. `rows` can be read once."""

    file: str
    header: tuple[str, ...]
    rows: Iterator[Row]

    @property
    def columns(self) -> frozenset[str]:
        """Column names in lower case."""
        return frozenset(name.lower() for name in self.header)

    def require(self, names: Sequence[str], *, what: str) -> None:
        """Raises ProfileFileError when a column that `what` must have is missing."""
        missing = [name for name in names if name.lower() not in self.columns]
        if missing:
            raise ProfileFileError(
                f"{what} must have the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                file=self.file, line=1, hint="use the file as the profiler wrote it",
            )  # fmt: skip


def open_table(path: Path) -> Table:
    """The header and the rows of a CSV file. Raises ProfileFileError for a file that is not CSV, empty or too large."""
    file = str(path)
    check_size(path)
    start = first_bytes(path, 4096)
    if not start.strip():
        raise ProfileFileError("the file is empty", file=file, hint="was the profiler stopped before it wrote?")
    if b"\0" in start:
        raise ProfileFileError("this is a binary file, not CSV", file=file, hint=READABLE)
    lines = _lines(path)
    header = next(lines, (0, []))[1]
    if not header:
        raise ProfileFileError("the file has no header", file=file, line=1, hint=READABLE)
    if len(header) > MOST_COLUMNS:
        raise ProfileFileError(f"the header has {len(header)} columns", file=file, line=1, hint=READABLE)
    names = tuple(visible(name.strip()) for name in header)
    return Table(file, names, _rows(file, [name.lower() for name in names], lines))


READABLE = (
    "supported: rocprofv3's CSV (counter_collection, kernel_trace, kernel_stats, pc_sampling, stats of thread traces), "
    "JSON, ui_output folders and rocpd .db files, results.csv of rocprof v1 and v2, and workload folders of "
    "rocprof-compute"
)


def check_size(path: Path, limit: int | None = None) -> None:
    """Raises ProfileFileError when the file cannot be read or has more bytes than `limit`, or LARGEST_BYTES."""
    limit = min(limit or LARGEST_BYTES, LARGEST_BYTES)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ProfileFileError(f"cannot read it: {error.strerror}", file=str(path)) from error
    if size > limit:
        raise ProfileFileError(
            f"the file is {size >> 20} MiB; the limit is {limit >> 20} MiB", file=str(path),
            hint="record fewer dispatches: rocprofv3 --kernel-include-regex or --kernel-iteration-range",
        )  # fmt: skip


def first_bytes(path: Path, count: int) -> bytes:
    """The start of the file. Raises ProfileFileError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(count)
    except OSError as error:
        raise ProfileFileError(f"cannot read it: {error.strerror}", file=str(path)) from error


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_LONGEST_FIELD)
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield line, cells
    except UnicodeDecodeError as error:
        raise ProfileFileError("this is not text in UTF-8", file=str(path), line=line + 1, hint=READABLE) from error
    except csv.Error as error:
        raise ProfileFileError(f"this is not CSV: {error}", file=str(path), line=line + 1, hint=READABLE) from error
    except OSError as error:
        raise ProfileFileError(f"cannot read it: {error.strerror}", file=str(path)) from error


def _rows(file: str, names: list[str], lines: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for line, cells in lines:
        if len(cells) != len(names):
            raise ProfileFileError(
                f"the line has {counted(len(cells), 'cell')}, the header {len(names)}", file=file, line=line,
                hint="the file was truncated or changed after the profiler wrote it",
            )  # fmt: skip
        yield Row(file, line, dict(zip(names, cells, strict=True)))


_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def parse_number(text: str, *, file: str, line: int, column: str) -> float:
    """A finite number. Raises ProfileFileError for anything else."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text) or not isfinite(float(text)):
        raise ProfileFileError(f"{column} is {text[:40]!r}, which is not a number", file=file, line=line)
    return float(text)


def peek(table: Table) -> Table:
    """The same table, known to have a row. Raises NothingRecorded when it has only a header."""
    first = next(table.rows, None)
    if first is None:
        raise NothingRecorded(
            "the file has a header but no row: nothing was recorded", file=table.file, line=1,
            hint="check that a kernel ran on the GPU and that the filter matches it",
        )  # fmt: skip
    return Table(table.file, table.header, chain([first], table.rows))
