"""How fast the emulated GPU runs: `make bench`.

Each kernel is launched in one process with one thread and in another with the memory model, then alternately with one
thread, in two processes at once, and with two threads. The anchor, timed before every launch, is the multiply-add of
one wave as compiled C: its cost without an interpreter.

Rates are per second of CPU time. Other tenants of a core can halve them and never raise them, so the best launch shows
what the code can do, and the quartiles what this machine allowed. The gain of two threads is measured in wall time and
compared with the gain of two processes, which share nothing and double the rate only where two cores are free. Each bar
is printed with the measured value and whether the median, the best launch alone, or neither meets it. A bar that is
missed does not make the benchmark fail.
"""

import argparse
import json
import random
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.sandbox import Sandbox

ARCH = "gfx942"
HERE = Path(__file__).parent / "inside"
WAYS = {"bare": "threads=1", "modelled": "threads=1,memory=1"}
TIMED = 5  # launches of a kernel in a process
DECODED = 10_000  # instructions

# The bars: million wave-instructions per second and core, times as fast, seconds.
BARE_RATE = 60  # of gemm_f32 512x512x512
MODELLED_RATE = 15  # of every kernel
SCALING = 1.8  # of two threads, on two cores
DECODE_S = 0.15  # for DECODED instructions

# Bytes of each buffer, then the scalars, in the order of the kernel's parameters.
LAUNCHES: dict[str, dict[str, Any]] = {
    "gemm_f32 512x512x512": {
        "example": "gemm_f32", "kernel": "gemm", "grid": [16, 16], "block": [16, 16],
        "buffers": [1 << 20] * 3, "scalars": [512, 512, 512]},
    "gemm_f32 1024x1024x512": {
        "example": "gemm_f32", "kernel": "gemm", "grid": [32, 32], "block": [16, 16],
        "buffers": [1 << 21, 1 << 21, 1 << 22], "scalars": [1024, 1024, 512]},
    "gemm_f16, MFMA, 512x512x512": {
        "example": "gemm_f16", "kernel": "gemm", "dtype": "f16", "grid": [16, 16], "block": [64],
        "buffers": [1 << 19, 1 << 19, 1 << 20], "scalars": [512, 512, 512]},
    "row_softmax 1024x2000": {
        "example": "row_softmax", "kernel": "softmax_rows", "grid": [1024], "block": [256],
        "buffers": [1 << 23] * 2, "scalars": [1024, 2000]},
    "rmsnorm 1024x2000": {
        "example": "rmsnorm", "kernel": "rmsnorm", "dtype": "f16", "grid": [1024], "block": [256],
        "buffers": [1 << 22, 1 << 12, 1 << 22], "scalars": [1024, 2000, 0]},
    "transpose 1024x1024": {
        "example": "transpose", "kernel": "transpose", "grid": [16, 16], "block": [64, 4],
        "buffers": [1 << 22] * 2, "scalars": [1024, 1024]},
    "reduce_sum 1M": {
        "example": "reduce_sum", "kernel": "partial_sums", "grid": [256], "block": [256],
        "buffers": [1 << 22, 1 << 12], "scalars": [1 << 20]},
    "histogram 1M": {
        "example": "histogram", "kernel": "histogram", "dtype": "i32", "grid": [256], "block": [256], "lds": 1024,
        "buffers": [1 << 22, 1 << 12], "scalars": [1 << 20, 256]},
}  # fmt: skip
STRAIGHT = {"kernel": "straight", "grid": [1], "block": [64], "buffers": [1 << 16], "scalars": [7]}

COMPILE = """
set -e
hipcc="hipcc --offload-arch={arch} -O3 --offload-device-only --no-gpu-bundle-output -Wno-unused-command-line-argument"
for source in *.hip; do $hipcc -include hip/hip_runtime.h $source -o $OUT/${{source%.hip}}.co; done
clang=$(ls -d /usr/lib/llvm-*/bin/clang | sort -V | tail -1)
$clang -O3 -march=x86-64-v3 -shared -fPIC anchor.c -o $OUT/anchor.so
"""
RUN = """
set -e
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_REPORT=$OUT/report
{runs}
env --unset=AMDKERNEL_EMULATOR_REPORT python3 two_threads.py >$OUT/turns
objdump=$(ls -d /usr/lib/llvm-*/bin/llvm-objdump | sort -V | tail -1)
for n in 1 2 3; do
    start=$(date +%s%N); $objdump -d straight.co >$OUT/text; end=$(date +%s%N); echo $((end - start)) >>$OUT/objdump
done
rm $OUT/text
"""


