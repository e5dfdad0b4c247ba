"""rocpd databases, the default output of rocprofv3 since ROCm 7.0.

Only the views are read: the tables behind them have a uuid in their names and change with the schema.
Source: rocprofiler-sdk, rocpd schema 3.
"""

import sqlite3
from collections import defaultdict
from pathlib import Path

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import NothingRecorded, check_size
from amdkernel_mcp.profiling.readers.not_read import SPM
from amdkernel_mcp.profiling.readers.recording import (
    Pass,
    RecordedDispatch,
    Recording,
    Shape,
    finite,
    kernel_name,
    visible,
    whole,
)
from amdkernel_mcp.profiling.readers.untrusted_sqlite import UntrustedDatabase, open_untrusted

_KERNELS = """
    SELECT guid, dispatch_id, name, start, "end", grid_x * grid_y * grid_z, workgroup_x * workgroup_y * workgroup_z,
           lds_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count
    FROM kernels ORDER BY start
"""
_COUNTERS = """
    SELECT guid, dispatch_id, kernel_name, start, "end", grid_size, workgroup_size,
           lds_block_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count, counter_name, value
    FROM counters_collection ORDER BY start
"""
_Key = tuple[str, int]


def read_rocpd(path: Path) -> Recording:
    """The dispatches of the views `kernels` and `counters_collection`. Raises ProfileFileError."""
    check_size(path)
    try:
        with open_untrusted(path) as database:
            views = database.tables()
            if not views & {"kernels", "counters_collection"}:
                raise ProfileFileError(
                    "the database has no view `kernels`: rocprofv3 did not write it", file=str(path),
                    hint="for rocprof v1 use results.csv, not results.db",
                )  # fmt: skip
            found, lost = _dispatches(database, views)
            over_time = "spm_counters" in views and any(database.rows("SELECT 1 FROM spm_counters LIMIT 1"))
    except (sqlite3.Error, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProfileFileError(f"cannot read the database: {visible(str(error))[:200]}", file=str(path)) from error
    if not found and over_time:
        raise NothingRecorded(f"the database has {SPM}", file=str(path))
    if not found:
        raise NothingRecorded("the database has no kernel dispatch: nothing was recorded", file=str(path))
    warnings = []
    if lost > 0:
        warnings.append(f"{lost} dispatches are in the database but not in its view `kernels`")
    if over_time:
        warnings.append(f"{path.name} has also {SPM}")
    return Recording("rocpd", tuple(found), warnings=tuple(warnings))


def _dispatches(database: UntrustedDatabase, views: frozenset[str]) -> tuple[list[RecordedDispatch], int]:
    """The dispatches, and how many the inner joins of the view drop."""
    names: dict[_Key, tuple[str, Shape, int | None]] = {}
    passes: dict[_Key, dict[int | None, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    if "counters_collection" in views:
        for guid, number, name, start, end, *shape, counter, value in database.rows(_COUNTERS):
            key = (guid, number)
            names.setdefault(key, (_name(name), Shape(*map(whole, shape)), None))
            passes[key][_took(start, end)][visible(counter)] = finite(value)
    timed = 0
    if "kernels" in views:
        for guid, number, name, start, end, *shape in database.rows(_KERNELS):
            names[guid, number] = (_name(name), Shape(*map(whole, shape)), _took(start, end))
            timed += 1
    lost = 0
    if "rocpd_kernel_dispatch" in views:
        lost = next(database.rows("SELECT count(*) FROM rocpd_kernel_dispatch"))[0] - timed
    return [
        RecordedDispatch(name, shape, took, tuple(Pass(c, t) for t, c in passes[key].items()))
        for key, (name, shape, took) in names.items()
    ], lost


def _name(value: object) -> str:
    """A column holds what its writer put there: a name may be missing."""
    return kernel_name(value) if isinstance(value, str) else "(no name)"


def _took(start: object, end: object) -> int | None:
    begin, finish = whole(start), whole(end)
    if begin is None or finish is None:
        return None
    if finish < begin:
        raise ValueError(f"the end {finish} is before the start {begin}")
    return finish - begin or None
