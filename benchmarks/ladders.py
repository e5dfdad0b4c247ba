"""Published ladders of kernels: the simulated and the measured time of each step, and whether both have one order.

    .venv/bin/python benchmarks/ladders.py CHECKOUT

CHECKOUT: https://github.com/seb-v/fp32_sgemm_amd at abf7530c379b5d37a5976dafd72e3197de74739e (MIT). Its README has the
times of an RX 7900 XTX for f32 products of 4096 x 4096. Without it nothing is compared. Step 2 alone was used for a fit
(the LDS in WGP mode).
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.sandbox import Sandbox

ARCH, CLOCK_MHZ = "gfx1100", 2371  # the clock that the author's profiler showed
SIZE = 4096


@dataclass(frozen=True)
class Step:
    """A kernel of the ladder: its file, its launch, and the time that its author measured."""

    source: str
    block: tuple[int, int]
    tile: int
    measured_ms: float
    flags: str = ""


STEPS = (
    Step("kernel2_lds.cpp", (32, 32), 32, 34.2059),
    Step("kernel3_registers.cpp", (256, 1), 128, 6.0341),
    Step("kernel4_gmem_df.cpp", (256, 1), 128, 5.3772, "-DUNROLL=1"),
    Step("kernel5_lds_optim.cpp", (128, 1), 128, 4.0994, "-DUNROLL=1 -mcumode"),
    Step("kernel6_valu_optim.s", (128, 1), 128, 3.6368),
    Step("kernel7_unroll.s", (128, 1), 128, 3.3314),
    Step("kernel8_batched_gmem.s", (128, 1), 128, 2.8032),
)
LAUNCH = """
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so")
file, name, groups, x, y, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
module, function = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoad(ctypes.byref(module), file.encode()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
values = []
for _ in range(3):
    values.append(ctypes.c_void_p())
    assert hip.hipMalloc(ctypes.byref(values[-1]), ctypes.c_size_t(4 * size * size)) == 0
    hip.hipMemset(values[-1], 0, ctypes.c_size_t(4 * size * size))
values += [ctypes.c_int(size), ctypes.c_float(1), ctypes.c_float(0)]
places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
assert hip.hipModuleLaunchKernel(function, groups, groups, 1, x, y, 1, 0, None, places, None) == 0
assert hip.hipDeviceSynchronize() == 0
"""
RUN = """
set -e
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_REPORT=$OUT/report
export AMDKERNEL_EMULATOR_OPTIONS=arch={arch},memory=1,pcs=1,threads=1,arena_mb=1000,sample_above=1000000
llvm=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
case {source} in
*.s)
  $llvm/clang -target amdgcn-amd-amdhsa -mcpu={arch} -c {source} -o kernel.o
  $llvm/ld.lld -shared kernel.o -o kernel.co;;
*)
  hipcc --offload-arch={arch} -O3 --offload-device-only --no-gpu-bundle-output -w {flags} -x hip {source} -o kernel.co;;
esac
name=$($llvm/llvm-nm kernel.co | awk '$2 == "T" {{print $3; exit}}')
python3 launch kernel.co "$name" {groups} {x} {y} {size}
"""


def device_code(text: str) -> str:
    """The macros and the kernel of a source, without the host code around it."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "__global__" in line)
    last = next((n for n, line in enumerate(lines) if n > first and line.startswith("void Kernel")), len(lines))
    macros = [line for line in lines[:first] if line.startswith(("#define", "constexpr"))]
    return "\n".join(["#include <hip/hip_runtime.h>", *macros, *lines[first:last], ""])


def simulated_ms(step: Step, checkout: Path, sandbox: Sandbox) -> float:
    """Of the kernel on an RX 7900 XTX. Raises RuntimeError where it does not compile or run."""
    text = (checkout / "src" / step.source).read_text(encoding="utf-8")
    if step.source.endswith(".cpp"):
        text = device_code(text)
    x, y = step.block
    command = RUN.format(arch=ARCH, source=step.source, flags=step.flags, groups=SIZE // step.tile, x=x, y=y, size=SIZE)
    files = {step.source: text.encode(), "launch": LAUNCH.encode()}
    done = sandbox.run("compile", ["sh", "-c", command], files, timeout_s=300)
    if done.exit_code != 0:
        raise RuntimeError(f"{step.source}: {done.stderr}")
    rows = [json.loads(line) for line in done.files["report"].splitlines()]
    return float(rows[-1]["counters"]["simulated_clocks"]) / CLOCK_MHZ / 1e3


def tau(measured: Sequence[float], modelled: Sequence[float]) -> float:
    """Kendall's rank correlation: 1 where all pairs are in the same order."""
    pairs = list(combinations(zip(measured, modelled, strict=True), 2))
    return sum(1 if (a[0] - b[0]) * (a[1] - b[1]) > 0 else -1 for a, b in pairs) / len(pairs)


def main() -> None:
    """Prints a row for each step, and the rank correlation."""
    if not sys.argv[1:]:
        print("ladders: no checkout of a published ladder was named, see the head of this file")
        return
    checkout = Path(sys.argv[1])
    sandbox = open_sandbox(load_settings())
    modelled = [simulated_ms(step, checkout, sandbox) for step in STEPS]
    print("| kernel | measured ms | simulated ms | measured / simulated |")
    print("| --- | ---: | ---: | ---: |")
    for step, ms in zip(STEPS, modelled, strict=True):
        print(f"| {step.source} | {step.measured_ms:.2f} | {ms:.2f} | {step.measured_ms / ms:.2f} |")
    ratios = sorted(step.measured_ms / ms for step, ms in zip(STEPS, modelled, strict=True))
    near = sum(1 / 1.3 <= ratio <= 1.3 for ratio in ratios)
    print(f"tau {tau([step.measured_ms for step in STEPS], modelled):.2f}; within 1.3 times: {near} of {len(STEPS)}")


if __name__ == "__main__":
    main()
