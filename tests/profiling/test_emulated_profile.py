"""Profiles of emulated kernels: what the counts say, what is modelled, and what the diagnosis makes of it."""

from dataclasses import replace
from typing import Any

import pytest

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.counters import MATRIX_TYPES, CaseRun, Dispatch, Footprint, PcCounts
from amdkernel_mcp.measurement.simulated import simulated
from amdkernel_mcp.profiling.comparison import compare
from amdkernel_mcp.profiling.hot_lines import hot_lines, line_table
from amdkernel_mcp.profiling.metrics.emulated import DERIVED
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS
from amdkernel_mcp.profiling.profile import profile
from amdkernel_mcp.profiling.remains import REMAINS
from amdkernel_mcp.results.kernels import KernelResources

MI300X = gpu_by_name("MI300X")
MIB = 2**20
WAVES = 16384


def counts(**changed: float) -> dict[str, float]:
    """A coalesced copy of 4 MiB with 16,384 waves, one float per lane, and what is changed of it."""
    plain = {
        "SQ_WAVES": WAVES, "SQ_INSTS": 20 * WAVES, "SQ_INSTS_VALU": 8 * WAVES, "SQ_INSTS_SALU": 6 * WAVES,
        "SQ_INSTS_SMEM": WAVES, "SQ_INSTS_VMEM_RD": WAVES, "SQ_INSTS_VMEM_WR": WAVES, "SQ_INSTS_BRANCH": WAVES,
        "SQ_INSTS_LDS": 0, "SQ_INSTS_MFMA": 0, "active_lanes_valu": 8 * 64 * WAVES,
        "bytes_loaded": 256 * WAVES, "bytes_stored": 256 * WAVES, "lds_bytes": 0, "barriers": 0,
        "cache_lines_loaded": 2 * WAVES, "cache_lines_stored": 2 * WAVES,
        "SQ_LDS_BANK_CONFLICT": 0, "SQ_LDS_IDX_ACTIVE": 0,
    }  # fmt: skip
    flop = [f"SQ_INSTS_VALU_{op}_{w}" for op in ("ADD", "MUL", "FMA", "TRANS") for w in ("F16", "F32", "F64")]
    flop += [f"SQ_INSTS_VALU_MFMA_MOPS_{kind}" for kind in MATRIX_TYPES]
    return dict.fromkeys(flop, 0) | caches(plain | changed) | plain | changed


def caches(asked: dict[str, float]) -> dict[str, float]:
    """What the caches make of it when nothing is used twice: 64 B a lookup, 128 B a read, 64 B a store."""
    loaded, stored = asked["cache_lines_loaded"], asked["cache_lines_stored"]
    lookups = max(loaded, asked["bytes_loaded"] / 64) + max(stored, asked["bytes_stored"] / 64)
    return {
        "TCP_TOTAL_CACHE_ACCESSES_sum": lookups, "TCC_REQ_sum": loaded + max(stored, asked["bytes_stored"] / 64),
        "memory_bytes_read": asked["bytes_loaded"], "memory_bytes_written": asked["bytes_stored"],
        "TCC_HIT_sum": 0, "TCC_MISS_sum": loaded,
    }  # fmt: skip


def resources(**changed: object) -> KernelResources:
    plain: dict[str, object] = {
        "name": "k", "vgpr": 16, "agpr": 0, "sgpr": 16, "lds_bytes": 0, "scratch_bytes": 0, "vgpr_spills": 0,
        "sgpr_spills": 0, "wavefront_size": 64, "occupancy_waves_per_simd": 8, "occupancy_limit": "wave_slots",
        "instructions": {},
    }  # fmt: skip
    return KernelResources.model_validate(plain | changed)


class Lines:
    def line_of(self, address: int) -> int | None:
        return {0x10: 2, 0x14: 2, 0x18: 3}.get(address)


def run(
    *, groups: int = 4096, block: int = 256, of: KernelResources | None = None, pcs: dict[int, PcCounts] | None = None,
    footprint: Footprint | None = None, **changed: Any,
):  # fmt: skip
    at = footprint or Footprint(4 * MIB, 4 * MIB)
    dispatch = Dispatch("k", (groups, 1, 1), (block, 1, 1), counts(**changed), at, pcs or {})
    return profile(
        runs=[CaseRun("n", (dispatch,))], resources=[of or resources()], source="void k() {\n  load();\n  add();\n}",
        lines=Lines(), gpu=MI300X, target="emulator:gfx942",
    )  # fmt: skip


