"""Inside the container: launches line_N for each number with its state, through HIP's module API.

On a GPU a fault may end the process: run again, it continues after the case at which it ended.
"""

import ctypes
import json
import struct
import sys
from pathlib import Path

OUT = sys.argv[1]
V_IN, V_OUT, SCALARS, MEMORY_BYTES = 32, 64, 22, 8192
IN_BYTES, OUT_BYTES = (V_IN + 1) * 256, (V_OUT + SCALARS) * 256
hip = ctypes.CDLL("libamdhip64.so")


def check(status: int, what: str) -> None:
    if status:
        sys.exit(f"{what}: HIP error {status}")


def allocate(size: int) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)), "hipMalloc")
    return pointer


class Device:
    """The module and its three buffers; created again after a fault, which a process keeps until it resets the device."""

    def __init__(self) -> None:
        image = Path(OUT, "lines.co").read_bytes()
        self.module = ctypes.c_void_p()
        check(hip.hipModuleLoadData(ctypes.byref(self.module), image), "hipModuleLoadData")
        self.buffers = [allocate(size) for size in (IN_BYTES, OUT_BYTES, MEMORY_BYTES)]

    def launch(self, number: int, state: bytes) -> bytes:
        """What the kernel left in its buffers; empty when it faulted."""
        inputs, outputs, memory = self.buffers
        function = ctypes.c_void_p()
        check(
            hip.hipModuleGetFunction(ctypes.byref(function), self.module, b"line_%d" % number), "hipModuleGetFunction"
        )
        check(hip.hipMemcpy(inputs, state, ctypes.c_size_t(IN_BYTES), 1), "hipMemcpy")
        check(hip.hipMemcpy(memory, state[IN_BYTES:], ctypes.c_size_t(MEMORY_BYTES), 1), "hipMemcpy")
        check(hip.hipMemset(outputs, 0, ctypes.c_size_t(OUT_BYTES)), "hipMemset")
        values = [ctypes.c_void_p(p.value) for p in self.buffers]
        arguments = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        check(hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, arguments, None), "hipModuleLaunchKernel")
        if hip.hipDeviceSynchronize():
            return b""
        result = ctypes.create_string_buffer(OUT_BYTES + MEMORY_BYTES)
        check(hip.hipMemcpy(result, outputs, ctypes.c_size_t(OUT_BYTES), 2), "hipMemcpy")
        check(hip.hipMemcpy(ctypes.byref(result, OUT_BYTES), memory, ctypes.c_size_t(MEMORY_BYTES), 2), "hipMemcpy")
        return result.raw


def refuse_code() -> None:
    """Linux, prctl(2), PR_SET_MDWE: no page becomes executable any more."""
    PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
    if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
        sys.exit("this kernel cannot refuse: it is older than Linux 6.3")


def main() -> None:
    if "refuse_code" in sys.argv:
        refuse_code()
    numbers = [n for (n,) in struct.iter_unpack("<I", Path("numbers").read_bytes())]
    states = Path("states").read_bytes()
    size = IN_BYTES + MEMORY_BYTES
    begun = Path(OUT, "begun")
    first = int(begun.read_text()) + 1 if begun.exists() else 0
    if first:  # it ended in the case before
        keep(b"", "it ended the process")
    device = Device()
    for k, number in enumerate(numbers[first:], first):
        begun.write_text(str(k))
        result = device.launch(number, states[k * size : (k + 1) * size])
        keep(result, "" if result else "it faulted")
        if not result:
            check(hip.hipDeviceReset(), "hipDeviceReset")
            hip.hipModuleUnload(device.module)
            device = Device()
    begun.unlink()
    if Path(OUT, "report").exists():
        read_report()


def keep(result: bytes, fault: str) -> None:
    """The result of one case: at once, so that what ends the process loses no other."""
    with open(f"{OUT}/results", "ab") as results, open(f"{OUT}/faults", "a") as faults:
        results.write(result or bytes(OUT_BYTES + MEMORY_BYTES))
        faults.write(f"{fault}\n")
    with open(f"{OUT}/counters", "a") as counters:
        counters.write("{}\n")


def read_report() -> None:
    """What the emulator says of faults, with its counters, in place of what HIP says."""
    with (
        open(f"{OUT}/report") as report,
        open(f"{OUT}/faults", "w") as faults,
        open(f"{OUT}/counters", "w") as counters,
    ):
        for line in report:
            dispatch = json.loads(line)
            fault = dispatch["fault"]
            faults.write(f"{fault['kind']}: {fault['instruction']}\n" if fault else "\n")
            counters.write(json.dumps(dispatch["counters"]) + "\n")


main()
