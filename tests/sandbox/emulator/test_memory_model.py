"""The model of caches and LDS: against recordings of real GPUs, against figures worked out by hand, against itself."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]

RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
for arch in gfx942 gfx90a gfx1100 gfx1201; do
  hipcc --offload-arch=$arch -O3 -Wno-unused-command-line-argument traffic.hip -o traffic-$arch 2>&1 || exit 1
done
run() {
  AMDKERNEL_EMULATOR_OPTIONS=arch=$1,memory=1,$2 AMDKERNEL_EMULATOR_REPORT=$OUT/$1,$2 ./traffic-$1 || exit 1
}
run gfx942 threads=1
run gfx942 threads=2
run gfx942 threads=7,pcs=1
run gfx942 deterministic=1
run gfx90a threads=2
run gfx1100 threads=1
run gfx1100 threads=2,pcs=1
run gfx1201 threads=2
"""
NAMES = (
    "copy",
    "copy again",
    "fits L1",
    "fits L2",
    "fits Infinity Cache",
    "column",
    "product",
    "count",
    "fits graphics L1",
)

RECORDINGS = Path(__file__).parents[2] / "profiling" / "recordings"
NEAR = 0.004
"""What the hardware adds to a copy: the command processor's own requests."""
# Not modelled: a miss on a line that is on its way already counts as a third kind. The L2 of MI200 pairs most, not all, of
# the vL1D's 64-byte reads. The first dispatch of a recorded MI200 run wrote back all, later ones two thirds.
LEFT_OUT = {
    "gfx942": {"SQC_DCACHE_HITS", "SQC_DCACHE_MISSES"},
    "gfx90a": {"SQC_DCACHE_HITS", "SQC_DCACHE_MISSES", "TCC_REQ_sum", "TCC_READ_sum", "TCC_HIT_sum",
               "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum"},
}  # fmt: skip

Counters = dict[str, float]
Reports = dict[str, dict[str, Counters]]


def counts(counters: Counters) -> Counters:
    """Without the simulated ones, which only some of the options ask for: test_timing.py."""
    return {name: count for name, count in counters.items() if not name.startswith("simulated_")}