def findings(result) -> list[str]:
    return [row.finding for row in result.diagnosis if not row.finding.startswith(("Ruled out", REMAINS))]


def remains(result) -> list[str]:
    """The parts of the time of a kernel in which nothing is found, and what would help."""
    return [f"{row.finding}; {row.because}; {row.try_}" for row in result.diagnosis if row.finding.startswith(REMAINS)]


def ruled_out(result) -> str:
    return next(row.because for row in result.diagnosis if row.finding.startswith("Ruled out"))


def test_counts_are_emulated_and_what_a_cost_model_adds_is_modelled():
    found = run().kernels[0].metrics
    assert found["SQ_INSTS_VALU"].evidence == "emulated"
    assert found["Modelled Time"].evidence == found["cache_lines_loaded"].evidence == "modelled"
    assert found["Load Coalescing"].evidence == found["SQ_LDS_BANK_CONFLICT"].evidence == "modelled"
    assert found["VGPRs"].evidence == "static"
    assert {metric.evidence for metric in found.values()} <= {"emulated", "modelled", "static", "not_measured"}


def test_a_copy_moves_each_byte_once_in_full_lines():
    found = run().kernels[0].metrics
    assert found["Compulsory Bytes"].value == 8 * MIB
    assert found["Request Amplification"].value == 1
    assert found["Load Coalescing"].value == 100
    assert found["VALU Lane Utilization"].value == 100
    assert found["LDS Bank Conflicts/Access"].evidence == "not_measured", "a kernel without LDS has no such figure"


def test_a_good_copy_is_bound_by_memory_and_nothing_is_wrong_with_it():
    result = run(bytes_loaded=1024 * WAVES, bytes_stored=1024 * WAVES, cache_lines_loaded=8 * WAVES,
                 cache_lines_stored=8 * WAVES, footprint=Footprint(16 * MIB, 16 * MIB))  # fmt: skip
    assert result.kernels[0].bound == "memory"
    assert len(findings(result)) == 1
    assert "compulsory" in findings(result)[0] or "memory traffic that the problem needs" in findings(result)[0]
    assert "uncoalesced loads" in ruled_out(result)


def test_scattered_loads_are_found_with_their_figures():
    result = run(cache_lines_loaded=64 * WAVES)
    assert findings(result)[0] == "Loads are not coalesced"
    row = result.diagnosis[0]
    assert "64.0 lines" in row.because
    pcs = {0x10: PcCounts(WAVES, 64 * WAVES, 256 * WAVES, lines=64 * WAVES)}
    because = run(cache_lines_loaded=64 * WAVES, memory_bytes_read=0, pcs=pcs).diagnosis[0].because
    assert "line 2 requests 256 B per instruction and touches 64.0 lines" in because
    assert row.docs
    assert row.try_


def test_scattered_stores_are_found():
    assert "Stores are not coalesced" in findings(run(cache_lines_stored=64 * WAVES))


def test_scattered_loads_that_do_not_weigh_are_no_finding():
    flops: dict[str, Any] = {
        "SQ_INSTS_VALU": 3000 * WAVES,
        "active_lanes_valu": 3000 * 64 * WAVES,
        "SQ_INSTS": 3020 * WAVES,
    }
    result = run(cache_lines_loaded=64 * WAVES, **flops)
    assert "Loads are not coalesced" not in findings(result)
    assert "of the modelled time" in ruled_out(result)


def test_bank_conflicts_need_both_the_conflicts_and_the_weight():
    lds: dict[str, Any] = {"SQ_INSTS_LDS": 32 * WAVES, "lds_bytes": 32 * 256 * WAVES}
    slow = run(SQ_LDS_IDX_ACTIVE=32 * 64 * WAVES, SQ_LDS_BANK_CONFLICT=31 * 64 * WAVES, **lds)
    assert "LDS bank conflicts" in findings(slow)
    rare = run(SQ_LDS_IDX_ACTIVE=4 * WAVES, SQ_LDS_BANK_CONFLICT=2 * WAVES, SQ_INSTS_LDS=WAVES, lds_bytes=256 * WAVES)
    assert "LDS bank conflicts" not in findings(rare)
    assert "LDS bank conflicts" in ruled_out(rare)


