"""The simulation of a unit: kernels whose clocks follow from those of their instructions, and what each loss costs."""

import json
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

KERNELS = Path(__file__).with_name("timing.hip")
RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
hipcc --offload-arch={arch} {flags} -O3 -Wno-unused-command-line-argument kernels.hip -o kernels || exit 1
for threads in 1 2; do
  AMDKERNEL_EMULATOR_OPTIONS=arch={arch},memory=1,pcs=1,residency=1,threads=$threads,arena_mb=500 \\
    AMDKERNEL_EMULATOR_REPORT="$OUT/$threads" ./kernels || exit 1
done
"""
Launches = dict[str, list[dict[str, int]]]


def launches(sandbox: Sandbox, arch: str, flags: str = "") -> tuple[Launches, str, str]:
    """The counters of each kernel's launches, and the whole report with one and with two threads."""
    command = ["sh", "-c", RUN.format(arch=arch, flags=flags)]
    done = sandbox.run("compile", command, {"kernels.hip": KERNELS.read_bytes()}, timeout_s=300)
    assert done.exit_code == 0, done.stderr
    found: Launches = {}
    for line in done.files["1"].splitlines():
        row = json.loads(line)
        if "counters" in row:
            found.setdefault(row["kernel"], []).append(row["counters"])
    one, two = (done.files[threads].decode() for threads in "12")
    return found, one, two


@pytest.fixture(scope="module")
def cdna3(sandbox: Sandbox) -> tuple[Launches, str, str]:
    """MI300X: a CU of four SIMDs."""
    return launches(sandbox, "gfx942", "-DWITH_MATRIX")


@pytest.fixture(scope="module")
def rdna3(sandbox: Sandbox) -> Launches:
    """RX 7900 XTX: a workgroup processor of four SIMDs with waves of 32 lanes."""
    return launches(sandbox, "gfx1100")[0]


def clocks(of: Launches, kernel: str, launch: int = 0, *, without: str = "") -> int:
    """Of one launch of the kernel; `without`: the loss that is left out."""
    return of[kernel][launch]["simulated_clocks" + (f"_without_{without}" if without else "")]


def test_vector_instructions_take_four_clocks_of_a_cdna_simd_and_exponentials_sixteen(
    cdna3: tuple[Launches, str, str],
) -> None:
    of, waves = cdna3[0], 4  # of a SIMD
    assert clocks(of, "multiply_adds") == pytest.approx(2048 * 4, rel=0.15)
    assert clocks(of, "multiply_adds", 1) == pytest.approx(2048 * 4 * waves, rel=0.05)
    assert clocks(of, "exponentials") == pytest.approx(2048 * 16 * waves, rel=0.05)
    assert clocks(of, "multiply_adds", 1, without="vector") < clocks(of, "multiply_adds", 1) / 4
    assert clocks(of, "multiply_adds", 2) == pytest.approx(
        4 * clocks(of, "multiply_adds", 1), rel=0.05
    )  # 4 workgroups a CU


def test_an_rdna_wave_waits_five_clocks_for_its_own_result_and_eight_fill_them(rdna3: Launches) -> None:
    waves = 8  # of a SIMD
    assert clocks(rdna3, "multiply_adds") == pytest.approx(2048 * 5, rel=0.15)  # two waves a SIMD
    assert 2048 * waves <= clocks(rdna3, "multiply_adds", 1) < 1.3 * 2048 * waves  # the oldest go first
    assert clocks(rdna3, "exponentials") == pytest.approx(2048 * 4 * waves, rel=0.1)


def test_a_matrix_instruction_takes_its_passes_and_vector_instructions_run_beside_it(
    cdna3: tuple[Launches, str, str],
) -> None:
    alone, both = clocks(cdna3[0], "products"), clocks(cdna3[0], "products_and_adds")
    assert alone == pytest.approx(1024 * 16, rel=0.1)
    assert both == pytest.approx(alone, rel=0.05)
    assert clocks(cdna3[0], "products", without="matrix") < alone / 3


