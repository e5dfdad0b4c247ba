"""What the simulation of a unit brings to a profile: cures that were tried, and the account of issue slots."""

from typing import Any

import pytest

from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS
from tests.profiling.test_emulated_profile import MI300X, WAVES, findings, resources, ruled_out, run, simulated_counts


def tried(us: float, **tried_us: float) -> dict[str, Any]:
    """Counters of a simulation in which cures were tried; the names are those of the counters."""
    return simulated_counts(us) | {f"simulated_clocks_{name}": of * MI300X.clock_mhz for name, of in tried_us.items()}


FEW: dict[str, Any] = {"groups": 304, "SQ_WAVES": 1216, "waits_for_memory": 16 * WAVES, "SQ_INSTS_VMEM_RD": WAVES}


def test_loads_that_a_loop_waits_for_are_found_by_what_an_earlier_issue_brings() -> None:
    found = run(**FEW, **tried(100, loads_earlier=50, without_latency=40))
    assert findings(found)[0] == "Latency is exposed: a loop waits for the loads of its own turn"
    assert "and 50 us if each load were issued one turn earlier" in found.diagnosis[0].because
    assert found.diagnosis[0].docs[0] == "guide:double-buffering"
    gain = found.diagnosis[0].gain
    assert gain is not None
    assert 1.2 < gain.low < gain.high <= 2.1
    assert not any("one result after the other" in each for each in findings(found))  # said once
    once = run(**FEW | {"waits_for_memory": WAVES // 16}, **tried(100, loads_earlier=50, without_latency=40))
    assert not any("loads of its own turn" in each for each in findings(once))


def test_a_launch_that_no_cure_was_tried_on_has_no_finding_of_it() -> None:
    found = run(**FEW, **simulated_counts(100))
    assert not any("own turn" in each or "XCDs" in each for each in findings(found))


def test_few_waves_are_found_where_registers_or_lds_keep_others_away() -> None:
    wide = resources(vgpr=300, occupancy_waves_per_simd=1, occupancy_limit="vgpr")
    found = run(of=wide, **FEW, **tried(100, twice_the_waves=60))
    assert findings(found)[0] == "Few waves are resident to hide latency"
    assert "60 us if twice as many workgroups were resident" in found.diagnosis[0].because
    assert "Few waves" not in str(findings(run(**FEW, **tried(100, twice_the_waves=60))))  # all slots are there


def test_shapes_of_matrix_instructions_below_the_peak_rate_are_found() -> None:
    found = run(**FEW, SQ_INSTS_MFMA=WAVES, **tried(100, full_matrix_rate=55))
    assert findings(found)[0] == "Matrix instructions run below the peak rate of their type"
    assert "slow shapes" in ruled_out(run(**FEW, SQ_INSTS_MFMA=WAVES, **tried(100, full_matrix_rate=100)))


def test_data_that_several_xcds_read_are_found_by_what_one_l2_brings() -> None:
    across: dict[str, Any] = {"mall_hits": 8 * WAVES, "mall_misses": WAVES, "reads_across_xcds": 7 * WAVES}
    found = run(**FEW, **across, **tried(100, one_l2=40))
    assert any("run on different XCDs" in each for each in findings(found))
    assert found.kernels[0].metrics["Reads across XCDs"].value == pytest.approx(100 * 7 / 9)
    assert "78% of what L2s read" in ruled_out(run(**FEW, **across, **tried(100, one_l2=99)))


def test_bytes_that_are_stored_again_and_again_are_found() -> None:
    stored: dict[str, Any] = {"bytes_stored": 12 * 256 * WAVES, "cache_lines_stored": 24 * WAVES}
    found = run(**stored, memory_bytes_written=256 * WAVES)
    row = next(row for row in found.diagnosis if row.finding == "The same bytes are stored many times")
    assert "stored 12.0 times" in row.because
    assert "repeated stores" in ruled_out(run())


def test_the_account_of_issue_slots_is_among_the_metrics_and_adds_up() -> None:
    account = {"slots_vector": 30, "slots_wait_l2": 50, "slots_wait_address_unit": 5, "slots_nothing_to_run": 15}
    none: dict[str, Any] = dict.fromkeys((name for name in COUNTERS if name.startswith("slots_")), 0)
    clocks = none | {name: part * MI300X.clock_mhz for name, part in account.items()}
    metrics = run(**simulated_counts(100), **clocks).kernels[0].metrics
    shares = {name: each.value for name, each in metrics.items() if name.startswith("Issue Slots") and each.value}
    assert shares["Issue Slots: wait: L2"] == pytest.approx(50)
    assert shares["Issue Slots: wait: vL1D"] == pytest.approx(5)
    assert sum(shares.values()) == pytest.approx(100)
    assert metrics["Issue Slots: issued, VALU"].evidence == "modelled"
    assert not any(name.startswith("Issue Slots") for name in run().kernels[0].metrics)  # not simulated
