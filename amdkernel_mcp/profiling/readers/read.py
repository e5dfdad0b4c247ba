"""The recording at a path; its format is found from the content, not from the name."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from amdkernel_mcp.counted import counted as counted_noun
from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.code_files import CodeFiles, SampleNames
from amdkernel_mcp.profiling.readers.csv_table import (
    READABLE,
    NothingRecorded,
    Table,
    check_size,
    first_bytes,
    open_table,
    peek,
)
from amdkernel_mcp.profiling.readers.folder import list_folder
from amdkernel_mcp.profiling.readers.kernel_code import KernelCode
from amdkernel_mcp.profiling.readers.not_read import is_domain, unused, what_csv
from amdkernel_mcp.profiling.readers.pc_samples import SAMPLES_CSV, read_samples_csv
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
from amdkernel_mcp.profiling.readers.thread_trace import STATS_CSV, read_stats_csv
from amdkernel_mcp.profiling.readers.wide_csv import is_wide, read_wide
from amdkernel_mcp.profiling.readers.workload_folder import is_workload, read_workload, workload_files


def read_recording(path: Path) -> Recording:
    """The recording at `path`, a file or a folder. Raises ProfileFileError, with what to use instead."""
    if not path.exists():
        raise ProfileFileError("no such file or folder", file=str(path))
    if path.name == "filenames.json" and (path.parent / "code.json").is_file():
        path = path.parent  # what a viewer opens: the folder of a thread trace
    if path.is_dir():
        return _read_folder(path)
    if path.name == "pmc_perf.csv" and is_workload(path.parent):
        return read_workload(path.parent)
    check_size(path)
    if not path.is_file():
        raise ProfileFileError("this is neither a file nor a folder", file=str(path), hint=READABLE)
    return _read_files([path], (), folder=None)


def _read_folder(folder: Path) -> Recording:
    listing = list_folder(folder)
    if not is_workload(folder):
        return replace(_read_files(listing.files, listing.others, folder=folder), objects=listing.objects)
    recording = read_workload(folder)
    used = workload_files(folder)
    rest = [
        (path, "a table that rocprof-compute derived, or its settings") for path in listing.files if path not in used
    ]
    return replace(recording, warnings=recording.warnings + unused([*rest, *listing.others], folder))


class _Parts:
    """The parts of a recording found so far."""

    def __init__(self) -> None:
        self.counted: list[CounterFile] = []
        self.traced: list[RecordedDispatch] = []
        self.numbers = SampleNames()
        self.whole: list[Recording] = []
        self.device = Device()
        self.empty: NothingRecorded | None = None
        self.places: list[Path] = []  # of `whole`
        self.unused: list[tuple[Path, str]] = []
        self.code = CodeFiles()


def _read_files(paths: Sequence[Path], others: Sequence[tuple[Path, str]], *, folder: Path | None) -> Recording:
    parts = _Parts()
    for path in paths:
        _read_or_note(path, parts, alone=folder is None)
    for path in parts.code.samples:  # after the traces, which name the kernels
        try:
            parts.code.add(path, read_samples_csv(open_table(path), path, parts.numbers.of(path)))
        except NothingRecorded as error:
            _note_empty(path, parts, error, alone=folder is None)
    code, sources, doubled = parts.code.chosen()
    parts.unused += [*doubled, *others]
    found = _put_together(parts, code, where=str(folder or paths[0]))
    return replace(found, code=code, sources=sources, warnings=found.warnings + unused(parts.unused, folder))


def _read_or_note(path: Path, parts: _Parts, *, alone: bool) -> None:
    try:
        _read_file(path, parts, alone=alone)
    except NothingRecorded as error:  # a child process without kernels writes such files
        _note_empty(path, parts, error, alone=alone)
    parts.places += [path] * (len(parts.whole) - len(parts.places))


def _note_empty(path: Path, parts: _Parts, error: NothingRecorded, *, alone: bool) -> None:
    if alone:
        raise error
    parts.empty = error
    parts.unused.append((path, error.message))


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
            return
        parts.code.add(path, found.code, found.sources)
        if found.dispatches:
            parts.whole.append(replace(found, code=()))
    else:
        _read_csv(open_table(path), path, parts, alone=alone)


def _read_csv(table: Table, path: Path, parts: _Parts, *, alone: bool) -> None:
    columns = table.columns
    if columns >= LONG:
        parts.counted.append(read_counters(table, path))
    elif columns >= TRACE:
        traced = read_trace(table)
        parts.traced.extend(traced)
        parts.numbers.add(path, traced)
    elif columns >= SAMPLES_CSV:
        parts.code.samples.append(path)
    elif columns >= STATS_CSV:
        parts.code.add(path, read_stats_csv(table))
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


def _put_together(parts: _Parts, code: Sequence[KernelCode], *, where: str) -> Recording:
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
    if not parts.whole and code:
        return Recording(" and ".join(dict.fromkeys(each.method for each in code)), device=parts.device)
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