def test_bank_conflicts_cost_what_a_kernel_without_them_does_not_take(cdna3: tuple[Launches, str, str]) -> None:
    clean, conflicted = clocks(cdna3[0], "shared_loads"), clocks(cdna3[0], "shared_loads", 1)
    assert conflicted > 3 * clean
    assert clocks(cdna3[0], "shared_loads", 1, without="lds_conflicts") == pytest.approx(clean, rel=0.1)
    assert clocks(cdna3[0], "shared_loads", without="lds_conflicts") == clean


def test_each_load_of_a_chain_takes_a_whole_latency(cdna3: tuple[Launches, str, str]) -> None:
    taken = clocks(cdna3[0], "chase")
    assert 512 * 120 < taken < 512 * 1300
    assert clocks(cdna3[0], "chase", without="latency") < taken / 3


def test_a_load_one_turn_ahead_hides_its_latency(cdna3: tuple[Launches, str, str]) -> None:
    ahead, late = clocks(cdna3[0], "loads_in_time"), clocks(cdna3[0], "loads_when_needed")
    assert ahead < 0.8 * late
    assert clocks(cdna3[0], "loads_in_time", without="latency") > 0.9 * ahead
    assert clocks(cdna3[0], "loads_when_needed", without="latency") < 0.7 * late


def slots(of: Launches, kernel: str, *names: str) -> float:
    """The share of the issue slots of the kernel's first launch that went to these."""
    return sum(of[kernel][0][f"slots_{name}"] for name in names) / of[kernel][0]["simulated_clocks"]


def test_the_account_of_the_issue_slots_says_where_the_clocks_went(cdna3: tuple[Launches, str, str]) -> None:
    of = cdna3[0]
    for kernel, each in of.items():
        for launch in each:
            account = sum(clocks for name, clocks in launch.items() if name.startswith("slots_"))
            assert account == pytest.approx(launch["simulated_clocks"], rel=0.01), kernel
    assert slots(of, "multiply_adds", "vector") > 0.85
    assert slots(of, "exponentials", "vector") == pytest.approx(0.25, abs=0.05)
    assert slots(of, "exponentials", "wait_vector_pipe", "wait_results") > 0.65
    assert slots(of, "products", "matrix", "wait_matrix_pipe") > 0.85
    assert slots(of, "shared_loads", "wait_lds", "lds") > 0.2
    waits = ("wait_l1", "wait_l2", "wait_infinity_cache", "wait_memory")
    assert slots(of, "chase", *waits) > slots(of, "chase", "vector", "scalar", "other")
    assert slots(of, "loads_when_needed", *waits) > 1.5 * slots(of, "loads_in_time", *waits)
    assert slots(of, "loads_when_needed", "wait_barriers") < 0.1  # the last wave waits for memory, not at the barrier


def test_loads_one_turn_earlier_bring_what_the_kernel_that_has_them_so_takes(cdna3: tuple[Launches, str, str]) -> None:
    launch, ahead = cdna3[0]["loads_when_needed"][0], clocks(cdna3[0], "loads_in_time")
    assert launch["simulated_clocks_loads_earlier"] == pytest.approx(ahead, rel=0.15)
    in_time = cdna3[0]["loads_in_time"][0]
    assert in_time["simulated_clocks_loads_earlier"] > 0.93 * ahead


def test_other_cures_are_tried_on_the_same_instructions(cdna3: tuple[Launches, str, str]) -> None:
    blocks = cdna3[0]["small_blocks"][0]
    assert blocks["simulated_clocks_full_matrix_rate"] < 0.6 * blocks["simulated_clocks"]
    products = cdna3[0]["products"][0]
    assert products["simulated_clocks_full_matrix_rate"] == pytest.approx(products["simulated_clocks"], rel=0.01)
    chase, alone = cdna3[0]["chase"][0], cdna3[0]["multiply_adds"][0]
    assert chase["simulated_clocks_all_in_l1"] < chase["simulated_clocks"]
    assert alone["simulated_clocks_twice_the_waves"] == pytest.approx(alone["simulated_clocks"], rel=0.01)


def test_threads_do_not_change_a_simulated_time(cdna3: tuple[Launches, str, str]) -> None:
    one, two = (
        [row["counters"]["simulated_clocks"] for row in map(json.loads, report.splitlines()) if "counters" in row]
        for report in cdna3[1:]
    )
    assert one == two
    assert all(one)
