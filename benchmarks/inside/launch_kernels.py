"""Inside the container: launches each kernel of launches.json once to warm up, then several times with the anchor.

Prints one JSON line for each timed launch: seconds of CPU and of wall time, seconds of one multiply-add of the anchor,
and how much longer the first launch took, which is the time to decode its code object.
"""

import array
import ctypes
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANCHOR_STEPS = 200_000
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


class Kernel:
    """A kernel with its buffers, launched once."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.function, self._module = plan, ctypes.c_void_p(), ctypes.c_void_p()
        image = Path(plan["object"]).read_bytes()
        check(hip.hipModuleLoadData(ctypes.byref(self._module), image), "hipModuleLoadData")
        name = plan["kernel"].encode()
        check(hip.hipModuleGetFunction(ctypes.byref(self.function), self._module, name), "hipModuleGetFunction")
        self._buffers = [buffer(size, VALUES[plan.get("dtype", "f32")]) for size in plan["buffers"]]
        self._values = [*self._buffers, *(ctypes.c_int(n) for n in plan["scalars"])]
        self.first, _ = self.timed()

    def timed(self) -> tuple[float, float]:
        return timed(launch, self.function, self.plan, self._values)

    def close(self) -> None:
        for pointer in self._buffers:
            hip.hipFree(pointer)
        hip.hipModuleUnload(self._module)


def plans() -> dict[str, dict[str, Any]]:
    return dict(json.loads(Path("launches.json").read_text()))


def main() -> None:
    count = int(Path("timed").read_text())
    for name, plan in plans().items():
        kernel = Kernel(plan)
        for _ in range(count):
            alone, _ = timed(anchor, ctypes.c_long(ANCHOR_STEPS))
            cpu, wall = kernel.timed()
            took = {"cpu": cpu, "wall": wall, "anchor": alone / ANCHOR_STEPS, "decode": kernel.first - cpu}
            print(json.dumps({"name": name, **took}))
        kernel.close()


if __name__ == "__main__":
    main()
