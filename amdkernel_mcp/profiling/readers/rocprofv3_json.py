"""rocprofv3's JSON (`-f json`): numbers in records, names in separate tables. Also the code.json of a thread trace.

Source: rocprofv3-schema.json of the rocprofiler-sdk documentation.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import READABLE, NothingRecorded, check_size
from amdkernel_mcp.profiling.readers.kernel_code import KernelCode
from amdkernel_mcp.profiling.readers.not_read import SPM, what_json
from amdkernel_mcp.profiling.readers.pc_samples import samples_of, slim_record
from amdkernel_mcp.profiling.readers.recording import (
    Device,
    Pass,
    RecordedDispatch,
    Recording,
    Shape,
    finite,
    kernel_name,
    visible,
    whole,
)
from amdkernel_mcp.profiling.readers.sources import source_copies
from amdkernel_mcp.profiling.readers.thread_trace import is_code, read_code

Json = Mapping[str, Any]
LARGEST_JSON_BYTES = 256 << 20
"""A parsed document takes several times its size in memory."""


def read_json(path: Path, *, alone: bool) -> Recording | str:
    """The recording. What it is, for another JSON file that is not `alone`. Raises ProfileFileError."""
    check_size(path, LARGEST_JSON_BYTES)
    try:
        document = json.loads(path.read_bytes(), parse_constant=_no_constant, object_hook=slim_record)
    except json.JSONDecodeError as error:
        hint = "the file was truncated: wait for the profiler to end"
        raise ProfileFileError(
            f"this is not JSON: {error.msg}", file=str(path), line=error.lineno, hint=hint
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, NaN, a number of thousands of digits
        raise ProfileFileError(f"this is not JSON: {error}"[:200], file=str(path), hint=READABLE) from error
    if is_code(document):
        return Recording("code.json", code=tuple(read_code(document, path)), sources=source_copies(path.parent))
    processes = document.get("rocprofiler-sdk-tool") if isinstance(document, dict) else None
    processes = [processes] if isinstance(processes, dict) else processes
    if not isinstance(processes, list):
        if alone:
            raise ProfileFileError(
                f"this is not a recording of kernels: {what_json(document)}", file=str(path), hint=READABLE
            )
        return what_json(document)
    try:
        return _recording(processes, path, alone=alone)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        what = visible(f"{type(error).__name__} {error}")[:200]
        raise ProfileFileError(f"the JSON is not as rocprofv3 writes it: {what}", file=str(path)) from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _recording(processes: list[Json], path: Path, *, alone: bool) -> Recording | str:
    dispatches: list[RecordedDispatch] = []
    code: list[KernelCode] = []
    device = Device()
    raw, over_time = 0, False
    for process in processes:
        raw += len(process.get("strings", {}).get("att_filenames", []))
        if raw and "buffer_records" not in process:
            continue
        over_time |= bool(process["callback_records"].get("spm_counter_collection"))
        numbered = _dispatches(process)
        dispatches.extend(numbered.values())
        code += samples_of(process, {number: one.kernel for number, one in numbered.items()}, path)
        if numbered:
            device = _device(process)
    if not dispatches and not code:
        if raw and not alone:
            return (
                f"it only lists {counted(raw, 'raw file')} of a thread trace; code.json and stats_*.csv have the sums"
            )
        if raw:
            raise ProfileFileError(
                f"this JSON only lists {counted(raw, 'raw file')} of a thread trace and has no instruction",
                file=str(path), hint="give the folder that it lies in, with ui_output_* and stats_*.csv",
            )  # fmt: skip
        if over_time:
            raise NothingRecorded(f"the file has {SPM}", file=str(path))
        raise NothingRecorded("the file has no kernel dispatch: nothing was recorded", file=str(path))
    warnings = (f"{path.name} has also {SPM}",) if over_time else ()
    return Recording("rocprofv3 JSON", tuple(dispatches), device=device, code=tuple(code), warnings=warnings)


def _dispatches(process: Json) -> dict[int, RecordedDispatch]:
    """The dispatches by number."""
    symbols = {symbol["kernel_id"]: symbol for symbol in process["kernel_symbols"]}
    names = {counter["id"]["handle"]: counter["name"] for counter in process.get("counters", [])}
    counters_of: dict[int, dict[str, float]] = {}
    infos: dict[int, tuple[Json, int | None]] = {}
    for record in process["callback_records"].get("counter_collection", []):
        data = record["dispatch_data"]
        info = data["dispatch_info"]
        counters: dict[str, float] = defaultdict(float)
        for value in record["records"]:
            counters[visible(str(names[value["counter_id"]["handle"]]))] += finite(value["value"])
        counters_of[info["dispatch_id"]] = dict(counters)
        infos[info["dispatch_id"]] = (info, _took(data))
    for record in process["buffer_records"].get("kernel_dispatch", []):
        info = record["dispatch_info"]
        infos[info["dispatch_id"]] = (info, _took(record))
    return {
        number: _dispatch(info, took, symbols[info["kernel_id"]], counters_of.get(number))
        for number, (info, took) in sorted(infos.items())
    }


def _took(record: Json) -> int | None:
    start, end = record.get("start_timestamp"), record.get("end_timestamp")
    if start is None or end is None:
        return None
    begin, finish = whole(start), whole(end)
    if begin is None or finish is None or finish < begin:
        raise ValueError(f"timestamps {begin} and {finish}")
    return finish - begin or None


def _dispatch(info: Json, took: int | None, symbol: Json, counters: dict[str, float] | None) -> RecordedDispatch:
    shape = Shape(
        grid_items=_items(info["grid_size"]),
        workgroup_items=_items(info["workgroup_size"]),
        lds_bytes=whole(info.get("group_segment_size")),
        scratch_bytes=whole(info.get("private_segment_size")),
        vgpr=whole(symbol.get("arch_vgpr_count")),
        agpr=whole(symbol.get("accum_vgpr_count")),
        sgpr=whole(symbol.get("sgpr_count")),
    )
    name = symbol.get("formatted_kernel_name") or symbol["kernel_name"]
    passes = (Pass(counters, took),) if counters else ()
    return RecordedDispatch(kernel_name(name), shape, took, passes)


def _items(size: Json) -> int | None:
    return whole((whole(size["x"]) or 0) * (whole(size["y"]) or 0) * (whole(size["z"]) or 0))


def _device(process: Json) -> Device:
    """The agent that ran the first dispatch."""
    records = process["buffer_records"].get("kernel_dispatch") or process["callback_records"]["counter_collection"]
    first = records[0].get("dispatch_info") or records[0]["dispatch_data"]["dispatch_info"]
    for agent in process.get("agents", []):
        if agent["id"]["handle"] == first["agent_id"]["handle"]:
            return Device(
                visible(str(agent.get("name") or "")) or None, visible(str(agent.get("product_name") or "")) or None,
                whole(agent.get("cu_count")), whole(agent.get("num_xcc")),
            )  # fmt: skip
    return Device()
