"""The time model: each bound against a figure worked out by hand for an MI300X (304 CUs, 2100 MHz, 5324.8 GB/s)."""

from typing import Any

import pytest

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.counters import Dispatch, Footprint
from amdkernel_mcp.measurement.roofline import busy_units, dispatch_bounds, largest, model_case

MI300X = gpu_by_name("MI300X")


def dispatch(*, groups: int = 304 * 8, block: int = 256, footprint: Footprint | None = None, **counters: float):
    waves = groups * block // 64
    return Dispatch("k", (groups, 1, 1), (block, 1, 1), {"SQ_WAVES": waves, **counters}, footprint)


def test_memory_takes_what_the_caches_let_through():
    bounds = dispatch_bounds(dispatch(memory_bytes_read=5324800, memory_bytes_written=2 * 5324800), MI300X)
    assert bounds["memory"] == pytest.approx(3.0)


def test_the_infinity_cache_takes_all_traffic_of_the_l2():
    lines = 17200 * 1000 / 128  # a microsecond
    read = dispatch(mall_hits=lines / 2, mall_misses=lines / 2)
    written = dispatch(TCC_EA0_WRREQ_sum=2 * lines + 64, TCC_EA0_WRREQ_64B_sum=2 * lines)
    assert dispatch_bounds(read, MI300X)["infinity_cache"] == pytest.approx(1.0)
    assert dispatch_bounds(written, MI300X)["infinity_cache"] == pytest.approx(1.0, rel=1e-3)
    assert "infinity_cache" not in dispatch_bounds(read, gpu_by_name("MI250X"))


def test_the_l2_takes_a_request_per_clock_and_channel():
    assert dispatch_bounds(dispatch(TCC_REQ_sum=128 * 2100), MI300X)["l2_cache"] == pytest.approx(1.0)


def test_a_scattered_load_costs_a_lookup_per_lane():
    lookups = 304 * 2100  # a clock each on all CUs
    assert dispatch_bounds(dispatch(TCP_TOTAL_CACHE_ACCESSES_sum=lookups), MI300X)["l1_cache"] == pytest.approx(1.0)


def test_a_wave_instruction_takes_four_clocks_of_a_simd_and_a_transcendental_sixteen():
    plain = dispatch(SQ_INSTS_VALU=1216 * 2100)
    exp = dispatch(SQ_INSTS_VALU=1216 * 2100, SQ_INSTS_VALU_TRANS_F32=1216 * 2100)
    assert dispatch_bounds(plain, MI300X)["vector_alu"] == pytest.approx(4.0)
    assert dispatch_bounds(exp, MI300X)["vector_alu"] == pytest.approx(16.0)


def test_matrix_flop_at_the_peak_rate_take_the_time_of_the_peak():
    flops = MI300X.peak_flops("matrix_f16") * 1e-6  # one microsecond
    bounds = dispatch_bounds(dispatch(SQ_INSTS_VALU_MFMA_MOPS_F16=flops / 512), MI300X)
    assert bounds["matrix_cores"] == pytest.approx(1.0)


def test_bank_conflicts_are_in_the_lds_bound():
    clean = dispatch(lds_bytes=128 * 304 * 2100, SQ_LDS_IDX_ACTIVE=304 * 2100)
    conflicts = dispatch(lds_bytes=128 * 304 * 2100, SQ_LDS_IDX_ACTIVE=8 * 304 * 2100)
    assert dispatch_bounds(clean, MI300X)["lds"] == pytest.approx(1.0)
    assert dispatch_bounds(conflicts, MI300X)["lds"] == pytest.approx(8.0)


def test_one_workgroup_has_one_cu_to_itself():
    busy = busy_units(dispatch(groups=1, block=256), MI300X)
    assert (busy.cus, busy.simds, busy.resident_waves) == (1, 4, 4)
    alone = dispatch_bounds(dispatch(groups=1, TCP_TOTAL_CACHE_ACCESSES_sum=2100), MI300X)["l1_cache"]
    assert alone == pytest.approx(1.0), "the L1 of one CU, not of 304"


def test_one_workgroup_too_many_costs_a_second_round():
    assert busy_units(dispatch(groups=304), MI300X).cus == 304
    assert busy_units(dispatch(groups=305), MI300X).cus == pytest.approx(152.5)


def test_two_dispatches_of_different_limits_take_both_times():
    memory = dispatch(memory_bytes_read=5324800)
    vector = dispatch(SQ_INSTS_VALU=1216 * 2100)
    model = model_case([memory, vector], MI300X)
    assert model.time_us == pytest.approx(5.0)
    assert model.limiter == "vector_alu"
    assert model.bounds_us["memory"] == pytest.approx(1.0)


