"""Published ladders of kernels: the modelled and the measured time of each step, and whether both have one order.

    .venv/bin/python benchmarks/ladders.py CHECKOUTS [--only WORD] [--write]

CHECKOUTS: a folder with the checkouts below, each under the name of its repository. What is missing is not run.
Each row that ran is kept in recorded/ladders.csv, so `--only` (a part of a series' or a kernel's name) runs the table
in pieces; without CHECKOUTS the kept rows are shown. `--write` puts them into docs/timing.md.

* fp32_sgemm_amd: https://github.com/seb-v/fp32_sgemm_amd at abf7530c379b5d37a5976dafd72e3197de74739e (MIT)
* HPCTrainingExamples: https://github.com/amd/HPCTrainingExamples at aaaa72d4dca9a9c3587be883deaf2d0f109fcbfb (MIT)
* HipKittens: https://github.com/HazyResearch/HipKittens at f09e9685c4c6aaa41fb3ebd4fe4ca664938589e1 (MIT), and
  HipKittens-cdna3: its branch `cdna3`, whose headers the kernels for MI325X need

Their READMEs and JSON files have the measured times. Not run: kernels that need rocRAND (HipKittens' layernorm).
"""

import argparse
import csv
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.specs import Gpu, gpu_by_name
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint, PcCounts
from amdkernel_mcp.measurement.simulated import simulated
from amdkernel_mcp.measurement.time_interval import launch_interval
from amdkernel_mcp.profiling.diagnosis import diagnose
from amdkernel_mcp.profiling.profile import facts_of

HERE = Path(__file__).parent
KEPT = HERE / "recorded" / "ladders.csv"
PAGE = HERE.parent / "docs" / "timing.md"
MARK = "<!-- ladders -->"
CLOSE = 1.3
TIMEOUT_S = 170
CLOCK_MHZ = {"RX 7900 XTX": 2371}  # the clock that the author's profiler showed


@dataclass(frozen=True)
class Step:
    """A kernel of a ladder: its file, its GPU, and the time that its author measured."""

    series: str
    source: str
    gpu: str
    measured_us: float
    kind: str
    """How it is launched: a key of PROGRAMS, or `module`."""
    flags: str = ""
    kernel: str = ""
    """The kernel of the program, if it has several."""
    taken: tuple[str, ...] = ()
    """What a finding says that names the step which the author took next; empty: the last step, or not a ladder."""

    @property
    def name(self) -> str:
        """Of the row: unique in its series."""
        folder, _, file = self.source.rpartition("/")
        return self.kernel or (f"{Path(folder).name}/{Path(file).stem}" if folder else Path(file).stem)


_NEXT = {
    "2-LDSOccupancyLimit/problem.cpp": ("Few waves are resident",),
    "3-RegisterOccupancyLimit/problem.cpp": ("Few waves are resident",),
    "4-StridedAccess/problem.cpp": ("not coalesced",),
    "1-LaunchParameters/problem.cpp": ("cannot fill the GPU",),
}
"""Of the exercises: what each is about."""


def _yax(number: int, folder: str, gpu: str, *steps: tuple[str, float]) -> list[Step]:
    root = f"HPCTrainingExamples/rocprof-compute/{folder}"
    return [
        Step(f"yax {number}, {gpu}", f"{root}/{source}", gpu, ms * 1e3, "yax",
             taken=_NEXT.get(f"{folder}/{source}", ()))
        for source, ms in steps
    ]  # fmt: skip


def _kittens(series: str, folder: str, gpu: str, kind: str, us: Sequence[float]) -> list[Step]:
    sizes = (1024, 2048, 4096, 8192)
    root = f"HipKittens/analysis/{folder}"
    return [Step(series, f"{root}/kernel_{n}.cpp", gpu, t, kind) for n, t in zip(sizes, us, strict=True)]


def _sgemm(source: str, block: int, tile: int, ms: float, flags: str = "", *, taken: tuple[str, ...] = ()) -> Step:
    launch = f"{4096 // tile} {block} {1 if block > 32 else 32}"
    root = "fp32_sgemm_amd/src"
    return Step("f32 SGEMM", f"{root}/{source}", "RX 7900 XTX", ms * 1e3, f"module {launch}", flags, taken=taken)