FORMS = """
v_fma_f32 v{a}, v{b}, v{c}, v{d}
v_add_u32_e32 v{a}, 0x{n:x}, v{b}
v_mul_f32_e64 v{a}, -v{b}, |v{c}|
v_cmp_gt_i32_e64 s[{s}:{s1}], v{a}, v{b}
v_cndmask_b32_e32 v{a}, v{b}, v{c}, vcc
v_lshl_add_u64 v[{a}:{a1}], v[{b}:{b1}], 2, v[{c}:{c1}]
v_pk_fma_f32 v[{a}:{a1}], v[{b}:{b1}], v[{c}:{c1}], v[{d}:{d1}] op_sel_hi:[0,1,1]
v_mfma_f32_16x16x16_f16 v[{a}:{a3}], v[{b}:{b1}], v[{c}:{c1}], v[{a}:{a3}]
v_add_f32_dpp v{a}, v{b}, v{c} row_shr:1 row_mask:0xf bank_mask:0xf
ds_read2_b32 v[{a}:{a1}], v{b} offset0:{m} offset1:{k}
ds_write_b64 v{a}, v[{b}:{b1}] offset:{n}
global_load_dwordx4 v[{a}:{a3}], v[{b}:{b1}], off offset:{m}
global_store_dword v{a}, v{b}, s[{s}:{s1}]
s_waitcnt vmcnt({l}) lgkmcnt(0)
s_add_u32 s{s}, s{s1}, {l}
s_and_saveexec_b64 s[{s}:{s1}], vcc
""".strip().splitlines()


def assembly(count: int) -> str:
    """A kernel with `count` instructions as varied as those of real kernels; it skips them all."""
    chosen = random.Random(1)
    lines = []
    for _ in range(count):
        at = {name: 2 * chosen.randrange(4, 60) for name in "abcd"} | {"s": 2 * chosen.randrange(10, 40)}
        following = {f"{name}{step}": first + step for name, first in at.items() for step in (1, 3)}
        numbers = {"n": chosen.randrange(100, 4096), "m": chosen.randrange(256), "k": chosen.randrange(256)}
        line = chosen.choice(FORMS).format(**at, **following, **numbers, l=chosen.randrange(16))
        lines.append(f'"{line}\\n"\n')
    return (
        'extern "C" __global__ void straight(unsigned* p, int n)\n{\n'
        f'if (!n) asm volatile({"".join(lines)} : : : "v127", "s99", "vcc", "memory");\np[0] = n;\n}}\n'
    )


def quartiles(values: list[float]) -> str:
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{median:.3g} [{low:.3g}, {high:.3g}]"


def told(rates: list[float]) -> str:
    return f"at best {max(rates):.3g}, {quartiles(rates)}"


def compiled(sandbox: Sandbox) -> dict[str, bytes]:
    """Code objects of the examples and of the straight code, and the anchor."""
    sources = {
        f"{plan['example']}.hip": (folder("examples") / plan["example"] / "kernels/better.hip").read_bytes()
        for plan in LAUNCHES.values()
    }
    sources["straight.hip"] = assembly(DECODED).encode()
    sources["anchor.c"] = (HERE / "anchor.c").read_bytes()
    done = sandbox.run("compile", ["sh", "-c", COMPILE.format(arch=ARCH)], sources, timeout_s=110)
    if done.exit_code:
        raise SystemExit(f"cannot compile: {done.stderr}")
    return dict(done.files)


@dataclass(frozen=True)
class Turn:
    """Wall seconds of a launch with one thread, in two processes at once and with two threads; and the CPU seconds of
    the last divided by those of the first."""

    one: float
    processes: float
    two: float
    work: float

    @property
    def scaling(self) -> float:
        return self.one / self.two

    @property
    def scaling_of_processes(self) -> float:
        return 2 * self.one / self.processes

    @property
    def beside_processes(self) -> float:
        """Speed of two threads relative to half of two processes: 2 if sharing costs nothing."""
        return self.processes / self.two


@dataclass(frozen=True)
class Measured:
    """The times of every launch by mode, of every turn by kernel, and of llvm-objdump."""

    times: dict[str, list[dict[str, Any]]]
    turns: dict[str, list[Turn]]
    objdump: float


def measured(sandbox: Sandbox, objects: dict[str, bytes], rounds: int) -> Measured:
    plans = {name: {**plan, "object": f"{plan['example']}.co"} for name, plan in LAUNCHES.items()}
    plans["straight code"] = {**STRAIGHT, "object": "straight.co"}
    files = {**objects, "launches.json": json.dumps(plans).encode()}
    files |= {name: (HERE / name).read_bytes() for name in ("launch_kernels.py", "two_threads.py")}
    files["timed"] = str(TIMED).encode()
    runs = "\n".join(
        f"AMDKERNEL_EMULATOR_OPTIONS={options} python3 launch_kernels.py >>$OUT/{way}"
        for _ in range(rounds)
        for way, options in WAYS.items()
    )
    done = sandbox.run("run", ["sh", "-c", RUN.format(runs=runs)], files, timeout_s=600)
    if done.exit_code:
        raise SystemExit(f"cannot run: {done.stderr}")
    counts = instructions(done.files["report"])
    times = {way: [json.loads(line) for line in done.files[way].splitlines()] for way in WAYS}
    for launches in times.values():
        for launch in launches:
            launch["instructions"] = counts[launch["name"]]
    objdump = statistics.median(int(line) for line in done.files["objdump"].split()) / 1e9
    return Measured(times, turns_of(done.files["turns"]), objdump)