def test_nothing_is_bounded_where_nothing_was_counted():
    assert model_case([], MI300X).limiter is None
    assert largest({}) is None


# ---- RDNA: RX 7900 XTX has 96 CUs of two SIMDs, 2500 MHz, 960 GB/s ----

RX7900 = gpu_by_name("RX 7900 XTX")
ALL_SIMDS = 192 * 2500  # clocks of all SIMDs in a microsecond
ALL_CUS = 96 * 2500


def rdna(*, groups: int = 48 * 8, waves: int | None = None, **counters: float):
    """Workgroups of 256 threads in waves of 32."""
    return Dispatch("k", (groups, 1, 1), (256, 1, 1), {"SQ_WAVES": waves or groups * 8, **counters})


def test_rdna_takes_a_wave_of_32_a_clock_and_of_64_two():
    valu = {"SQ_INSTS_VALU": ALL_SIMDS}
    assert dispatch_bounds(rdna(**valu), RX7900)["vector_alu"] == pytest.approx(1.0)
    assert dispatch_bounds(rdna(SQ_WAVE64_INSTS=1, **valu), RX7900)["vector_alu"] == pytest.approx(2.0)


def test_rdnas_transcendentals_run_beside_the_rest():
    few = rdna(SQ_INSTS_VALU=ALL_SIMDS, SQ_INSTS_VALU_TRANS_F32=ALL_SIMDS / 8)
    many = rdna(SQ_INSTS_VALU=ALL_SIMDS, SQ_INSTS_VALU_TRANS_F32=ALL_SIMDS / 2)
    assert dispatch_bounds(few, RX7900)["vector_alu"] == pytest.approx(1.0)
    assert dispatch_bounds(many, RX7900)["vector_alu"] == pytest.approx(2.0)


def test_double_precision_takes_what_its_peak_says():
    fma = {"SQ_INSTS_VALU": ALL_SIMDS, "SQ_INSTS_VALU_FMA_F64": ALL_SIMDS}
    assert dispatch_bounds(rdna(**fma), RX7900)["vector_alu"] == pytest.approx(16.0)
    peak = RX7900.peak_flops("vector_f64") * 1e-6
    assert pytest.approx(peak) == ALL_SIMDS * 32 * 2 / 16


def test_rdna_has_a_scalar_unit_for_each_simd_and_issues_each_clock():
    scalar = dispatch_bounds(rdna(SQ_INSTS_SALU=ALL_SIMDS), RX7900)["scalar_unit"]
    assert scalar == pytest.approx(1.0)
    issue = dispatch_bounds(rdna(groups=1, SQ_INSTS=8 * 2500), RX7900)["wave_issue"]
    assert issue == pytest.approx(1.0)


def test_an_rdna_workgroup_has_both_cus_of_its_processor():
    busy = busy_units(rdna(groups=1), RX7900)
    assert (busy.cus, busy.simds) == (2, 4)
    assert busy_units(rdna(groups=49), RX7900).cus == pytest.approx(49), "two rounds of 48 pairs"


def test_rdnas_first_cache_takes_a_line_a_clock_and_its_lds_128_bytes():
    assert dispatch_bounds(rdna(cache_lines_loaded=ALL_CUS), RX7900)["l1_cache"] == pytest.approx(1.0)
    assert dispatch_bounds(rdna(SQ_LDS_IDX_ACTIVE=2 * ALL_CUS), RX7900)["lds"] == pytest.approx(2.0)


def test_wmma_at_the_peak_rate_takes_the_time_of_the_peak():
    flops = RX7900.peak_flops("matrix_f16") * 1e-6
    bounds = dispatch_bounds(rdna(SQ_INSTS_VALU_MFMA_MOPS_F16=flops / 512), RX7900)
    assert bounds["matrix_cores"] == pytest.approx(1.0)


def test_bounds_without_a_source_are_left_out():
    assert not {"l2_cache", "infinity_cache"} & set(dispatch_bounds(rdna(TCC_REQ_sum=1, mall_hits=1), RX7900))


@pytest.mark.parametrize(("gpu", "kind"), [("MI300X", "XF32"), ("MI355X", "F6F4")])
def test_every_type_of_matrix_work_has_its_peak(gpu: str, kind: str):
    part = gpu_by_name(gpu)
    flops = part.peak_flops(f"matrix_{kind.lower()}") * 1e-6
    counted: dict[str, Any] = {f"SQ_INSTS_VALU_MFMA_MOPS_{kind}": flops / 512}
    many = dispatch(groups=part.cus, **counted)
    assert dispatch_bounds(many, part)["matrix_cores"] == pytest.approx(1.0)
