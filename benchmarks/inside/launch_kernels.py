"""Inside the container: launches each kernel of launches.json once to warm up and once timed, beside the anchor.

Prints one JSON line a launch: seconds of CPU and of wall time, seconds of one multiply-add of the anchor, and what the
first launch took more, which is the decoding of its code object.
"""

import ctypes
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANCHOR_STEPS = 1_000_000
hip = ctypes.CDLL("libamdhip64.so")
anchor = ctypes.CDLL("./anchor.so").multiply_add


def check(status: int, what: str) -> None:
    if status:
        raise SystemExit(f"{what}: HIP error {status}")


def buffer(size: int) -> ctypes.c_void_p:
    """Device memory of small integers, which are tiny floats as well."""
    pointer = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)), "hipMalloc")
    content = bytes(n % 7 if n % 4 == 0 else 0 for n in range(4096)) * (size // 4096 + 1)
    check(hip.hipMemcpy(pointer, content, ctypes.c_size_t(size), 1), "hipMemcpy")
    return pointer


def timed(call: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Seconds of CPU and of wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    call(*arguments)
    return time.process_time() - cpu, time.perf_counter() - wall


def launch(function: ctypes.c_void_p, plan: dict[str, list[int]], values: list[Any]) -> None:
    arguments = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
    grid, block = ((*plan[name], 1, 1)[:3] for name in ("grid", "block"))
    check(hip.hipModuleLaunchKernel(function, *grid, *block, plan.get("lds", 0), None, arguments, None), "launch")
    check(hip.hipDeviceSynchronize(), "hipDeviceSynchronize")


for name, plan in json.loads(Path("launches.json").read_text()).items():
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(hip.hipModuleLoadData(ctypes.byref(module), Path(plan["object"]).read_bytes()), "hipModuleLoadData")
    check(hip.hipModuleGetFunction(ctypes.byref(function), module, plan["kernel"].encode()), "hipModuleGetFunction")
    buffers = [buffer(size) for size in plan["buffers"]]
    values = [*buffers, *(ctypes.c_int(n) for n in plan["scalars"])]
    first, _ = timed(launch, function, plan, values)
    alone, _ = timed(anchor, ctypes.c_long(ANCHOR_STEPS))
    cpu, wall = timed(launch, function, plan, values)
    print(json.dumps({"name": name, "cpu": cpu, "wall": wall, "anchor": alone / ANCHOR_STEPS, "decode": first - cpu}))
    for pointer in buffers:
        hip.hipFree(pointer)
    hip.hipModuleUnload(module)