def test_a_block_that_is_no_multiple_of_64_is_named_as_the_cause_of_idle_lanes():
    busy: dict[str, Any] = {
        "SQ_INSTS_VALU": 800 * WAVES,
        "SQ_INSTS": 820 * WAVES,
        "active_lanes_valu": 800 * 24 * WAVES,
    }
    result = run(groups=WAVES, block=24, **busy)
    row = next(row for row in result.diagnosis if row.finding == "Many lanes are inactive")
    assert "40 lanes" in row.because


def test_few_waves_cannot_fill_the_machine():
    result = run(groups=16, SQ_WAVES=64)
    assert findings(result)[0] == "The launch cannot fill the GPU"
    assert "64 of 1216 SIMDs" in result.diagnosis[0].because


def test_a_small_problem_is_not_blamed_on_its_launch():
    result = run(groups=16, SQ_WAVES=64, footprint=Footprint(4096 * 4, 4096 * 4))
    assert "The launch cannot fill the GPU" not in findings(result)
    assert "too small for this GPU" in ruled_out(result)


def test_spills_and_a_local_array_are_distinguished():
    used: dict[str, Any] = {"scratch_bytes_loaded": 4096 * WAVES, "TCP_TOTAL_CACHE_ACCESSES_sum": 80 * WAVES}
    assert "Registers spill to scratch memory" in findings(run(of=resources(scratch_bytes=64, vgpr_spills=9), **used))
    assert "A local array is in scratch memory" in findings(run(of=resources(scratch_bytes=64), **used))
    assert "register spills: 64 B of scratch are reserved, and none are used" in ruled_out(
        run(of=resources(scratch_bytes=64))
    )


def test_low_occupancy_names_what_limits_it():
    result = run(of=resources(vgpr=400), waits_for_memory=8 * WAVES, SQ_INSTS_VMEM_RD=8 * WAVES)
    row = next(row for row in result.diagnosis if "Few waves" in row.finding)
    assert "vgpr" in row.because


def test_a_matrix_product_on_the_vector_alu_gets_the_advice_to_use_matrix_cores():
    fma: dict[str, Any] = {
        "SQ_INSTS_VALU": 1000 * WAVES,
        "active_lanes_valu": 64000 * WAVES,
        "SQ_INSTS_VALU_FMA_F32": 700 * WAVES,
        "SQ_INSTS_LDS": 90 * WAVES,
        "lds_bytes": 90 * 1024 * WAVES,
    }
    assert "A matrix product without matrix instructions" in findings(run(**fma))
    with_mfma = fma | {"SQ_INSTS_MFMA": 10 * WAVES, "SQ_INSTS_VALU_MFMA_MOPS_F16": 160 * WAVES}
    assert "A matrix product without matrix instructions" not in findings(run(**with_mfma))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"SQ_INSTS_VALU_FMA_F32": 900 * WAVES}, id="a polynomial, with one load for 900 products"),
        pytest.param(
            {"SQ_INSTS_LDS": 60 * WAVES, "SQ_INSTS_VALU_FMA_F32": 600 * WAVES, "SQ_INSTS_VALU_TRANS_F32": 60 * WAVES},
            id="an n-body sum, with a square root for each pair",
        ),
    ],
)
def test_many_products_that_are_none_of_matrices_get_no_advice_to_use_matrix_cores(changed: dict[str, Any]) -> None:
    result = run(SQ_INSTS_VALU=1000 * WAVES, active_lanes_valu=64000 * WAVES, SQ_INSTS=1100 * WAVES, **changed)
    assert "A matrix product without matrix instructions" not in findings(result)
    assert "missing matrix instructions" in ruled_out(result)


def test_fp64_arithmetic_that_costs_time_is_found() -> None:
    wide: dict[str, Any] = {"SQ_INSTS_VALU": 1000 * WAVES, "active_lanes_valu": 64000 * WAVES, "SQ_INSTS": 1100 * WAVES}
    result = run(SQ_INSTS_VALU_MUL_F64=300 * WAVES, SQ_INSTS_VALU_ADD_F64=300 * WAVES, **wide)
    assert "The arithmetic is in double precision" in findings(result)
    few = run(SQ_INSTS_VALU_MUL_F64=10 * WAVES, **wide)
    assert "The arithmetic is in double precision" not in findings(few)
    assert "The arithmetic is in double precision" not in findings(run())


