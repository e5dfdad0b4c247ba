"""Counters of a sample of the workgroups against those of all: `make bench`.

Each kernel of inside/sampled_kernels.hip runs in full and sampled, at sizes where both take seconds; those for which no
sample speaks must run in full. Then the profile of a 4096 x 4096 x 4096 product of f16 matrices is timed, input data,
compiler and sandbox included, and that of a product of 2048 x 2048 f32 matrices, where what the sample wrote is judged.
Wall times of a shared machine: the load is printed next to them.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.sandbox import Sandbox

KERNELS = Path(__file__).parent / "inside" / "sampled_kernels.hip"
ALIKE = (
    "gemm_tiled 2048", "gemm_naive 1024", "gemm_naive 1000", "gemm_split_k 512", "transpose_naive 4001",
    "transpose_tiled 4096", "block_sums 16000001", "softmax 8000", "softmax 8001", "stencil 4000", "stencil 4001",
    "attention 2048",
)  # fmt: skip
UNLIKE = (
    "triangular 2000", "most_exit 5000", "late_exit 5000", "gather 1000000", "rotated 2000", "boundary 1000000",
    "gemm_swizzled 500", "grid_stride 5000000", "queue 1000000", "chain 500", "tiny 10000",
)  # fmt: skip
RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
hipcc --offload-arch=gfx942 -O3 -Wno-unused-command-line-argument kernels.hip -o kernels || exit 1
while read name size; do
  for above in 0 1; do
    AMDKERNEL_EMULATOR_OPTIONS=arch=gfx942,memory=1,residency=1,arena_mb=2000,sample_above=$above \\
      AMDKERNEL_EMULATOR_REPORT="$OUT/$name $size,$above" ./kernels $name $size || exit 1
  done
done < plan
"""
TARGET = 0.03  # the worst counter, as a part of it
PROFILE_S = 20.0
LEAST = 1000  # counts below are left out of the worst: a difference of one would be a large part of them


def main() -> None:
    """Print a line for each kernel and the bars."""
    sandbox = open_sandbox(load_settings())
    try:
        reports = run_all(sandbox)
    finally:
        sandbox.close()
    print(f"load {os.getloadavg()[0]:.1f}")
    worst = max(compare(kernel, reports) for kernel in ALIKE)
    refused = [refusal(kernel, reports) for kernel in UNLIKE]
    print(f"worst counter of all: {100 * worst:.2f} % off (bar {100 * TARGET:.0f} %)")
    print(f"refused: {sum(refused)} of {len(UNLIKE)} kernels for which no sample speaks")
    for problem, kernel in (("gemm_f16", "naive"), ("gemm_f16", "better"), ("gemm_f32", "better")):
        profile_time(problem, kernel)


def run_all(sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    """The dispatch of each run, by kernel, size and whether it might be sampled."""
    files = {"kernels.hip": KERNELS.read_bytes(), "plan": "\n".join((*ALIKE, *UNLIKE, "")).encode()}
    done = sandbox.run("compile", ["sh", "-c", RUN], files, timeout_s=600)
    if done.exit_code:
        sys.exit(done.stderr)
    return {name: json.loads(text) for name, text in done.files.items()}


def compare(kernel: str, reports: dict[str, dict[str, Any]]) -> float:
    """Print the counter that is off most, next to the error that the sample names; returns it."""
    full, sample = reports[f"{kernel},0"], reports[f"{kernel},1"]
    if "sampled" not in sample:
        print(f"{kernel:22} NOT sampled: {sample.get('not_sampled')}")
        return 1.0
    ran, of, errors = (sample["sampled"][key] for key in ("ran", "of", "errors"))
    off: dict[str, float] = {
        name: abs(sample["counters"][name] - value) / value
        for name, value in full["counters"].items()
        if value >= LEAST
    }
    most = max(off, key=lambda name: off[name])
    exact = sum(not value for value in off.values())
    print(
        f"{kernel:22} {ran:4} of {of:6}: {exact} of {len(off)} counters exact, worst {100 * off[most]:.2f} %"
        f" ({most}; said ±{100 * errors.get(most, 0):.2f} %); {full['seconds']:.2f} s -> {sample['seconds']:.2f} s"
    )
    return off[most]


def refusal(kernel: str, reports: dict[str, dict[str, Any]]) -> bool:
    """Print why it ran in full."""
    sample = reports[f"{kernel},1"]
    print(f"{kernel:22} {'SAMPLED' if 'sampled' in sample else sample.get('not_sampled')}")
    return "sampled" not in sample


def profile_time(problem: str, kernel: str) -> None:
    """Print how long a profile of a large product takes, from the command line to its end."""
    path = folder("examples") / problem / "kernels" / f"{kernel}.hip"
    began = time.perf_counter()
    amdkernel = Path(sys.executable).with_name("amdkernel")
    command = [str(amdkernel), "profile", problem, str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"profile of {problem} {kernel}: exit code {done.returncode}: {done.stderr}")
    said = [text for text in json.loads(done.stdout)["warnings"] if text.startswith("sampled: ")]
    outputs = said[0].rpartition("; ")[2] if said else "NOT sampled"
    load = os.getloadavg()[0]
    print(f"profile of {problem} {kernel}: {took:.1f} s (bar {PROFILE_S:.0f} s), load {load:.1f}; {outputs}")


if __name__ == "__main__":
    main()
