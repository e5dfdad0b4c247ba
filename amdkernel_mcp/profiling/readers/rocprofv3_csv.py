"""CSV files of rocprofv3 (ROCm 6.2 and later) and of `rocpd convert -f csv`.

Headers changed from release to release; columns are found by name, so all of these are read: no Kernel_Id and no
timestamps (6.2), timestamps (6.3), Accum_VGPR_Count (6.4), Stream_Id and `Agent N` (7.0), leading Guid and other case
(rocpd). Source: rocprofiler-sdk, generateCSV.cpp and the samples of its documentation.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import Row, Table, peek
from amdkernel_mcp.profiling.readers.recording import (
    KernelTotals,
    Pass,
    RecordedDispatch,
    Shape,
    duration_ns,
    kernel_name,
    timestamp_ns,
    visible,
)

LONG = {"counter_name", "counter_value", "kernel_name"}
TRACE = {"kernel_name", "start_timestamp", "end_timestamp", "workgroup_size_x"}
STATS = {"name", "calls", "totaldurationns"}


@dataclass
class _Counted:
    kernel: str
    shape: Shape
    passes: dict[tuple[str, str], Pass] = field(default_factory=dict)
    """By start and end: when a file has a dispatch once per pass, each pass has its own times."""


@dataclass(frozen=True)
class CounterFile:
    """The dispatches of one counter_collection file, in order, and the counters that it holds."""

    path: Path
    dispatches: tuple[RecordedDispatch, ...]
    counters: frozenset[str]
    warnings: tuple[str, ...] = ()


def read_counters(table: Table, path: Path) -> CounterFile:
    """The dispatches of a table with one row per dispatch and counter. Raises ProfileFileError."""
    table.require(["Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value"], what="a counter_collection file")
    dispatches: dict[tuple[str, ...], _Counted] = {}
    repeated: set[str] = set()
    for row in peek(table).rows:
        key = (row.text("guid"), row.text("process_id"), row.text("agent_id"), row.text("dispatch_id"))
        if key not in dispatches:
            dispatches[key] = _Counted(_kernel_of(row), _shape(row))
        counters = _pass_of(row, dispatches[key])
        name, value = visible(row.text("counter_name")), row.number("counter_value")
        if not name or value is None:
            raise ProfileFileError("a counter without a name or a value", file=row.file, line=row.line)
        if name in counters:
            repeated.add(name)
        counters[name] = counters.get(name, 0.0) + value  # instances that were not summed yet
    warnings: tuple[str, ...] = ()
    if repeated:
        warnings = (f"{path.name}: several values of {', '.join(sorted(repeated))} per dispatch were added up",)
    return CounterFile(
        path,
        tuple(RecordedDispatch(d.kernel, d.shape, None, tuple(d.passes.values())) for d in dispatches.values()),
        frozenset(name for d in dispatches.values() for one in d.passes.values() for name in one.counters),
        warnings,
    )


def _pass_of(row: Row, counted: _Counted) -> dict[str, float]:
    """The counters of the pass that the row belongs to; the caller adds to them."""
    start, end = row.text("start_timestamp"), row.text("end_timestamp")
    if (start, end) not in counted.passes:
        took = duration_ns(start, end, file=row.file, line=row.line)
        counted.passes[start, end] = Pass({}, took)
    counters = counted.passes[start, end].counters
    assert isinstance(counters, dict)
    return counters


def join_passes(files: Sequence[CounterFile]) -> tuple[RecordedDispatch, ...]:
    """Dispatches of all files; files with different counters of the same launches become their passes.

    Files with the same counters come from different processes (ranks, children): their dispatches are concatenated. A
    launch is identified by its kernel and its position, since dispatch numbers change from run to run.
    """
    runs: list[tuple[frozenset[str], list[RecordedDispatch]]] = []
    for file in files:
        run = next((r for r in runs if r[0] == file.counters), None)
        if run is None:
            runs.append((file.counters, list(file.dispatches)))
        else:
            run[1].extend(file.dispatches)
    joined: dict[tuple[str, int], RecordedDispatch] = {}
    for _, dispatches in runs:
        for key, dispatch in _by_position(dispatches):
            known = joined.get(key)
            joined[key] = dispatch if known is None else replace(known, passes=known.passes + dispatch.passes)
    return tuple(joined.values())


def add_durations(
    counted: Sequence[RecordedDispatch], timed: Sequence[RecordedDispatch]
) -> tuple[RecordedDispatch, ...]:
    """The counted dispatches with the times of a trace; a traced launch without counters is kept as well.

    A launch that the trace lacks has no time: that of the run with counters is not comparable.
    """
    times = dict(_by_position(timed))
    joined = dict(_by_position(counted))
    for key in joined.keys() - times.keys():
        passes = tuple(replace(one, duration_ns=None) for one in joined[key].passes)
        joined[key] = replace(joined[key], duration_ns=None, passes=passes)
    for key, dispatch in times.items():
        known = joined.get(key)
        joined[key] = dispatch if known is None else replace(known, duration_ns=dispatch.duration_ns)
    return tuple(joined.values())


def _by_position(dispatches: Iterable[RecordedDispatch]) -> Iterable[tuple[tuple[str, int], RecordedDispatch]]:
    positions: dict[str, int] = defaultdict(int)
    for dispatch in dispatches:
        yield (dispatch.kernel, positions[dispatch.kernel]), dispatch
        positions[dispatch.kernel] += 1


def read_trace(table: Table) -> tuple[RecordedDispatch, ...]:
    """The dispatches of a kernel_trace file in the order of their start. Raises ProfileFileError."""
    table.require(["Kernel_Name", "Start_Timestamp", "End_Timestamp"], what="a kernel_trace file")
    timed: list[tuple[int, RecordedDispatch]] = []
    for row in peek(table).rows:
        start, end = row.text("start_timestamp"), row.text("end_timestamp")
        if not start or not end:
            raise ProfileFileError("a dispatch without timestamps", file=row.file, line=row.line)
        took = duration_ns(start, end, file=row.file, line=row.line)
        begin = timestamp_ns(start, file=row.file, line=row.line)
        number = row.integer("dispatch_id")
        timed.append((begin, RecordedDispatch(_kernel_of(row), _shape(row), took, number=number)))
    return tuple(dispatch for _, dispatch in sorted(timed, key=lambda item: item[0]))


def read_stats(table: Table) -> tuple[KernelTotals, ...]:
    """The rows of a kernel_stats file. Raises ProfileFileError."""
    table.require(["Name", "Calls", "TotalDurationNs"], what="a kernel_stats file")
    rows = []
    for row in peek(table).rows:
        calls, total = row.integer("calls"), row.integer("totaldurationns")
        if not calls or total is None:
            raise ProfileFileError("a kernel without calls or without a duration", file=row.file, line=row.line)
        name = kernel_name(row.text("name"))
        rows.append(KernelTotals(name, calls, total, row.integer("minns"), row.integer("maxns")))
    return tuple(rows)


def _kernel_of(row: Row) -> str:
    name = row.text("kernel_name")
    if not name:
        raise ProfileFileError("a dispatch without a kernel name", file=row.file, line=row.line)
    return kernel_name(name)


def _shape(row: Row) -> Shape:
    return Shape(
        grid_items=row.integer("grid_size") or _product(row, "grid_size"),
        workgroup_items=row.integer("workgroup_size") or _product(row, "workgroup_size"),
        lds_bytes=row.integer("lds_block_size", "lds_per_workgroup"),
        scratch_bytes=row.integer("scratch_size", "scratch_per_workitem"),
        vgpr=row.integer("vgpr_count", "arch_vgpr"),
        agpr=row.integer("accum_vgpr_count", "accum_vgpr"),
        sgpr=row.integer("sgpr_count", "sgpr"),
    )


def _product(row: Row, name: str) -> int | None:
    sizes = [row.integer(f"{name}_{axis}") for axis in "xyz"]
    return None if None in sizes else (sizes[0] or 0) * (sizes[1] or 0) * (sizes[2] or 0)
