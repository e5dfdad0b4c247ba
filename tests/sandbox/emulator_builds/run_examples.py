"""Inside the container: launches kernels of the examples through HIP, and prints what each leaves as a hash.

No package but Python's own, so that it runs where the Python is another processor's.
"""

import array
import ctypes
import hashlib
import random
import struct
import sys
from pathlib import Path
from typing import Any

hip = ctypes.CDLL("libamdhip64.so")


def check(status: int, what: str) -> None:
    if status:
        sys.exit(f"{what}: HIP error {status}")


def on_device(content: bytes) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(len(content))), "hipMalloc")
    check(hip.hipMemcpy(pointer, content, ctypes.c_size_t(len(content)), 1), "hipMemcpy")
    return pointer


def floats(count: int) -> bytes:
    drawn = random.Random(count)
    return array.array("f", [drawn.gauss(0, 3) for _ in range(count)]).tobytes()


def halves(count: int) -> bytes:
    drawn = random.Random(count)
    return struct.pack(f"<{count}e", *(drawn.gauss(0, 1) for _ in range(count)))


def small_numbers(count: int, below: int) -> bytes:
    drawn = random.Random(count)
    return array.array("i", [drawn.randrange(below) for _ in range(count)]).tobytes()


# Name; kernel, grid, block and dynamic LDS of each launch; buffers, the last one being the output; scalars.
EXAMPLES: list[tuple[str, list[Any], list[bytes], list[Any]]] = [
    ("gemm_f32", [("gemm", (2, 2), (16, 16), 0)], [floats(40 * 33), floats(33 * 50), bytes(4 * 40 * 50)], [40, 50, 33]),
    ("gemm_f16", [("gemm", (2, 2), (64, 1), 0)], [halves(40 * 48), halves(48 * 50), bytes(4 * 40 * 50)], [40, 50, 48]),
    ("row_softmax", [("softmax_rows", (5, 1), (256, 1), 0)], [floats(5 * 700), bytes(4 * 5 * 700)], [5, 700]),
    (
        "rmsnorm", [("rmsnorm", (4, 1), (256, 1), 0)], [halves(4 * 600), halves(600), bytes(2 * 4 * 600)],
        [4, 600, 1e-5],
    ),
    ("histogram", [("histogram", (3, 1), (256, 1), 4 * 64)], [small_numbers(9000, 64), bytes(4 * 64)], [9000, 64]),
]  # fmt: skip


def launch(image: bytes, launches: list[Any], buffers: list[bytes], scalars: list[Any]) -> str:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(hip.hipModuleLoadData(ctypes.byref(module), image), "hipModuleLoadData")
    pointers = [on_device(content) for content in buffers]
    values = [*pointers, *(ctypes.c_float(x) if isinstance(x, float) else ctypes.c_int(x) for x in scalars)]
    arguments = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
    for kernel, grid, block, lds in launches:
        check(hip.hipModuleGetFunction(ctypes.byref(function), module, kernel.encode()), "hipModuleGetFunction")
        check(hip.hipModuleLaunchKernel(function, *grid, 1, *block, 1, lds, None, arguments, None), "launch")
        check(hip.hipDeviceSynchronize(), f"{kernel} on the device")
    left = ctypes.create_string_buffer(len(buffers[-1]))
    check(hip.hipMemcpy(left, pointers[-1], ctypes.c_size_t(len(left)), 2), "hipMemcpy")
    if not any(left.raw):
        sys.exit("the output is all zeros")
    return hashlib.sha256(left.raw).hexdigest()


for name, launches, buffers, scalars in EXAMPLES:
    sys.stdout.write(f"{name} {launch(Path(f'{name}.co').read_bytes(), launches, buffers, scalars)}\n")
