"""Inside the container: launches each kernel of launches.json once to warm up and then timed, beside the anchor.

Prints one JSON line a timed launch: seconds of CPU and of wall time, seconds of one multiply-add of the anchor, and
what the first launch took more, which is the decoding of its code object.
"""

import array
import ctypes
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANCHOR_STEPS = 200_000
TIMED = int(Path("timed").read_text())  # launches of each kernel
hip = ctypes.CDLL("libamdhip64.so")
anchor = ctypes.CDLL("./anchor.so").multiply_add


def check(status: int, what: str) -> None:
    if status:
        raise SystemExit(f"{what}: HIP error {status}")


PERIOD = 1009  # values
VALUES = {
    "f32": array.array("f", (1 + n / PERIOD for n in range(PERIOD))).tobytes(),
    "f16": array.array("H", (0x3C00 + n for n in range(PERIOD))).tobytes(),  # from 1 to 2
    "i32": array.array("i", (n * 17 % 256 for n in range(PERIOD))).tobytes(),
}


def buffer(size: int, values: bytes) -> ctypes.c_void_p:
    """Device memory that holds the values over and over."""
    pointer = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)), "hipMalloc")
    content = values * (size // len(values) + 1)
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
    buffers = [buffer(size, VALUES[plan.get("dtype", "f32")]) for size in plan["buffers"]]
    values = [*buffers, *(ctypes.c_int(n) for n in plan["scalars"])]
    first, _ = timed(launch, function, plan, values)
    for _ in range(TIMED):
        alone, _ = timed(anchor, ctypes.c_long(ANCHOR_STEPS))
        cpu, wall = timed(launch, function, plan, values)
        took = {"cpu": cpu, "wall": wall, "anchor": alone / ANCHOR_STEPS, "decode": first - cpu}
        print(json.dumps({"name": name, **took}))
    for pointer in buffers:
        hip.hipFree(pointer)
    hip.hipModuleUnload(module)