def test_partly_used_lines_are_not_called_a_lost_re_use() -> None:
    strided: dict[str, Any] = {"cache_lines_loaded": 16 * WAVES, "memory_bytes_read": 8 * 4 * MIB}
    result = run(**strided)
    assert "Memory moves whole lines, but a part of each is used" in findings(result)
    assert not any(found.startswith("Data leaves the caches") for found in findings(result))


def test_narrow_loads_that_do_not_weigh_are_no_finding() -> None:
    result = run(memory_bytes_read=64 * MIB, footprint=Footprint(64 * MIB, 4 * MIB))
    assert "Loads are narrow" not in findings(result)


def test_loading_the_same_data_again_and_again_is_found():
    again: dict[str, Any] = {
        "bytes_loaded": 64 * 256 * WAVES, "cache_lines_loaded": 128 * WAVES, "SQ_INSTS_VMEM_RD": 64 * WAVES,
        "memory_bytes_read": 4 * MIB,
    }  # fmt: skip
    assert "The same data is loaded many times" in findings(run(**again))


def test_data_that_leave_the_caches_and_come_back_are_found():
    twice: dict[str, Any] = {"bytes_loaded": 4 * 256 * WAVES, "cache_lines_loaded": 8 * WAVES}
    result = run(memory_bytes_read=200 * MIB, TCC_HIT_sum=1, TCC_MISS_sum=3, **twice)
    row = next(row for row in result.diagnosis if row.finding.startswith("Data leaves the caches"))
    assert "25.5 times the compulsory" in row.because
    assert "25 %" in row.because


def test_the_diagnosis_never_speaks_of_what_the_emulator_cannot_see():
    results = [run(), run(cache_lines_loaded=64 * WAVES), run(groups=16, SQ_WAVES=64)]
    for row in (row for result in results for row in result.diagnosis):
        assert "stall" not in row.finding + row.because
        assert "measured at" not in row.because


def test_hot_lines_are_shares_of_all_that_was_executed():
    pcs = {address: PcCounts(count) for address, count in ((0x10, 30), (0x14, 30), (0x18, 20), (0x99, 20))}
    lines = run(pcs=pcs).kernels[0].hot_lines
    assert [(line.line, line.source, line.share) for line in lines] == [(2, "load();", 0.6), (3, "add();", 0.2)]
    assert all(line.evidence == "emulated" for line in lines)
    assert run().kernels[0].hot_lines == []


def test_a_hot_line_says_what_it_asked_and_where_it_was_found():
    load = PcCounts(100, 6400, 25600, lines=6400, l1_hits=1600, l2_hits=3600, l2_misses=1200)
    lines = run(pcs={0x10: load, 0x18: PcCounts(10, 320, divergent=5)}).kernels[0].hot_lines
    assert (lines[0].executions, lines[0].active_lanes, lines[1].divergent) == (100, 64, 5)
    memory = lines[0].memory
    assert (memory.bytes_asked, memory.bytes_touched, memory.l1_hit, memory.l2_hit) == (25600, 819200, 0.25, 0.75)
    assert memory.evidence == "modelled"
    assert lines[1].memory is None


def test_conflicts_of_atomics_are_not_advised_to_pad_rows():
    lds: dict[str, Any] = {
        "SQ_LDS_IDX_ACTIVE": 32 * 64 * WAVES,
        "SQ_LDS_BANK_CONFLICT": 31 * 64 * WAVES,
        "SQ_INSTS_LDS": 64 * WAVES,
    }
    rows, bins = run(**lds).diagnosis[0], run(SQ_INSTS_LDS_ATOMIC=60 * WAVES, **lds).diagnosis[0]
    assert rows.finding == bins.finding == "LDS bank conflicts"
    assert "pad each row" in rows.try_
    assert "copy" in bins.try_
    assert "pad" not in bins.try_


def test_a_line_that_loads_and_stores_has_the_loads_hits_and_its_lds_bytes():
    pcs = {
        0x10: PcCounts(10, 640, 2560, lines=20, l1_hits=10),
        0x14: PcCounts(10, 640, 2560, lines=20, lines_stored=20),
        0x18: PcCounts(10, 640, 1280, lds_cycles=20),
    }
    both, lds = (line.memory for line in run(pcs=pcs).kernels[0].hot_lines)
    assert (both.bytes_asked, both.bytes_touched, both.l1_hit, both.lds_bytes) == (5120, 40 * 128, 0.5, 0)
    assert (lds.bytes_asked, lds.lds_bytes, lds.bytes_touched) == (1280, 1280, 0)


