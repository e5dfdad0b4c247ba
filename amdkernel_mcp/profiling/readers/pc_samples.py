"""PC samples of rocprofv3 (`--pc-sampling-method host_trap` or `stochastic`), as CSV and as JSON.

Source: rocprofiler-sdk, "Using PC sampling": columns, and the records of JSON. A stall reason has a meaning only where
the wave did not issue. A sample has the number of its dispatch; the kernel's name is in the kernel trace of the same
process. Some releases write keys of JSON with a blank at the end (`"workgroup_id "`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.code_rows import MOST_INSTRUCTIONS, count, place, reason_name, too_many
from amdkernel_mcp.profiling.readers.csv_table import Row, Table, peek
from amdkernel_mcp.profiling.readers.kernel_code import UNNAMED, Cost, KernelCode, Method, Place
from amdkernel_mcp.profiling.readers.recording import visible

SAMPLES_CSV = {"exec_mask", "dispatch_id", "instruction"}
_Json = Mapping[str, Any]
_METHODS: Mapping[str, Method] = {
    "pc_sample_stochastic": "stochastic samples",
    "pc_sample_host_trap": "host-trap samples",
}


def read_samples_csv(table: Table, path: Path, names: Mapping[int, str]) -> list[KernelCode]:
    """The samples of a pc_sampling CSV file by kernel. `names`: kernels by the number of the dispatch.

    Samples of a dispatch that `names` lacks are those of a kernel without a name. Raises ProfileFileError.
    """
    table.require(["Dispatch_Id", "Instruction", "Exec_Mask"], what="a file of PC samples")
    stochastic = "wave_issued_instruction" in table.columns
    samples = _Samples(str(path), names)
    places: dict[tuple[str, str], Place] = {}  # samples are many, places are few
    for row in peek(table).rows:
        dispatch = row.integer("dispatch_id")
        if dispatch is None:
            raise ProfileFileError("a sample without a dispatch", file=row.file, line=row.line)
        issued, reason = True, ""
        if stochastic:
            issued, reason = bool(row.integer("wave_issued_instruction")), row.text("stall_reason")
        texts = (row.text("instruction"), row.text("instruction_comment"))
        where = places.get(texts) or places.setdefault(texts, place(*texts))
        samples.add(dispatch, where, issued, reason, _lanes(row))
    return samples.kernels("stochastic samples" if stochastic else "host-trap samples")


def _lanes(row: Row) -> int:
    text = row.text("exec_mask")
    if not text.isdecimal() or len(text) > 20:
        raise ProfileFileError(f"Exec_Mask is {text[:40]!r}, which is not a mask", file=row.file, line=row.line)
    return int(text).bit_count()


def slim_record(record: dict[str, Any]) -> dict[str, Any]:
    """A JSON object without what is not read; for json.loads, so that millions of samples fit in memory."""
    if any(key[-1:] == " " for key in record):
        record = {key.strip(): value for key, value in record.items()}
    if "stall_reason" in record:
        return {"stall_reason": record["stall_reason"]}
    return _NO_HARDWARE if "shader_engine_id" in record and "simd_id" in record else record


_NO_HARDWARE: dict[str, Any] = {}


def samples_of(process: _Json, names: Mapping[int, str], path: Path) -> list[KernelCode]:
    """The samples of one process of rocprofv3's JSON. Raises KeyError, TypeError or ValueError for what is not that."""
    strings = process.get("strings", {})
    texts, comments = strings.get("pc_sample_instructions", []), strings.get("pc_sample_comments", [])
    found: list[KernelCode] = []
    for key, method in _METHODS.items():
        samples = _Samples(str(path), names)
        for part in ("buffer_records", "callback_records"):
            for entry in process.get(part, {}).get(key, []):
                _add_record(samples, entry, texts, comments)
        found += samples.kernels(method)
    return found


def _add_record(samples: "_Samples", entry: _Json, texts: list[Any], comments: list[Any]) -> None:
    record = entry.get("record", entry)
    index, pc = entry.get("inst_index", record.get("inst_index")), record["pc"]
    known = isinstance(index, int) and 0 <= index < len(texts)
    text = texts[index] if known else "(not decoded)"
    comment = comments[index] if known and index < len(comments) else ""
    reason = record.get("snapshot", {}).get("stall_reason", "")
    issued = bool(record.get("wave_issued", 1))
    where = place(text, comment, count(pc["code_object_id"]), count(pc["code_object_offset"]))
    mask = record.get("exec_mask", 0)
    if not isinstance(mask, int) or not 0 <= mask < 1 << 64:
        raise ValueError(f"exec_mask {visible(str(mask))[:40]}")
    samples.add(count(record["dispatch_id"]), where, issued, reason, mask.bit_count())


class _Samples:
    """Samples added up while a file is read: memory grows with different places, not with samples."""

    def __init__(self, file: str, names: Mapping[int, str]) -> None:
        self._file = file
        self._names = names
        self._places: dict[tuple[str, Place], tuple[list[int], dict[str, int]]] = {}

    def add(self, dispatch: int, where: Place, issued: bool, reason: object, lanes: int) -> None:
        key = (self._names.get(dispatch, UNNAMED), where)
        if key not in self._places:
            if len(self._places) >= MOST_INSTRUCTIONS:
                raise too_many(self._file)
            self._places[key] = ([0, 0, 0], {})
        numbers, reasons = self._places[key]
        numbers[0] += 1
        numbers[1] += not issued
        numbers[2] += lanes
        if not issued and reason:
            name = reason_name(reason)
            reasons[name] = reasons.get(name, 0) + 1

    def kernels(self, method: Method) -> list[KernelCode]:
        found: dict[str, dict[Place, Cost]] = {}
        for (kernel, where), ((samples, stalled, lanes), reasons) in self._places.items():
            cost = Cost(samples=samples, stalled=stalled, lanes=lanes, reasons=reasons)
            found.setdefault(kernel, {})[where] = cost
        return [KernelCode(kernel, method, costs) for kernel, costs in found.items()]
