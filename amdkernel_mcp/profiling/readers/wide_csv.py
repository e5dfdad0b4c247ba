"""CSV with one row per dispatch and one column per counter: rocprof v1 and v2, and rocprof-compute's pmc_perf.csv."""

import re
from dataclasses import dataclass
from itertools import pairwise

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import Row, Table, parse_number, peek
from amdkernel_mcp.profiling.readers.recording import Pass, RecordedDispatch, Shape, duration_ns, kernel_name

NAMES = {"kernelname", "kernel_name"}
STARTS = ("start_timestamp", "beginns")
ENDS = ("end_timestamp", "endns")

# Columns that describe the dispatch, by release: v1 (`queue-id`), v2 (`Queue_ID`), rocprof-compute's merge (`obj_3`).
_DESCRIBES = re.compile(
    r"(index|kernel-?_?name|kernel_id|gpu[-_]id|agent_id|queue[-_]id|queue[-_]index|pid|tid|process_id|thread_id|grd|"
    r"grid_size|wgr|workgroup_size|lds|lds_per_workgroup|scr|scratch_per_workitem|vgpr|arch_vgpr|accum_vgpr|sgpr|fbar|"
    r"wave[-_]size|sig|obj|dispatchns|beginns|endns|completens|durationns|dispatch_id|start_timestamp|end_timestamp|"
    r"correlation_id|xcc_index|node|iteration|guid)(_\d+)?(\.\d+)?",
    re.IGNORECASE,
)
_CHANNEL = re.compile(r"(.+)\[\d+\]")


@dataclass(frozen=True)
class WideTable:
    """The dispatches of one file, and the counters that it has."""

    dispatches: tuple[RecordedDispatch, ...]
    counters: frozenset[str]


def is_wide(table: Table) -> bool:
    """Whether the table has one row per dispatch: a kernel's name, and a size or times, but no Counter_Name."""
    columns = table.columns
    described = columns & {"grd", "grid_size", *STARTS}
    return bool(columns & NAMES and described) and "counter_name" not in columns


def read_wide(table: Table, *, merged: bool = False) -> WideTable:
    """The dispatches in the order of the file. `merged`: the row comes from several passes. Raises ProfileFileError."""
    accumulators = _accumulators(table.header)
    counters = [name for name in table.header if name and not _DESCRIBES.fullmatch(name)]
    dispatches = []
    for row in peek(table).rows:
        values = _values(row, counters, accumulators)
        start, end = row.text(*STARTS), row.text(*ENDS)
        took = duration_ns(start, end, file=row.file, line=row.line)
        passes = (Pass(values, took, merged),) if values else ()
        name = row.text("kernel_name", "kernelname")
        if not name:
            raise ProfileFileError("a dispatch without a kernel name", file=row.file, line=row.line)
        dispatches.append(RecordedDispatch(kernel_name(name), _shape(row), took, passes))
    return WideTable(tuple(dispatches), frozenset(n for d in dispatches for p in d.passes for n in p.counters))


def _accumulators(header: tuple[str, ...]) -> dict[str, str]:
    """New names of accumulator columns: SQ_ACCUM_PREV_HIRES (`_7`, …) accumulates the *_LEVEL counter before it."""
    renamed = {}
    for before, name in pairwise(header):
        if re.fullmatch(r"SQ_ACCUM_PREV(_HIRES)?(_\d+)?", name) and "LEVEL" in before:
            renamed[name] = f"{before}_ACCUM"
    return renamed


def _values(row: Row, counters: list[str], accumulators: dict[str, str]) -> dict[str, float]:
    values: dict[str, float] = {}
    channels: dict[str, float] = {}
    for name in counters:
        text = row.cells[name.lower()].strip()
        if not text or text.lower() in ("nan", "n/a", "none"):  # not counted in this pass
            continue
        value = parse_number(text, file=row.file, line=row.line, column=name)
        if channel := _CHANNEL.fullmatch(name):
            total = f"{channel.group(1)}_sum"
            channels[total] = channels.get(total, 0.0) + value
        else:
            values[accumulators.get(name, name)] = value
    return channels | values  # a sum that the profiler printed wins over ours


def _shape(row: Row) -> Shape:
    return Shape(
        grid_items=row.integer("grid_size", "grd"),
        workgroup_items=row.integer("workgroup_size", "wgr"),
        lds_bytes=row.integer("lds_per_workgroup", "lds"),
        scratch_bytes=row.integer("scratch_per_workitem", "scr"),
        vgpr=row.integer("arch_vgpr", "vgpr"),
        agpr=row.integer("accum_vgpr"),
        sgpr=row.integer("sgpr"),
    )
