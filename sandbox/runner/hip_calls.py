"""The HIP calls that the runner makes, each with its return code looked at.

The library behind them is AMD's or the emulator's, whichever libamdhip64.so the loader finds; nothing here knows which,
except `memory_describer`.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from hip import hip
from rocm.bindings.util.paths import get_library_path

HOST_TO_DEVICE = hip.hipMemcpyKind.hipMemcpyHostToDevice
DEVICE_TO_HOST = hip.hipMemcpyKind.hipMemcpyDeviceToHost

# What a region is for. Source: sandbox/emulator/hip/memory/api.c, amdkernelDescribeMemory.
WRITABLE, INPUT, UNSET = 1, 2, 3

ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, NOT_SUPPORTED = 700, 702, 801


class HipError(Exception):
    """A HIP call that failed: its name, and HIP's number, name and sentence of the error."""

    def __init__(self, call: str, error: Any) -> None:
        self.call = call
        self.code = int(error)
        super().__init__(f"{call}: {hip.hipGetErrorName(error)[1]} ({self.code}), {hip.hipGetErrorString(error)[1]}")


def call(function: Any, *arguments: Any) -> Any:
    """What `function` gives besides its return code. Raises HipError."""
    error, *values = function(*arguments)
    if int(error) != 0:
        raise HipError(function.__name__, error)
    return values[0] if values else None


def device_description() -> dict[str, object]:
    """Name, architecture and ROCm version of device 0, as the library reports them."""
    properties = call(hip.hipGetDeviceProperties, 0)
    version = call(hip.hipRuntimeGetVersion)
    return {
        "name": _text(properties.name),
        "arch": _text(properties.gcnArchName).split(":")[0],
        "rocm": f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}",
        "emulated": memory_describer() is not None,
    }


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


@cache
def memory_describer() -> Any:
    """The emulator's way to learn which part of a block is payload; None with AMD's library, which has none."""
    function = _of_the_emulator("amdkernelDescribeMemory")
    if function is not None:
        function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int]
    return function


def set_emulator_options(options: str) -> None:
    """Options of the launches from here on, as in AMDKERNEL_EMULATOR_OPTIONS; without effect with AMD's library."""
    function = _of_the_emulator("amdkernelSetOptions")
    if function is not None:
        function.argtypes = [ctypes.c_char_p]
        function.restype = None
        function(options.encode())


def executed_instructions() -> int:
    """How many instructions the waves of all launches of this process have executed; 0 with AMD's library."""
    function = _of_the_emulator("amdkernelInstructions")
    if function is None:
        return 0
    function.restype = ctypes.c_uint64
    return int(function())


def begin_run() -> None:
    """A new run of launches begins, which must not depend on earlier ones; without effect with AMD's library."""
    function = _of_the_emulator("amdkernelBeginRun")
    if function is not None:
        function.restype = None
        function()


def untouched(address: int, size: int, *, stored: bool) -> tuple[int, int] | None:
    """How many bytes of the range no kernel loaded (or `stored`), and the first; None: not known, or all were."""
    function = _of_the_emulator("amdkernelUntouched")
    count, first = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    if function is None:
        return None
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    if function(address, size, stored, ctypes.byref(count), ctypes.byref(first)) or not count.value:
        return None
    return count.value, first.value


@cache
def _of_the_emulator(name: str) -> Any:
    library = str(get_library_path("amdhip64"), "utf-8")  # the very file that hip-python opens
    try:
        return getattr(ctypes.CDLL(library), name)
    except (OSError, AttributeError):
        return None


def load_module(code_object: Path) -> Any:
    """The module in the file. Raises HipError."""
    return call(hip.hipModuleLoad, str(code_object).encode())


def find_kernel(module: Any, name: str) -> Any:
    """The kernel of this (mangled) name. Raises HipError."""
    return call(hip.hipModuleGetFunction, module, name.encode())


def allocate(size: int) -> int:
    """Device address of a fresh block. Raises HipError."""
    return int(call(hip.hipMalloc, size))


def free(address: int) -> None:
    """Give the block back. Raises HipError."""
    call(hip.hipFree, address)


def fill(address: int, byte: int, size: int) -> None:
    """Set all bytes of a range. Raises HipError."""
    call(hip.hipMemset, address, byte, size)


def write(address: int, data: bytes) -> None:
    """Copy to the device. Raises HipError."""
    if data:
        call(hip.hipMemcpy, address, data, len(data), HOST_TO_DEVICE)


def read(address: int, size: int) -> bytearray:
    """Copy from the device. Raises HipError."""
    data = bytearray(size)
    if size:
        call(hip.hipMemcpy, data, address, size, DEVICE_TO_HOST)
    return data


def synchronize() -> None:
    """Wait until all launches have ended. Raises HipError, also for a fault of a kernel."""
    call(hip.hipDeviceSynchronize)