def test_scattered_stores_are_blamed_on_a_line_that_stores():
    pcs = {
        0x10: PcCounts(WAVES, 64 * WAVES, 256 * WAVES, lines=100 * WAVES),
        0x18: PcCounts(WAVES, 64 * WAVES, 256 * WAVES, lines=64 * WAVES, lines_stored=64 * WAVES),
    }
    result = run(cache_lines_stored=64 * WAVES, pcs=pcs)
    stores = next(row for row in result.diagnosis if row.finding == "Stores are not coalesced")
    assert "line 3 requests 256 B per instruction and touches 64.0 lines" in stores.because


def test_a_line_of_few_instructions_that_moves_much_is_shown_after_the_hot_ones():
    busy = PcCounts(1, 64, 256, lines=64)
    pcs = {line: PcCounts(1000 - line) for line in range(20)} | {30: busy}
    dispatch = Dispatch("k", (1, 1, 1), (64, 1, 1), counts(), Footprint(MIB, MIB), pcs)
    table = line_table([dispatch], line_of=lambda address: address + 1, source="")
    assert [line.line for line in hot_lines(table)] == [*range(1, 11), 31]


def test_narrow_loads_of_one_line_are_not_called_scattered():
    result = run(bytes_loaded=50 * WAVES, cache_lines_loaded=WAVES)
    assert "Loads are not coalesced" not in findings(result)


def test_rdna_gets_the_advice_to_use_wmma():
    fma: dict[str, Any] = {
        "SQ_INSTS_VALU": 1000 * WAVES,
        "SQ_INSTS_VALU_FMA_F16": 500 * WAVES,
        "SQ_INSTS_LDS": 60 * WAVES,
        "lds_bytes": 60 * 512 * WAVES,
        "SQ_INSTS": 1100 * WAVES,
    }
    dispatch = Dispatch("k", (4096, 1, 1), (256, 1, 1), counts(**fma), Footprint(MIB, MIB))
    result = profile(
        runs=[CaseRun("n", (dispatch,))], resources=[resources(wavefront_size=32)], source="", lines=None,
        gpu=gpu_by_name("RX 7900 XTX"), target="emulator:gfx1100",
    )  # fmt: skip
    row = next(row for row in result.diagnosis if row.finding == "A matrix product without matrix instructions")
    assert "no WMMA instruction ran" in row.because
    assert "MFMA" not in row.try_ + row.because


def test_the_better_kernel_is_better_by_named_counters():
    naive, better = run(cache_lines_loaded=64 * WAVES), run()
    differences = compare(naive, better)
    lines = next(one for one in differences if one.metric == "cache_lines_loaded")
    assert lines.better
    assert lines.sentence.startswith("cache_lines_loaded: 32 times less")
    assert not any(one.better for one in compare(better, naive))
    assert compare(naive, naive) == []


def test_a_run_without_dispatches_is_no_profile():
    empty = profile(runs=[], resources=[], source="", lines=None, gpu=MI300X, target="t")
    assert empty.kernels == []
    assert empty.reason


def test_all_formulas_use_counters_that_the_emulator_has():
    known = COUNTERS.keys() | {"compulsory_bytes", "wave_size", "simds"}
    for definition in DERIVED:
        assert definition.formula.names <= known, definition.name


@pytest.mark.parametrize("name", ["MI300X", "MI250X", "MI355X"])
def test_other_parts_are_modelled_with_their_own_figures(name):
    from amdkernel_mcp.measurement.roofline import model_case

    gpu = gpu_by_name(name)
    dispatch = Dispatch("k", (4096, 1, 1), (256, 1, 1), counts())
    assert model_case([dispatch], gpu).bounds_us["memory"] == pytest.approx(8 * MIB / gpu.memory_gbps / 1e3)


def simulated_counts(us: float, **without_us: float) -> dict[str, Any]:
    """Counters of a simulation on an MI300X; a loss that is not named costs nothing."""
    losses = ("latency", "lds_conflicts", "lds", "barriers", "scattered_lines", "vector", "matrix")
    without = {f"simulated_clocks_without_{loss}": without_us.get(loss, us) * MI300X.clock_mhz for loss in losses}
    return {"simulated_cus": MI300X.cus, "simulated_clocks": us * MI300X.clock_mhz} | without