_LDS = ("LDS bank conflicts", "LDS holds", "bandwidth of the LDS", "LDS accesses are narrow")
_VECTOR = ("is the vector ALU", "registers of a bank")
_INSTRUCTIONS = ("nstructions other than arithmetic", "bound by instructions", "Scalar instr", "registers of a bank")


STEPS = (
    _sgemm("kernel2_lds.cpp", 32, 32, 34.2059, taken=_LDS),
    _sgemm("kernel3_registers.cpp", 256, 128, 6.0341, taken=("Latency is exposed",)),
    _sgemm("kernel4_gmem_df.cpp", 256, 128, 5.3772, "-DUNROLL=1", taken=_LDS),
    _sgemm("kernel5_lds_optim.cpp", 128, 128, 4.0994, "-DUNROLL=1 -mcumode", taken=_VECTOR),
    _sgemm("kernel6_valu_optim.s", 128, 128, 3.6368, taken=_INSTRUCTIONS),
    _sgemm("kernel7_unroll.s", 128, 128, 3.3314, taken=("Latency is exposed",)),
    _sgemm("kernel8_batched_gmem.s", 128, 128, 2.8032),
    *_yax(1, "1-LaunchParameters", "MI210", ("problem.cpp", 2911), ("solution/solution.cpp", 70)),
    *_yax(1, "1-LaunchParameters", "MI300A", ("problem.cpp", 540), ("solution/solution.cpp", 9.7)),
    *_yax(2, "2-LDSOccupancyLimit", "MI210", ("problem.cpp", 140), ("solution-no-lds/solution.cpp", 70),
          ("solution/solution.cpp", 50)),
    *_yax(2, "2-LDSOccupancyLimit", "MI300A", ("problem.cpp", 7.27), ("solution-no-lds/solution.cpp", 9.79),
          ("solution/solution.cpp", 5.8)),
    *_yax(3, "3-RegisterOccupancyLimit", "MI210", ("problem.cpp", 71), ("solution/solution.cpp", 70)),
    *_yax(3, "3-RegisterOccupancyLimit", "MI300A", ("problem.cpp", 10), ("solution/solution.cpp", 9.82)),
    *_yax(4, "4-StridedAccess", "MI210", ("problem.cpp", 70), ("solution/solution.cpp", 12)),
    *_yax(4, "4-StridedAccess", "MI300A", ("problem.cpp", 9.64), ("solution/solution.cpp", 12.17)),
    *_yax(5, "5-AlgorithmicOptimizations", "MI210", ("problem.cpp", 12), ("solution/solution.cpp", 7.7)),
    *(
        Step("shallow water", "HPCTrainingExamples/Profiling-by-example/shallow-water/novice/0_baseline/shallow.hip",
             "MI300A", us, "shallow", kernel=kernel)
        for kernel, us in (("compute_rhs", 7.978), ("update_stage", 9.494), ("final_update", 20.87),
                           ("apply_reflect_bc", 5.196))
    ),
    *_kittens("bf16 GEMM, MI325X", "bf16_gemm/mi325x", "MI325X", "gemm", (35.677, 57.585, 192.569, 1467.194)),
    *_kittens("bf16 GEMM, MI355X", "bf16_gemm/mi350x", "MI355X", "gemm", (15.396, 25.832, 97.278, 682.718)),
    *_kittens("rotary, MI355X", "rotary/mi350x", "MI355X", "rotary", (45.579, 71.737, 159.672, 307.081)),
)  # fmt: skip

