"""Workload folders of rocprof-compute (up to 3.8, which still wrote CSV): pmc_perf.csv, timestamps.csv, sysinfo.csv."""

from dataclasses import replace
from pathlib import Path
from statistics import median

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import open_table, peek
from amdkernel_mcp.profiling.readers.recording import Device, RecordedDispatch, Recording, visible
from amdkernel_mcp.profiling.readers.rocprofv3_csv import LONG, CounterFile, join_passes, read_counters
from amdkernel_mcp.profiling.readers.wide_csv import is_wide, read_wide


def is_workload(folder: Path) -> bool:
    """Whether rocprof-compute made this folder."""
    return (folder / "pmc_perf.csv").is_file() and (folder / "sysinfo.csv").is_file()


def workload_files(folder: Path) -> frozenset[Path]:
    """The files that read_workload reads."""
    named = (folder / name for name in ("pmc_perf.csv", "timestamps.csv", "sysinfo.csv"))
    return frozenset([*named, *folder.glob("SQ_*LEVEL*.csv")])


def read_workload(folder: Path) -> Recording:
    """The dispatches with the merged row as their first pass and one more for each accumulate file.

    Timestamps of every file are copied from the timing run, so durations are those of a run without counters.
    """
    merged, is_long = _read(folder / "pmc_perf.csv", merged=True)
    levels = [_read(path, merged=False)[0] for path in sorted(folder.glob("SQ_*LEVEL*.csv"))]
    dispatches = [*merged.dispatches]
    for file in levels:
        dispatches = _add_pass(dispatches, file)
    timing = folder / "timestamps.csv"
    if timing.is_file():
        times = read_wide(open_table(timing)).dispatches
        dispatches = _add_times(dispatches, times, file=str(timing))
    warnings = list(merged.warnings)
    if not is_long:
        warnings.append(
            "pmc_perf.csv merges counters of several runs in one row: percentages of GRBM_GUI_ACTIVE and ratios of "
            "counters may mix runs"
        )
    return Recording(
        "rocprof-compute workload", tuple(dispatches), device=_device(folder / "sysinfo.csv"),
        warnings=tuple(warnings), timed_apart=True,
    )  # fmt: skip


def _read(path: Path, *, merged: bool) -> tuple[CounterFile, bool]:
    table = open_table(path)
    if table.columns >= LONG:
        long = read_counters(table, path)
        return replace(long, dispatches=tuple(_one_time(dispatch) for dispatch in join_passes([long]))), True
    if not is_wide(table):
        raise ProfileFileError("this is not a counter file of rocprof-compute", file=str(path), line=1)
    wide = read_wide(table, merged=merged)
    return CounterFile(path, wide.dispatches, wide.counters), False


def _one_time(dispatch: RecordedDispatch) -> RecordedDispatch:
    """The dispatch with one duration for all its passes, the median over its rows, as rocprof-compute takes it."""
    rows = [one.duration_ns for one in dispatch.passes for _ in one.counters if one.duration_ns]
    passes = tuple(replace(one, duration_ns=None) for one in dispatch.passes)
    return replace(dispatch, duration_ns=round(median(rows)) if rows else None, passes=passes)


def _add_pass(dispatches: list[RecordedDispatch], file: CounterFile) -> list[RecordedDispatch]:
    """Joined by order: Dispatch_ID starts at 0 in some files of a folder and at 1 in others."""
    if [d.kernel for d in dispatches] != [d.kernel for d in file.dispatches]:
        raise ProfileFileError(
            f"its {len(file.dispatches)} dispatches are not the {len(dispatches)} of pmc_perf.csv",
            file=str(file.path), hint="the folder mixes files of two recordings",
        )  # fmt: skip
    return [
        replace(dispatch, passes=dispatch.passes + more.passes)
        for dispatch, more in zip(dispatches, file.dispatches, strict=True)
    ]


def _add_times(
    dispatches: list[RecordedDispatch], times: tuple[RecordedDispatch, ...], *, file: str
) -> list[RecordedDispatch]:
    if len(times) != len(dispatches):
        raise ProfileFileError(f"{len(times)} dispatches, but pmc_perf.csv has {len(dispatches)}", file=file)
    return [replace(d, duration_ns=t.duration_ns) for d, t in zip(dispatches, times, strict=True)]


def _device(path: Path) -> Device:
    row = next(peek(open_table(path)).rows)
    name = visible(row.text("gpu_model", "gpu_name"))
    return Device(
        gfx=visible(row.text("gpu_arch")) or None,
        name=name or None,
        cus=row.integer("cu_per_gpu"),
        xcds=row.integer("num_xcd"),
    )
