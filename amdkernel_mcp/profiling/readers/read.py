"""The recording at a path; its format is found from the content, not from the name."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from amdkernel_mcp.counted import counted as counted_noun
from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import (
    READABLE,
    NothingRecorded,
    Table,
    check_size,
    first_bytes,
    open_table,
    peek,
)
from amdkernel_mcp.profiling.readers.not_read import is_domain, unused, what_csv
from amdkernel_mcp.profiling.readers.recording import Device, RecordedDispatch, Recording, visible
from amdkernel_mcp.profiling.readers.rocprofv3_csv import (
    LONG,
    STATS,
    TRACE,
    CounterFile,
    add_durations,
    join_passes,
    read_counters,
    read_stats,
    read_trace,
)
from amdkernel_mcp.profiling.readers.wide_csv import is_wide, read_wide
from amdkernel_mcp.profiling.readers.workload_folder import is_workload, read_workload

MOST_FILES = 2000


def read_recording(path: Path) -> Recording:
    """The recording at `path`, a file or a folder. Raises ProfileFileError, with what to use instead."""
    if not path.exists():
        raise ProfileFileError("no such file or folder", file=str(path))
    if path.is_dir():
        if is_workload(path):
            return read_workload(path)
        return _read_files(_files(path), folder=path)
    if path.name == "pmc_perf.csv" and is_workload(path.parent):
        return read_workload(path.parent)
    check_size(path)
    if not path.is_file():
        raise ProfileFileError("this is neither a file nor a folder", file=str(path), hint=READABLE)
    return _read_files([path], folder=None)


def _files(folder: Path) -> list[Path]:
    found = [p for p in folder.rglob("*") if p.suffix.lower() in (".csv", ".json", ".db") and p.is_file()]
    found.sort(key=_by_number)
    if not found:
        raise ProfileFileError("the folder has no CSV, JSON or .db file", file=str(folder), hint=READABLE)
    if len(found) > MOST_FILES:
        raise ProfileFileError(
            f"the folder has {len(found)} files", file=str(folder), hint="use the folder of one recording"
        )
    return found


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Process 99 before process 100: the files of processes are read in the order in which these began."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]


class _Parts:
    """The parts of a recording found so far."""

    def __init__(self) -> None:
        self.counted: list[CounterFile] = []
        self.traced: list[RecordedDispatch] = []
        self.whole: list[Recording] = []
        self.device = Device()
        self.empty: NothingRecorded | None = None
        self.places: list[Path] = []  # of `whole`
        self.unused: list[tuple[Path, str]] = []


def _read_files(paths: Sequence[Path], *, folder: Path | None) -> Recording:
    parts = _Parts()
    for path in paths:
        try:
            _read_file(path, parts, alone=folder is None)
        except NothingRecorded as error:  # a child process without kernels writes such files
            if folder is None:
                raise
            parts.empty = error
            parts.unused.append((path, "nothing was recorded"))
        parts.places += [path] * (len(parts.whole) - len(parts.places))
    found = _put_together(parts, where=str(folder or paths[0]))
    return replace(found, warnings=found.warnings + unused(parts.unused))


def _read_file(path: Path, parts: _Parts, *, alone: bool) -> None:
    start = first_bytes(path, 64)
    if start.startswith(b"SQLite format 3\0"):
        from amdkernel_mcp.profiling.readers.rocpd import read_rocpd

        parts.whole.append(read_rocpd(path))
    elif start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        from amdkernel_mcp.profiling.readers.rocprofv3_json import read_json

        found = read_json(path, alone=alone)
        if isinstance(found, str):
            parts.unused.append((path, found))
        else:
            parts.whole.append(found)
    else:
        _read_csv(open_table(path), path, parts, alone=alone)


def _read_csv(table: Table, path: Path, parts: _Parts, *, alone: bool) -> None:
    columns = table.columns
    if columns >= LONG:
        parts.counted.append(read_counters(table, path))
    elif columns >= TRACE:
        parts.traced.extend(read_trace(table))
    elif columns >= STATS and "kernel" in path.name.lower():
        parts.whole.append(Recording("rocprofv3 kernel_stats", totals=read_stats(table), timed_apart=True))
    elif is_wide(table):
        parts.whole.append(Recording("rocprof results.csv", read_wide(table).dispatches))
    elif {"agent_type", "cu_count", "name"} <= columns:
        parts.device = _device(table)
    elif columns >= STATS and alone:
        totals = read_stats(table)
        if any(is_domain(row.kernel) for row in totals):
            raise ProfileFileError(
                "this file has statistics of domains or API calls, not of kernels", file=str(path), hint=READABLE
            )
        parts.whole.append(Recording("rocprofv3 kernel_stats", totals=totals, timed_apart=True))
    elif alone:
        _refuse(table, path)
    else:
        parts.unused.append((path, what_csv(table)))


def _refuse(table: Table, path: Path) -> None:
    columns = table.columns
    if "counter_name" in columns or {"dispatch_id", "kernel_name"} <= columns:
        wanted = ["Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value"]
        table.require(wanted, what="a counter_collection file")
    raise ProfileFileError(
        f"this CSV is not a recording of kernels: {what_csv(table)}", file=str(path), line=1, hint=READABLE
    )


def _device(table: Table) -> Device:
    """The first GPU of an agent_info file."""
    for row in peek(table).rows:
        if row.text("agent_type").upper() == "GPU":
            return Device(
                visible(row.text("name")) or None, visible(row.text("product_name")) or None,
                row.integer("cu_count"), row.integer("num_xcc"),
            )  # fmt: skip
    return Device()


def _put_together(parts: _Parts, *, where: str) -> Recording:
    if parts.counted or parts.traced:
        counted = join_passes(parts.counted)
        dispatches = add_durations(counted, parts.traced) if parts.traced else counted
        kinds = [name for name, there in (("counters", parts.counted), ("trace", parts.traced)) if there]
        warnings = tuple(warning for file in parts.counted for warning in file.warnings)
        untimed = sum(not dispatch.duration_ns for dispatch in dispatches) if parts.traced else 0
        if untimed:
            warnings += (f"the trace lacks {counted_noun(untimed, 'launch', 'launches')} that the counters have",)
        csv = Recording(
            f"rocprofv3 CSV ({' and '.join(kinds)})", dispatches, device=parts.device, warnings=warnings,
            timed_apart=bool(parts.traced),
        )  # fmt: skip
        parts.unused += [(path, "the CSV next to it was read instead") for path in parts.places]
        return csv
    if not parts.whole:
        if parts.empty is not None:
            raise parts.empty
        raise ProfileFileError("no file here is a recording of kernels", file=where, hint=READABLE)
    first = min(parts.whole, key=lambda recording: not recording.dispatches)  # dispatches say more than totals
    parts.unused += [
        (path, f"{first.format} was read instead")
        for path, recording in zip(parts.places, parts.whole, strict=True)
        if recording.format != first.format
    ]
    if len(parts.whole) == 1:
        return first
    same = [r for r in parts.whole if r.format == first.format]
    return replace(
        first,
        dispatches=tuple(d for r in same for d in r.dispatches),
        totals=tuple(t for r in same for t in r.totals),
        warnings=tuple(dict.fromkeys(w for r in same for w in r.warnings)),
    )
