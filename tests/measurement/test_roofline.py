"""The time model: each bound against a figure worked out by hand for an MI300X (304 CUs, 2100 MHz, 5324.8 GB/s)."""

import pytest

from amdkernel_mcp.measurement.roofline import busy_units, dispatch_bounds, largest, model_case
from amdkernel_mcp.measurement.work import Dispatch, Footprint
from amdkernel_mcp.profiling.gpu_specs import gpu_by_name

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


def test_a_part_whose_rates_are_not_known_has_no_model():
    model = model_case([dispatch(memory_bytes_read=1)], gpu_by_name("RX 7900 XTX"))
    assert model.limiter is None
    assert largest({}) is None