@pytest.fixture(scope="module")
def reports(sandbox: Sandbox) -> Reports:
    """Counters by run and launch."""
    source = (Path(__file__).parent / "traffic.hip").read_bytes()
    done = sandbox.run("compile", ["sh", "-c", RUN], {"traffic.hip": source}, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    lines = {name: [json.loads(line) for line in text.splitlines()] for name, text in done.files.items()}
    assert all(row["fault"] is None for rows in lines.values() for row in rows)
    return {
        run: dict(zip(NAMES, (counts(row["counters"]) for row in rows), strict=True)) for run, rows in lines.items()
    }


@pytest.fixture(scope="module")
def mi300x(reports: Reports) -> dict[str, Counters]:
    return reports["gfx942,threads=1"]


def recorded(folder: str) -> Counters:
    """vecCopy of 1,048,576 doubles, under the names of gfx942; the second dispatch, as the first fetches instructions."""
    with open(RECORDINGS / folder / "pmc_perf.csv", newline="") as file:
        row = list(csv.DictReader(file))[1]
    return {name.replace("TCC_EA_", "TCC_EA0_"): float(value) for name, value in row.items() if _is_number(value)}


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdigit()


@pytest.mark.parametrize(
    ("run", "arch", "folder"),
    [("gfx942,threads=1", "gfx942", "no_roof/MI300X_A1"), ("gfx90a,threads=2", "gfx90a", "vcopy/MI200")],
)
def test_a_copy_is_counted_as_on_the_recorded_gpu(reports: Reports, run: str, arch: str, folder: str) -> None:
    counted, seen = reports[run]["copy"], recorded(folder)
    both = [name for name in COUNTERS if name in seen and name not in LEFT_OUT[arch]]
    assert len(both) > 60
    for name in both:
        room = 0 if COUNTERS[name][1] == "emulated" else NEAR * seen[name]
        assert abs(counted[name] - seen[name]) <= room, name


@pytest.mark.parametrize(
    ("run", "same"),
    [
        *((f"gfx942,{options}", "gfx942,threads=1") for options in ("threads=2", "threads=7,pcs=1", "deterministic=1")),
        ("gfx1100,threads=2,pcs=1", "gfx1100,threads=1"),
    ],
)
def test_threads_do_not_change_a_single_count(reports: Reports, run: str, same: str) -> None:
    assert without_simulated(reports[run]) == without_simulated(reports[same])


def without_simulated(report: Mapping[str, Counters]) -> dict[str, Counters]:
    """Those of a simulated unit are there with `pcs` alone."""
    simulated = ("simulated_", "slots_")
    return {
        kernel: {name: count for name, count in counters.items() if not name.startswith(simulated)}
        for kernel, counters in report.items()
    }


def test_what_is_used_again_is_found_where_it_fits(mi300x: dict[str, Counters]) -> None:
    lines = {name: (16, 64, 8192)[k] * 8 for k, name in enumerate(NAMES[2:5])}
    for name, count in lines.items():
        assert mi300x[name]["cache_lines_loaded"] == 2 * count, name
    l1, l2, mall = (mi300x[name] for name in lines)
    scalar = 2  # lines of arguments
    assert (l1["l1_line_hits"], l1["TCP_TCC_READ_REQ_sum"]) == (128, 128)
    assert (l2["l1_line_hits"], l2["TCP_TCC_READ_REQ_sum"]) == (0, 1024)
    assert 512 <= l2["TCC_HIT_sum"] <= 512 + scalar
    assert (mall["l1_line_hits"], mall["TCP_TCC_READ_REQ_sum"]) == (0, 131072)
    assert mall["TCC_HIT_sum"] <= scalar, "cyclic reads of twice the L2's size never hit it"


def test_the_infinity_cache_keeps_what_an_earlier_dispatch_read(mi300x: dict[str, Counters]) -> None:
    first, again = mi300x["copy"], mi300x["copy again"]
    assert first["memory_bytes_read"] == pytest.approx(8 << 20, rel=1e-3)
    assert first["memory_bytes_written"] == 8 << 20
    assert again["memory_bytes_read"] == again["memory_bytes_written"] == 0
    assert again["TCC_MISS_sum"] == first["TCC_MISS_sum"], "the L2 starts cold on a part with several"


def test_stores_of_a_column_meet_in_the_l2(mi300x: dict[str, Counters]) -> None:
    counted = mi300x["column"]
    waves = 256 * 4
    assert counted["cache_lines_stored"] == counted["TCP_TCC_WRITE_REQ_sum"] == 64 * waves
    # Neighbouring columns are on the eight L2s in turn: each has every eighth float of each line.
    assert counted["TCC_EA0_WRREQ_sum"] == 8 * 256 * 256 * 4 // 64
    assert counted["bytes_stored"] == 256 * waves


def test_exact_counts_are_those_worked_out_by_hand(mi300x: dict[str, Counters]) -> None:
    counted, waves, steps = mi300x["product"], 64 * 4, 128 // 16
    assert counted["SQ_WAVES"] == waves
    assert counted["SQ_ITEMS"] == 64 * waves
    assert counted["bytes_loaded"] == waves * steps * 2 * 256
    assert counted["bytes_stored"] == waves * 256
    assert counted["barriers"] == waves * steps * 2
    flop = {kind: counted[f"SQ_INSTS_VALU_{kind}_F32"] for kind in ("ADD", "MUL", "FMA")}
    assert flop["ADD"] + flop["MUL"] + 2 * flop["FMA"] == waves * 2 * 128
    assert counted["branches_divergent"] == 0
    assert counted["cache_lines_loaded"] == waves * steps * 2 * 4


def test_atomics_are_counted_apart(mi300x: dict[str, Counters]) -> None:
    counted = mi300x["count"]
    assert counted["bytes_atomic"] == 16 * 32 * 4
    assert counted["TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"] == counted["TCC_ATOMIC_sum"] == 16 * 2
    # Two neighbours add to one word: a turn more in each of the two phases, and in one of the last, half empty wave.
    assert counted["SQ_LDS_ADDR_CONFLICT"] == 2 * (100000 // 64) + 1
    assert counted["SQ_LDS_BANK_CONFLICT"] == 0


RDNA = {"gfx1100": "gfx1100,threads=1", "gfx1201": "gfx1201,threads=2"}


@pytest.mark.parametrize("arch", RDNA)
def test_a_copy_on_rdna_moves_each_byte_once(reports: Reports, arch: str) -> None:
    copy, again = (reports[RDNA[arch]][name] for name in ("copy", "copy again"))
    assert copy["SQ_WAVES"] == 2 * 16384
    assert copy["SQ_WAVE32_INSTS"] == copy["SQ_INSTS"]
    assert copy["cache_lines_loaded"] == copy["cache_lines_stored"] == 65536, "32 doubles are two lines"
    assert copy["memory_bytes_read"] == pytest.approx(8 << 20, rel=1e-3)
    assert copy["memory_bytes_written"] == 8 << 20
    assert again["memory_bytes_read"] == 0, "both arrays fit into the Infinity Cache"


def test_the_graphics_l1_finds_for_a_workgroup_what_its_l0_lost(reports: Reports) -> None:
    assert reports[RDNA["gfx1100"]]["fits L2"]["l1_line_hits"] == 512, "a workgroup processor has two L0s of 32 KiB"
    rdna3, rdna4 = (reports[RDNA[arch]]["fits graphics L1"] for arch in RDNA)
    assert (rdna3["l1_line_hits"], rdna4["l1_line_hits"]) == (0, 0), "twice the L0s' size"
    assert rdna3["gl1_hits"] == pytest.approx(1024, abs=4)
    assert rdna3["gl1_misses"] == rdna3["TCC_REQ_sum"] == pytest.approx(1024, abs=4)
    assert rdna4["gl1_hits"] == rdna4["gl1_misses"] == 0
    assert rdna4["TCC_REQ_sum"] == pytest.approx(2048, abs=4)


def test_a_miss_of_rdna4s_l2_fetches_256_bytes(reports: Reports) -> None:
    swept = reports[RDNA["gfx1201"]]["fits Infinity Cache"]
    lines = 8192 * 1024 // 128
    assert swept["TCC_EA0_RDREQ_sum"] == pytest.approx(lines, rel=0.01), "8 MiB fit into the L2"
    assert swept["TCC_MISS_sum"] == pytest.approx(lines / 2, rel=0.01)


@pytest.mark.parametrize("arch", RDNA)
def test_padding_saves_rdna_from_conflicts_as_well(reports: Reports, arch: str) -> None:
    counted = reports[RDNA[arch]]["product"]
    assert counted["SQ_LDS_IDX_ACTIVE"] > 0
    assert counted["barriers"] == counted["SQ_WAVES"] * 16