YAX = """
int main() {
  dim3 grid(GRID), block(BLOCK);
  size_t n = 32768;
  double *y, *A, *x, *result;
  if (hipMalloc(&y, n * 8) || hipMalloc(&x, n * 8) || hipMalloc(&A, n * n * 8) || hipMalloc(&result, 8)) return 1;
  yax<<<grid, block>>>(y, A, x, n, n, result);
  return hipDeviceSynchronize();
}
"""
GEMM = """
int main() {
  bf16 *a, *b, *c;
  if (hipMalloc(&a, 2ul * M * K) || hipMalloc(&b, 2ul * N * K) || hipMalloc(&c, 2ul * M * N)) return 1;
  micro_globals g{_gl_A(a, 1, 1, M, K), _gl_B(b, 1, 1, N, K), _gl_C(c, 1, 1, M, N), 0};
  dispatch_micro(g);
  return hipDeviceSynchronize();
}
"""
ROTARY = """
int main() {
  bf16 *x, *o, *s, *c;
  size_t bytes = 2ul * ATTN_B * ATTN_H * ATTN_N * HEAD_DIM;
  if (hipMalloc(&x, bytes) || hipMalloc(&o, bytes)) return 1;
  if (hipMalloc(&s, 2 * ATTN_N * 64) || hipMalloc(&c, 2 * ATTN_N * 64)) return 1;
  using array = gl<bf16, -1, -1, -1, -1>;
  rotary_globals<HEAD_DIM> g{array(x, ATTN_B, ATTN_H, ATTN_N, HEAD_DIM), array(o, ATTN_B, ATTN_H, ATTN_N, HEAD_DIM),
                             array(s, 1, 1, ATTN_N, 64), array(c, 1, 1, ATTN_N, 64), 0};
  dispatch_rotary(g);
  return hipDeviceSynchronize();
}
"""
PROGRAMS = {"yax": YAX, "gemm": GEMM, "rotary": ROTARY}
MODULE = """
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
export AMDKERNEL_EMULATOR_OPTIONS=arch={arch},memory=1,pcs=1,residency=1,threads=2,arena_mb=12000,sample_above=1000000
llvm=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
case {file} in
program.hip)
  hipcc --offload-arch={arch} -O3 -std=c++20 -w {flags} program.hip -o program
  ./program >&2
  exit;;
*.s)
  $llvm/clang -target amdgcn-amd-amdhsa -mcpu={arch} -c {file} -o kernel.o
  $llvm/ld.lld -shared kernel.o -o kernel.co;;
*)
  hipcc --offload-arch={arch} -O3 --offload-device-only --no-gpu-bundle-output -w {flags} -x hip {file} -o kernel.co;;
esac
name=$($llvm/llvm-nm kernel.co | awk '$2 == "T" {{print $3; exit}}')
python3 launch kernel.co "$name" {launch} 4096
"""


@dataclass(frozen=True)
class Row:
    """What became of a step; microseconds. `simulated_us` 0: the emulator simulated nothing."""

    series: str
    name: str
    gpu: str
    measured_us: float
    simulated_us: float
    low_us: float
    likely_us: float
    high_us: float
    first: str = ""
    """The first finding."""

    @property
    def ratio(self) -> float:
        """Measured / modelled."""
        return self.measured_us / self.likely_us

    @property
    def inside(self) -> bool:
        """Whether the measured time lies in the interval."""
        return self.low_us <= self.measured_us <= self.high_us


def module_source(text: str) -> str:
    """The macros and the kernel of a source, without the host code around it."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "__global__" in line)
    last = next((n for n, line in enumerate(lines) if n > first and line.startswith("void Kernel")), len(lines))
    macros = [line for line in lines[:first] if line.startswith(("#define", "constexpr"))]
    return "\n".join(["#include <hip/hip_runtime.h>", *macros, *lines[first:last], ""])


def program_source(step: Step, text: str) -> str:
    """The source with a host program of its own: buffers of zeros, one launch."""
    if step.kind == "shallow":
        return text.replace("NSTEPS = 500", "NSTEPS = 2")
    main = PROGRAMS[step.kind]
    if step.kind == "yax":
        grid, block = (re.search(rf"{what} = dim3\((\d+),", text) for what in ("grid", "block"))
        assert grid
        assert block
        main = main.replace("GRID", grid[1]).replace("BLOCK", block[1])
        text = text.replace("hipCheck.h", "cmath").partition("int main(")[0]
    return text.replace('#include "pyutils/pyutils.cuh"', "").partition("PYBIND11_MODULE")[0] + main


def job_of(step: Step, checkouts: Path) -> tuple[str, dict[str, bytes]]:
    """The command and its files."""
    source = checkouts / step.source
    text, arch, flags = source.read_text(encoding="utf-8"), gpu_by_name(step.gpu).gfx, step.flags
    if step.kind.startswith("module"):
        code = text if source.suffix == ".s" else module_source(text)
        files = {source.name: code.encode(), "launch": MODULE.encode()}
        launch = step.kind.removeprefix("module ")
        return RUN.format(arch=arch, file=source.name, flags=flags, launch=launch), files
    files = {"program.hip": program_source(step, text).encode()}
    if step.source.startswith("HipKittens"):
        newest = arch == "gfx950"
        headers = checkouts / ("HipKittens" if newest else "HipKittens-cdna3") / "include"
        files |= {
            f"include/{each.relative_to(headers)}": each.read_bytes() for each in headers.rglob("*") if each.is_file()
        }
        flags += f" -Iinclude -I/usr/include/hip -DHIP_ENABLE_WARP_SYNC_BUILTINS -DKITTENS_CDNA{4 if newest else 3}"
    return RUN.format(arch=arch, file="program.hip", flags=flags, launch=""), files


def dispatch_of(row: dict[str, Any]) -> Dispatch:
    """A line of the emulator's report."""
    pcs = {address: PcCounts(*counts) for address, *counts in row["pcs"] or ()}
    grid, block = row["grid"], row["block"]
    return Dispatch(row["kernel"], tuple(grid), tuple(block), row["counters"], None, pcs, row["lds_bytes"])