def test_what_costs_time_in_the_simulation_is_found_and_never_ruled_out() -> None:
    unseen = run()
    assert "exposed latency" in ruled_out(unseen)
    assert "Latency is exposed" not in str(findings(unseen))
    loop: dict[str, Any] = {"waits_for_memory": 16 * WAVES, "SQ_INSTS_VMEM_RD": WAVES}
    few: dict[str, Any] = {"groups": 304, "SQ_WAVES": 1216}
    found = run(**few, **loop, **simulated_counts(100, latency=40))
    assert findings(found)[0].startswith("Latency is exposed")
    assert "needs 100 us for its share of the workgroups, and 40 us if all loads" in found.diagnosis[0].because
    gain = found.diagnosis[0].gain
    assert gain is not None
    assert 1.3 < gain.low < 2.6 >= gain.high
    slight = run(**simulated_counts(100, latency=85))
    assert findings(slight) == []
    assert "the largest part of the time is waits that nothing hides" in remains(slight)[0]
    assert "exposed latency" not in ruled_out(slight)


def test_waits_stay_as_long_on_fewer_cus_where_all_workgroups_are_resident_at_once() -> None:
    counters = simulated_counts(100, latency=10) | {"simulated_groups_at_once": 8 * MI300X.cus}
    smaller = replace(MI300X, cus=MI300X.cus // 2)
    of = {groups: simulated(Dispatch("k", (groups, 1, 1), (64, 1, 1), counters), smaller) for groups in (1200, 1300)}
    at_once, in_rounds = of[1200], of[1300]
    assert at_once
    assert in_rounds
    assert at_once.time_us == pytest.approx(90 + 2 * 10)
    assert at_once.saved_us("latency") == pytest.approx(90)
    assert at_once.saved_us("lds") == pytest.approx(0)
    assert in_rounds.time_us == pytest.approx(2 * 100)


def test_a_kernel_at_the_roof_reads_what_its_waits_cost_where_they_were_simulated() -> None:
    moved: dict[str, Any] = {f"bytes_{way}": 4096 * WAVES for way in ("loaded", "stored")}
    moved |= {f"cache_lines_{way}": 32 * WAVES for way in ("loaded", "stored")}
    moved["footprint"] = Footprint(64 * MIB, 64 * MIB)
    for counted, says in (({}, "what latency cost"), (simulated_counts(40, latency=35), "waits for memory cost 5")):
        advice = next(row.try_ for row in run(**moved, **counted).diagnosis if "only modelled bound" in row.finding)
        assert says in advice
        assert "only moving fewer bytes" in advice


def test_no_finding_promises_more_than_the_time_of_the_kernel() -> None:
    result = run(**simulated_counts(100, latency=0, lds=0, barriers=0, lds_conflicts=0), SQ_INSTS_LDS=WAVES)
    for row in result.diagnosis:
        if row.gain:
            assert row.gain.high <= 20


def test_a_wave_that_does_most_of_the_work_is_found() -> None:
    result = run(longest_wave_insts=4000, longest_wave_accesses=1000, waits_for_memory=WAVES)
    row = result.diagnosis[0]
    assert row.finding.startswith("One wave does much more than the others")
    assert "200.0 times the instructions of a mean one" in row.because
    assert row.gain is not None
    assert row.gain.high > 5
    assert "uneven work" in ruled_out(run(longest_wave_insts=24, longest_wave_accesses=2, waits_for_memory=WAVES))


def test_arrays_between_launches_are_found_and_not_taken_for_lost_cache_lines() -> None:
    moved: dict[str, Any] = {
        "bytes_loaded": 4096 * WAVES,
        "bytes_stored": 4096 * WAVES,
        "cache_lines_loaded": 32 * WAVES,
        "cache_lines_stored": 32 * WAVES,
    }
    result = run(**moved, footprint=Footprint(64 * MIB, 0, workspace_bytes=64 * MIB))
    assert findings(result) == ["Intermediate arrays go through memory"]
    assert "67.1 MB of 134 MB" in result.diagnosis[0].because
    small = run(**moved, footprint=Footprint(64 * MIB, 64 * MIB, workspace_bytes=MIB))
    assert "Intermediate arrays go through memory" not in findings(small)


def test_partly_used_lines_cost_nothing_where_memory_moves_what_it_must() -> None:
    lines: dict[str, Any] = {"bytes_loaded": 1024 * WAVES, "cache_lines_loaded": 24 * WAVES, "TCC_REQ_sum": 12 * WAVES}
    result = run(**lines, memory_bytes_read=1024 * WAVES, TCP_TOTAL_CACHE_ACCESSES_sum=24 * WAVES,
                 footprint=Footprint(16 * MIB, 4 * MIB))  # fmt: skip
    assert "Loads are not coalesced" not in findings(result)
    assert "uncoalesced loads" in ruled_out(result)


def test_a_queue_beyond_the_modelled_time_may_be_nearly_all_of_the_time() -> None:
    row = run(TCC_ATOMIC_sum=WAVES, atomics_on_one_line=WAVES, bytes_atomic=256 * WAVES).diagnosis[0]
    assert row.finding.startswith("Atomics take turns")
    assert row.gain is not None
    assert row.gain.low < 1.1
    assert row.gain.high > 10


ON_ONE_WORD: dict[str, Any] = {"TCC_ATOMIC_sum": 1024, "atomics_on_one_line": 1024, "bytes_atomic": 4 * 1024}


def test_lanes_that_are_combined_before_each_atomic_are_a_finding_where_this_is_the_work() -> None:
    few: dict[str, Any] = {"groups": 1, "block": 1024, "SQ_WAVES": 16, "SQ_INSTS": 500_000, "SQ_INSTS_VALU": 300_000}
    atomic = PcCounts(490_000, 490_000, 4 * 1024, lines=1024, lines_stored=1024)
    found = run(**few, **ON_ONE_WORD, pcs={0x18: atomic, 0x10: PcCounts(10_000, 640_000)})
    [row] = [row for row in found.diagnosis if row.finding.startswith("Atomics take turns")]
    assert "98% of the instructions are in their line" in row.because
    elsewhere = run(**few, **ON_ONE_WORD, pcs={0x18: PcCounts(1024, 1024, lines=1024, lines_stored=1024),
                                               0x10: PcCounts(490_000, 640_000)})  # fmt: skip
    assert "atomics on few addresses" in ruled_out(elsewhere)


def test_atomics_that_take_about_as_long_as_the_rest_are_not_ruled_out() -> None:
    near = run(TCC_ATOMIC_sum=WAVES, atomics_on_one_line=WAVES, bytes_atomic=4 * WAVES, memory_bytes_read=256 << 20)
    assert not any(title.startswith("Atomics take turns") for title in findings(near))
    assert "atomics on few addresses" not in ruled_out(near)


def test_bytes_of_atomics_are_not_those_of_loads_that_fill_lines() -> None:
    found = run(bytes_loaded=260 * WAVES, bytes_atomic=4 * WAVES).kernels[0].metrics
    assert found["Load Coalescing"].value == 100


def test_launches_that_fill_the_gpu_and_are_shorter_than_their_start_are_found() -> None:
    short = Dispatch("k", (4096, 1, 1), (256, 1, 1), counts(), Footprint(4 * MIB, 4 * MIB))
    many, one = (
        profile(runs=[CaseRun("n", (short,) * launches)], resources=[resources()], source="", lines=None, gpu=MI300X,
                target="emulator:gfx942")
        for launches in (8, 1)
    )  # fmt: skip
    title = "Starting the launches takes longer than their work"
    assert title in findings(many)
    assert title not in findings(one)


def test_a_kernel_without_a_finding_reads_what_its_time_consists_of() -> None:
    arithmetic: dict[str, Any] = {"SQ_INSTS_VALU": 100 * WAVES, "active_lanes_valu": 6400 * WAVES}
    arithmetic |= {"SQ_INSTS": 112 * WAVES, "SQ_INSTS_VALU_FMA_F32": 80 * WAVES, "memory_bytes_read": 0}
    (launch,) = remains(run(**arithmetic))
    assert "the largest part of the time is the launch; of 6." in launch
    assert "the launch 3.5 us, the vector ALU 2." in launch
    matrix: dict[str, Any] = {"SQ_INSTS_MFMA": 400 * WAVES, "SQ_INSTS_VALU_MFMA_MOPS_F16": 400 * 32 * WAVES}
    matrix |= {"SQ_INSTS_VALU": 408 * WAVES, "SQ_INSTS": 420 * WAVES}
    (cores,) = remains(run(groups=256, SQ_WAVES=1024, **matrix))
    assert "the largest part of the time is the matrix cores; of 1" in cores
    assert "(256 workgroups on 304 CUs)" in cores
    assert "narrower products" in cores
    assert remains(run(cache_lines_loaded=64 * WAVES)) == [], "there is a finding"
