"""A sample of the workgroups: its counters against those of all, and kernels for which no sample speaks."""

import json
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]

KERNELS = Path(__file__).parents[3] / "benchmarks" / "inside" / "sampled_kernels.hip"
ALIKE = ("gemm_tiled 1024", "gemm_naive 500", "transpose_naive 1001", "transpose_tiled 1024", "block_sums 1000001",
         "softmax 1000", "stencil 1001", "attention 1024", "gemm_split_k 256", "gemm_swizzled 512", "gemm_dealt 768")  # fmt: skip
UNLIKE = {
    "triangular 500": "do not follow",
    "most_exit 1000": "do not follow",
    "late_exit 1000": "do not follow",
    "gather 100000": "do not follow",
    "rotated 500": "do not follow",
    "boundary 100000": "do not follow",
    "gemm_swizzled 260": "do not follow",
    "queue 100000": "may learn from each other",
    "chain 200": "may learn from each other",
    "tiny 10000": "few workgroups",
}
RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
hipcc --offload-arch=gfx942 -O3 -Wno-unused-command-line-argument kernels.hip -o kernels 2>&1 || exit 1
while read name size; do
  for above in 0 1 1000000000; do
    AMDKERNEL_EMULATOR_OPTIONS=arch=gfx942,memory=1,pcs=1,residency=1,threads=2,arena_mb=1000,sample_above=$above \\
      AMDKERNEL_EMULATOR_REPORT="$OUT/$name $size,$above" ./kernels $name $size || exit 1
  done
  AMDKERNEL_EMULATOR_OPTIONS=arch=gfx942,memory=1,pcs=1,residency=1,threads=2,arena_mb=1000,sample_above=1,part_above=1 \\
    AMDKERNEL_EMULATOR_REPORT="$OUT/$name $size,part" ./kernels $name $size || exit 1
done < plan
"""
Reports = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def reports(sandbox: Sandbox) -> Reports:
    """The one dispatch of each run: by kernel, size and whether it may be sampled."""
    files = {"kernels.hip": KERNELS.read_bytes(), "plan": "\n".join((*ALIKE, *UNLIKE, "")).encode()}
    done = sandbox.run("compile", ["sh", "-c", RUN], files, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    return {name: json.loads(text) for name, text in done.files.items()}


def counts(report: dict[str, Any]) -> dict[str, float]:
    """Without the simulated ones: they follow from a few workgroups, in a sample from others than in all."""
    return {name: count for name, count in report["counters"].items() if not name.startswith(("simulated_", "slots_"))}


@pytest.mark.parametrize("kernel", ALIKE)
def test_counters_of_a_sample_are_those_of_all_workgroups_within_the_error_they_name(
    reports: Reports, kernel: str
) -> None:
    full, sample = reports[f"{kernel},0"], reports[f"{kernel},1"]
    assert "sampled" not in full
    assert "not_sampled" not in sample
    assert sample["sampled"]["ran"] < sample["sampled"]["of"] == full["grid"][0] * full["grid"][1] * full["grid"][2]
    errors = sample["sampled"]["errors"]
    for name, value in counts(full).items():
        room = max(2 * errors.get(name, 0), 0.001) * value  # twice a 95 % interval, and rounding
        assert abs(sample["counters"][name] - value) <= room, name


@pytest.mark.parametrize(
    "kernel", ["gemm_tiled 1024", "transpose_tiled 1024", "block_sums 1000001", "gemm_swizzled 512"]
)
def test_where_all_workgroups_are_alike_the_sample_is_exact(reports: Reports, kernel: str) -> None:
    full, sample = reports[f"{kernel},0"], reports[f"{kernel},1"]
    assert counts(sample) == counts(full)
    assert sample["pcs"] == full["pcs"]


@pytest.mark.parametrize(
    "kernel", ["gemm_tiled 1024", "transpose_tiled 1024", "transpose_naive 1001", "attention 1024"]
)
def test_a_part_of_the_sets_stands_for_all(reports: Reports, kernel: str) -> None:
    sample, part = reports[f"{kernel},1"], reports[f"{kernel},part"]
    requests = {"TCC_REQ_sum", "TCC_READ_sum", "TCC_WRITE_sum", "TCC_ATOMIC_sum", "busiest_channel_requests"}
    most = {name: value for name, value in counts(sample).items() if value > 1000}
    assert {name: part["counters"][name] for name in requests} == {name: sample["counters"][name] for name in requests}
    off = {name: part["counters"][name] / value - 1 for name, value in most.items()}
    assert {name: share for name, share in off.items() if abs(share) > 0.03} == {}
    assert any(off.values()), "nothing was left out"


@pytest.mark.parametrize(("kernel", "why"), UNLIKE.items())
def test_where_no_sample_speaks_for_all_every_workgroup_runs_and_the_reason_is_given(
    reports: Reports, kernel: str, why: str
) -> None:
    full, sample = reports[f"{kernel},0"], reports[f"{kernel},1"]
    assert "sampled" not in sample
    assert why in sample["not_sampled"]
    polls = kernel.startswith(("chain", "queue"))  # how often depends on the threads
    assert polls or counts(sample) == counts(full)


@pytest.mark.parametrize("kernel", ["gemm_naive 500", "stencil 1001", "attention 1024"])
def test_a_dispatch_below_the_limit_runs_in_full_and_is_counted_as_without_one(reports: Reports, kernel: str) -> None:
    full, small = reports[f"{kernel},0"], reports[f"{kernel},1000000000"]
    assert "sampled" not in small
    assert "not_sampled" not in small
    assert (counts(small), small["pcs"]) == (counts(full), full["pcs"])


@pytest.mark.parametrize("kernel", ["gemm_tiled 1024", "gemm_naive 500", "transpose_tiled 1024", "softmax 1000"])
def test_the_simulated_time_of_a_sample_is_near_that_of_all_workgroups(reports: Reports, kernel: str) -> None:
    full, sample = (reports[f"{kernel},{above}"]["counters"]["simulated_clocks"] for above in (0, 1))
    assert sample == pytest.approx(full, rel=0.15)
