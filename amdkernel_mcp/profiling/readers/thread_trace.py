"""Thread traces of rocprofv3 (`--att`): the code.json of a `ui_output_agent_A_dispatch_D` folder, and the stats CSV.

code.json also holds PC samples, as rocprof-compute-viewer reads them. Source: rocprofiler-sdk, "Using thread trace",
and its att-tool, code.cpp: a row is [ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle]; samples
add PC_Issued, PC_Stalled and Stall_Reasons; the header is a list or one text; a row `; name` begins a kernel, with its
demangled name as Source. The files of single waves are not needed: code.json has their sums.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.code_rows import MOST_INSTRUCTIONS, count, place, reason_name, too_many
from amdkernel_mcp.profiling.readers.csv_table import NothingRecorded, Table, peek
from amdkernel_mcp.profiling.readers.kernel_code import UNNAMED, Cost, KernelCode, Method, Place
from amdkernel_mcp.profiling.readers.recording import kernel_name

STATS_CSV = {"vaddr", "instruction", "hitcount", "latency"}
_HEADER = ("ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle")
_LONGEST_HEADER = 64
_EMPTY = "the thread trace has no instruction: no wave of the kernel ran on the traced CU, or it was not decoded"
_EMPTY_HINT = (
    "launch more waves, or record with --att-shader-engine-mask 0x11111111 or another --att-target-cu; before ROCm "
    "7.13 the decoder is a separate download, named with --att-library-path"
)


def is_code(document: object) -> bool:
    """Whether a JSON document is a code.json."""
    return isinstance(document, dict) and "code" in document


def read_code(document: Mapping[str, Any], path: Path) -> list[KernelCode]:
    """The kernels of a code.json. Raises ProfileFileError, NothingRecorded where it has no instruction."""
    rows = document["code"]
    if "header" not in document and "version" not in document:
        raise ProfileFileError(
            "`code` has no `header` that names its columns, so this is not what the decoder of thread traces writes",
            file=str(path),
            hint=f'add what the columns are, such as "header": "{",".join(_HEADER)}"',
        )
    if not rows:
        raise NothingRecorded(_EMPTY, file=str(path), hint=_EMPTY_HINT)
    if not isinstance(rows, list):
        raise ProfileFileError("`code` is not a list", file=str(path))
    if len(rows) > MOST_INSTRUCTIONS:
        raise too_many(str(path))
    columns = _columns(document.get("header"))
    if "ISA" not in columns:
        raise ProfileFileError("the header of `code` has no field ISA", file=str(path))
    found = _Kernels(path)
    for number, row in enumerate(rows):
        try:
            found.add(*_row(row, columns))
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            what = f"row {number} of `code` cannot be read: {error}"[:200]
            raise ProfileFileError(what, file=str(path)) from error
    sampled = "PC_Stalled" in columns or "PC_Issued" in columns
    return list(found.kernels(_method if sampled else lambda _: "thread trace"))


def _columns(header: object) -> dict[str, int]:
    """The position of each field; of the documented order where the file has no header, as the first releases."""
    names: Sequence[object] = header if isinstance(header, list) else str(header).split(",") if header else _HEADER
    return {str(name).strip(): position for position, name in enumerate(names[:_LONGEST_HEADER])}


def _row(row: Sequence[Any], columns: Mapping[str, int]) -> tuple[Place, Cost]:
    def cell(name: str) -> Any:
        return row[columns[name]] if name in columns else None

    if not isinstance(row, list):
        raise TypeError("it is not a list")
    issued, stalled = count(cell("PC_Issued")), count(cell("PC_Stalled"))
    reasons = cell("Stall_Reasons") or []
    if not isinstance(reasons, list) or len(reasons) > _LONGEST_HEADER:
        raise TypeError("Stall_Reasons is not a list of counts")
    hits, latency, stall, idle = (count(cell(name)) for name in ("Hit", "Latency", "Stall", "Idle"))
    named = {reason_name(index): number for index, one in enumerate(reasons) if (number := count(one))}
    cost = Cost(hits, latency, stall, idle, samples=issued + stalled, stalled=stalled, reasons=named)
    return place(cell("ISA"), cell("Source") or "", count(cell("Codeobj")), count(cell("Vaddr"))), cost


def _method(costs: Mapping[Place, Cost]) -> Method:
    """`is_pcs_stochastic` of filenames.json is false in recordings that have reasons, so these decide."""
    if any(cost.reasons for cost in costs.values()):
        return "stochastic samples"
    return "host-trap samples" if any(cost.samples for cost in costs.values()) else "thread trace"


def read_stats_csv(table: Table) -> list[KernelCode]:
    """The kernels of a `stats_ui_output_agent_A_dispatch_D.csv`. Raises ProfileFileError."""
    table.require(["Vaddr", "Instruction", "Hitcount", "Latency"], what="the statistics of a thread trace")
    try:
        table = peek(table)
    except NothingRecorded as error:
        raise NothingRecorded(_EMPTY, file=table.file, hint=_EMPTY_HINT) from error
    found = _Kernels(Path(table.file))
    for row in table.rows:
        hits, latency, stall, idle = (row.integer(name) or 0 for name in ("hitcount", "latency", "stall", "idle"))
        if min(hits, latency, stall, idle) < 0:
            raise ProfileFileError("a negative count", file=row.file, line=row.line)
        where = place(row.text("instruction"), row.text("source"), row.integer("codeobj"), row.integer("vaddr"))
        found.add(where, Cost(hits, latency, stall, idle))
    return list(found.kernels(lambda _: "thread trace"))


class _Kernels:
    """The rows of a file so far, by kernel."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._costs: dict[tuple[str, str], dict[Place, Cost]] = {}
        self._now: dict[Place, Cost] | None = None
        self._rows = 0

    def add(self, where: Place, cost: Cost) -> None:
        self._rows += 1
        if self._rows > MOST_INSTRUCTIONS:
            raise too_many(str(self._path))
        if where.text.startswith(";"):
            mangled = kernel_name(where.text[1:])
            self._now = self._costs.setdefault((kernel_name(where.source) or mangled, mangled), {})
            return
        if self._now is None:
            self._now = self._costs.setdefault((UNNAMED, ""), {})
        self._now[where] = self._now[where] + cost if where in self._now else cost

    def kernels(self, method: Any) -> Iterator[KernelCode]:
        for (name, mangled), costs in self._costs.items():
            if costs:
                yield KernelCode(name, method(costs), costs, mangled)
        if not any(self._costs.values()):
            raise NothingRecorded(_EMPTY, file=str(self._path), hint=_EMPTY_HINT)
