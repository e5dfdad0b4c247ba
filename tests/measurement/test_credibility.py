"""Which large speed-ups are believed: what the problem leaves unread need not be read."""

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint
from amdkernel_mcp.measurement.credibility import Doubt, above_roof, too_good

MI300X = gpu_by_name("MI300X")
MIB = 2**20
INPUTS = 1024 * MIB


def ran(loaded: float, unread: int) -> CaseRun:
    launch = Dispatch("k", (1024, 1, 1), (64, 1, 1), {"bytes_loaded": loaded})
    return CaseRun("n=1", (launch,), minimum=Footprint(INPUTS, MIB), unread_bytes=unread)


def good(candidate: CaseRun, baseline: CaseRun, us: float = 200.0) -> Doubt | str | None:
    return too_good(20.0, [candidate], [baseline], [(us, 20 * us)], MI300X)


def test_rows_behind_a_length_need_not_be_read() -> None:
    baseline = ran(4 * INPUTS / 2, INPUTS // 2)
    assert isinstance(good(ran(INPUTS / 2, INPUTS // 2), baseline), str)
    less = good(ran(INPUTS / 4, 3 * INPUTS // 4), baseline)
    assert isinstance(less, Doubt)
    assert "the inputs have 536870912 that are needed" in less.sentence


def test_what_the_baseline_read_is_required() -> None:
    assert isinstance(good(ran(INPUTS / 2, INPUTS // 2), ran(INPUTS, 0)), Doubt)


def test_the_roof_of_the_memory_holds_for_what_must_be_read() -> None:
    half = ran(INPUTS / 2, INPUTS // 2)
    least_us = INPUTS / 2 / (MI300X.memory_gbps * 1e3)
    slow = 10 * least_us
    assert above_roof(half, 1.2 * least_us, MI300X, baseline_us=slow, baseline=half) is None
    assert above_roof(half, 0.9 * least_us, MI300X, baseline_us=slow, baseline=half) is not None
    assert above_roof(half, 1.2 * least_us, MI300X, baseline_us=slow, baseline=ran(INPUTS, 0)) is not None
