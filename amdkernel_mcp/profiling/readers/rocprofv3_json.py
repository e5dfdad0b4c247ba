"""rocprofv3's JSON (`-f json`): numbers in records, names in separate tables.

Source: rocprofv3-schema.json of the rocprofiler-sdk documentation.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.csv_table import READABLE, NothingRecorded, check_size
from amdkernel_mcp.profiling.readers.not_read import what_json
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

Json = Mapping[str, Any]


def read_json(path: Path, *, alone: bool) -> Recording | str:
    """The recording. What it is, for another JSON file that is not `alone`. Raises ProfileFileError."""
    check_size(path)
    try:
        document = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        hint = "the file was truncated: wait for the profiler to end"
        raise ProfileFileError(
            f"this is not JSON: {error.msg}", file=str(path), line=error.lineno, hint=hint
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, NaN, a number of thousands of digits
        raise ProfileFileError(f"this is not JSON: {error}"[:200], file=str(path), hint=READABLE) from error
    processes = document.get("rocprofiler-sdk-tool") if isinstance(document, dict) else None
    if not isinstance(processes, list):
        if alone:
            raise ProfileFileError(
                f"this is not a recording of kernels: {what_json(document)}", file=str(path), hint=READABLE
            )
        return what_json(document)
    try:
        return _recording(processes, path)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        what = visible(f"{type(error).__name__} {error}")[:200]
        raise ProfileFileError(f"the JSON is not as rocprofv3 writes it: {what}", file=str(path)) from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _recording(processes: list[Json], path: Path) -> Recording:
    dispatches: list[RecordedDispatch] = []
    device = Device()
    for process in processes:
        found = _dispatches(process)
        dispatches.extend(found)
        if found:
            device = _device(process)
    if not dispatches:
        raise NothingRecorded("the file has no kernel dispatch: nothing was recorded", file=str(path))
    return Recording("rocprofv3 JSON", tuple(dispatches), device=device)


def _dispatches(process: Json) -> list[RecordedDispatch]:
    symbols = {symbol["kernel_id"]: symbol for symbol in process["kernel_symbols"]}
    names = {counter["id"]["handle"]: counter["name"] for counter in process.get("counters", [])}
    counted: dict[int, dict[str, float]] = {}
    infos: dict[int, tuple[Json, int | None]] = {}
    for record in process["callback_records"].get("counter_collection", []):
        data = record["dispatch_data"]
        info = data["dispatch_info"]
        counters: dict[str, float] = defaultdict(float)
        for value in record["records"]:
            counters[visible(str(names[value["counter_id"]["handle"]]))] += finite(value["value"])
        counted[info["dispatch_id"]] = dict(counters)
        infos[info["dispatch_id"]] = (info, _took(data))
    for record in process["buffer_records"].get("kernel_dispatch", []):
        info = record["dispatch_info"]
        infos[info["dispatch_id"]] = (info, _took(record))
    return [
        _dispatch(info, took, symbols[info["kernel_id"]], counted.get(number))
        for number, (info, took) in sorted(infos.items())
    ]


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