def modelled(step: Step, checkouts: Path, sandbox: Sandbox) -> Row:
    """Raises RuntimeError where it does not compile or run."""
    command, files = job_of(step, checkouts)
    done = sandbox.run("compile", ["sh", "-c", command], files, timeout_s=TIMEOUT_S)
    rows = [json.loads(line) for line in done.files.get("report", b"").splitlines()]
    faults = [f"{row['fault']['kind']} {row['fault'].get('instruction', '')}" for row in rows if row.get("fault")]
    if done.exit_code != 0 or faults:
        said = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr[-300:].strip()]
        raise RuntimeError("too long" if done.timed_out else [*faults, *said][0])
    ran = [dispatch_of(row) for row in rows if "counters" in row and step.kernel in row["kernel"]]
    gpu = clocked(gpu_by_name(step.gpu))
    unit, time = simulated(ran[-1], gpu), launch_interval(ran[-1], gpu)
    us = (step.measured_us, unit.time_us if unit else 0.0, time.low_us, time.likely_us, time.high_us)
    first = next(iter(findings(step, ran[-1], gpu, checkouts, sandbox)), "")
    measured_us, simulated_us, low_us, likely_us, high_us = (float(f"{each:.5g}") for each in us)
    return Row(step.series, step.name, step.gpu, measured_us, simulated_us, low_us, likely_us, high_us, first)


def findings(step: Step, ran: Dispatch, gpu: Gpu, checkouts: Path, sandbox: Sandbox) -> list[str]:
    """What a profile says of it, the first first. Assembly and programs with own headers have no source here."""
    code, lines, resources, disassembly = "", None, [], ""
    _, files = job_of(step, checkouts)
    name = next(iter(files))
    if len(files) <= 2 and not name.endswith(".s"):
        code = files[name].decode()
        with TemporaryDirectory() as cache:
            flags = [each for each in step.flags.split() if each.startswith("-D")]
            compiled = Compiler(sandbox, Path(cache), timeout_s=TIMEOUT_S).compile(
                code, arch=gpu.gfx, flags=flags, file_name="kernel.hip"
            )
        lines, resources, disassembly = compiled.lines, compiled.result.kernels, compiled.disassembly
    run = CaseRun("", (replace(ran, footprint=FOOTPRINTS.get(step.kind.partition(" ")[0])),))
    facts = facts_of(runs=[run], resources=resources, source=code, lines=lines, gpu=gpu, disassembly=disassembly)
    return [row.finding for row in diagnose(facts)]


FOOTPRINTS = {"module": Footprint(2 * 4 * 4096**2, 4 * 4096**2), "yax": Footprint(8 * 32768**2, 8)}
"""What the kernels must read and write; of the others what they ask for."""


def clocked(gpu: Gpu) -> Gpu:
    """At the clock that the author of the measurements saw."""
    return replace(gpu, clock_mhz=CLOCK_MHZ.get(gpu.name, gpu.clock_mhz))