def turns_of(printed: bytes) -> dict[str, list[Turn]]:
    turns: dict[str, list[Turn]] = {}
    for line in printed.splitlines():
        told = json.loads(line)
        (cpu_one, one), (_, processes), (cpu_two, two) = told["one"], told["processes"], told["two"]
        turns.setdefault(told["name"], []).append(Turn(one, processes, two, cpu_two / cpu_one))
    return turns


def instructions(report: bytes) -> dict[str, int]:
    """Wave-instructions of a launch; the report has one line for each launch, in their order."""
    counts = [json.loads(line)["counters"]["SQ_INSTS"] for line in report.splitlines()][:: 1 + TIMED]
    return dict(zip([*LAUNCHES, "straight code"], counts, strict=False))


@dataclass(frozen=True)
class Bar:
    """A bar for the emulator: at least `bound`, or at most where `least` is false."""

    what: str
    values: list[float]
    bound: float
    unit: str
    least: bool = True

    def _meets(self, value: float) -> bool:
        return value >= self.bound if self.least else value <= self.bound

    def __str__(self) -> str:
        relation = f"{'at least' if self.least else 'at most'} {self.bound:g}"
        best, median = (max if self.least else min)(self.values), statistics.median(self.values)
        verdict = "met" if self._meets(median) else "at best" if self._meets(best) else "MISSED"
        return f"{verdict:7} {self.what}: median {median:.3g} {self.unit}, at best {best:.3g}; {relation}"


def rates_of(launches: list[dict[str, Any]], name: str) -> list[float]:
    """Million wave-instructions per second of CPU time."""
    return [t["instructions"] / t["cpu"] / 1e6 for t in launches if t["name"] == name]


def report_kernel(name: str, found: Measured) -> list[Bar]:
    bare, modelled = ([t for t in found.times[way] if t["name"] == name] for way in WAYS)
    rates, slow, turns = rates_of(bare, name), rates_of(modelled, name), found.turns[name]
    alone = quartiles([t["cpu"] / t["instructions"] / t["anchor"] for t in bare])
    model = quartiles([m["cpu"] / b["cpu"] for m, b in zip(modelled, bare, strict=True)])
    threads, processes = quartiles([t.scaling for t in turns]), quartiles([t.scaling_of_processes for t in turns])
    print(
        f"{name}: {told(rates)} M/s, {alone} x its arithmetic alone; with the memory model {told(slow)} M/s, {model} x "
        f"as long; two threads {threads} x as fast where two processes are {processes}, "
        f"{quartiles([t.work for t in turns])} x the CPU time"
    )
    bars = [Bar(f"{name}, with the memory model", slow, MODELLED_RATE, "M/s")]
    if name == next(iter(LAUNCHES)):
        bars = [
            Bar(name, rates, BARE_RATE, "M/s"),
            *bars,
            Bar(f"{name}, two threads by wall time", [t.scaling for t in turns], SCALING, "x as fast"),
            Bar(f"{name}, two threads, where two processes are 2", [t.beside_processes for t in turns], SCALING, ""),
        ]
    return bars


def report(found: Measured) -> None:
    print(f"emulator, {ARCH}; M/s: million wave-instructions per second of CPU time; quartiles in []")
    bars = [bar for name in LAUNCHES for bar in report_kernel(name, found)]
    decodes = [t["decode"] for launches in found.times.values() for t in launches if t["name"] == "straight code"]
    decode = statistics.median(decodes)
    print(f"decode: {decode * 1e3:.3g} ms for {DECODED} instructions, {decode / found.objdump:.2g} x llvm-objdump -d")
    milliseconds = [1e3 * seconds for seconds in decodes]
    bars.append(Bar(f"decoding {DECODED} instructions", milliseconds, DECODE_S * 1e3, "ms", least=False))
    print("\nbars, met by the median, by the best launch alone, or missed:", *bars, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sandbox = open_sandbox(load_settings())
    try:
        objects = compiled(sandbox)
        report(measured(sandbox, objects, options.rounds))
    finally:
        sandbox.close()


if __name__ == "__main__":
    main()