def tau(rows: Sequence[Row]) -> float | None:
    """Kendall's rank correlation over the pairs whose measured times differ by 3 %; None: there is none."""
    pairs = [
        (a.measured_us - b.measured_us) * (a.likely_us - b.likely_us)
        for a, b in combinations(rows, 2)
        if not 1 / 1.03 < a.measured_us / b.measured_us < 1.03
    ]
    return sum((each > 0) - (each < 0) for each in pairs) / len(pairs) if pairs else None


def kept() -> list[Row]:
    """The rows of earlier runs."""
    if not KEPT.exists():
        return []
    with open(KEPT, newline="") as file:
        return [
            Row(
                row.pop("series"),
                row.pop("name"),
                row.pop("gpu"),
                first=row.pop("first", ""),
                **{name: float(each) for name, each in row.items()},
            )
            for row in csv.DictReader(file)
        ]


def keep(rows: Iterable[Row]) -> None:
    """Writes them in the order of STEPS."""
    order = {(step.series, step.name): n for n, step in enumerate(STEPS)}
    with open(KEPT, "w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: order[row.series, row.name]))


def report(rows: Sequence[Row]) -> str:
    """A table of all rows, and the figures of each series and of all."""
    lines = [
        "| ladder | kernel | measured, us | modelled, us | measured / middle | |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        times = f"{row.measured_us:,.0f} | {row.likely_us:,.0f} ({row.low_us:,.0f} to {row.high_us:,.0f})"
        lines.append(f"| {row.series} | `{row.name}` | {times} | {row.ratio:.2f} | {'' if row.inside else 'outside'} |")
    close, inside = sum(1 / CLOSE <= row.ratio <= CLOSE for row in rows), sum(row.inside for row in rows)
    narrow = sum(row.high_us <= 3 * row.low_us for row in rows)
    lines += [
        "",
        f"Of {len(rows)} rows the middle of {close} is within {CLOSE} times of the measured time,",
        f"{inside} intervals hold it, and {narrow} are at most 3 times as long at their upper end as at their lower.",
        "",
        "| ladder | rows | Kendall's tau | middle within 1.3 times | inside |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for series in dict.fromkeys(row.series for row in rows):
        own = [row for row in rows if row.series == series]
        order = tau(own)
        close, inside = sum(1 / CLOSE <= row.ratio <= CLOSE for row in own), sum(row.inside for row in own)
        lines.append(f"| {series} | {len(own)} | {'-' if order is None else f'{order:.2f}'} | {close} | {inside} |")
    taken = {(step.series, step.name): step.taken for step in STEPS if step.taken}
    named = [row for row in rows if (row.series, row.name) in taken and row.first]
    right = [row for row in named if any(title in row.first for title in taken[row.series, row.name])]
    lines += ["", f"The first finding names the step that the author took next in {len(right)} of {len(named)} rows."]
    return "\n".join(lines)


def main() -> None:
    """Runs what was asked for, and prints all rows that are kept."""
    options = argparse.ArgumentParser()
    options.add_argument("checkouts", nargs="?", type=Path)
    options.add_argument("--only", default="")
    options.add_argument("--write", action="store_true")
    asked = options.parse_args()
    rows = {(row.series, row.name): row for row in kept()}
    checkouts: Path | None = asked.checkouts
    wanted = [step for step in STEPS if checkouts and asked.only in f"{step.series} {step.name}"]
    for step in wanted:
        if not checkouts or not (checkouts / step.source).exists():
            continue
        try:
            row = modelled(step, checkouts, open_sandbox(load_settings()))
        except RuntimeError as error:
            print(f"{step.series} {step.name}: not run: {error}", flush=True)
            continue
        print(*astuple(row), f"{row.ratio:.2f}", flush=True)
        rows[row.series, row.name] = row
        keep(rows.values())
    table = report(kept())
    print(table)
    if asked.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARK)
        after = rest.partition(MARK.replace("<!-- ", "<!-- /"))[2]
        PAGE.write_text(f"{before}{MARK}\n\n{table}\n\n{MARK.replace('<!-- ', '<!-- /')}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
