"""The interval of the ratio of two modelled times: what both share cancels, what they do not share stays."""

import pytest

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch
from amdkernel_mcp.measurement.modelled import modelled_ratio
from amdkernel_mcp.measurement.paired import CaseTerms, LaunchTerms, paired, what_it_rests_on
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.simulated import Simulated
from amdkernel_mcp.measurement.timing.statistics import Estimate
from amdkernel_mcp.measurement.unmodelled import Unmodelled

MI300X = gpu_by_name("MI300X")


def case(roof_us: float, *, waits_us: float = 0.0, bound: str = "l1_cache", **left_out: float) -> CaseTerms:
    return CaseTerms((LaunchTerms(0.8 * roof_us, roof_us, bound, waits_us),), Unmodelled(**left_out))


def ratio(candidate: CaseTerms, baseline: CaseTerms):
    value = baseline.launches[0].peak_us / candidate.launches[0].peak_us
    return paired([candidate], [baseline], value=value)


def test_what_both_kernels_leave_out_cancels():
    alone = ratio(case(100), case(150)).estimate
    shared = ratio(case(100, wave_starts=40), case(150, wave_starts=40)).estimate
    assert 1 < alone.low < alone.value < alone.high
    assert 1 < shared.low <= alone.low, "both may lose the same time, which brings the ratio nearer to 1"
    only_ours = ratio(case(100, wave_starts=100), case(150)).estimate
    assert only_ours.low < 1 < only_ours.high


def simulated_case(time_us: float, *, idle_us: float) -> CaseTerms:
    """A launch that its simulation binds: `idle_us` without the latency of memory."""
    unit = Simulated(time_us, {"latency": idle_us})
    return CaseTerms((LaunchTerms(10, 12, "l1_cache", 400.0, unit),), Unmodelled())


def test_a_kernel_that_hides_the_latency_is_faster_by_its_simulation_whatever_the_latency_is() -> None:
    hides, waits = simulated_case(100, idle_us=95), simulated_case(180, idle_us=140)
    found = paired([hides], [waits], value=1.8)
    assert 1 < found.estimate.low < 1.8 < found.estimate.high < 2.6
    assert "the simulated CU binds both" in what_it_rests_on(found, [hides], [waits])
    near = paired([simulated_case(100, idle_us=50)], [simulated_case(110, idle_us=100)], value=1.1)
    assert near.estimate.low < 1 < near.estimate.high


def test_a_simulated_time_is_not_compared_with_an_estimated_one() -> None:
    mine, other = simulated_case(100, idle_us=95), case(150, waits_us=400)
    estimated = CaseTerms((LaunchTerms(10, 12, "l1_cache", 400.0),), Unmodelled())
    assert paired([mine], [other], value=2) == paired([estimated], [other], value=2)


def test_halving_the_unit_that_binds_is_distinguished_though_both_times_overlap():
    """69 to 40 us, whose intervals of one kernel each overlap."""
    found = ratio(case(40, waits_us=30), case(69, waits_us=30)).estimate
    assert found.low > 1.2
    assert found.low < found.value < found.high


def test_waits_that_may_bind_both_hide_a_smaller_bound():
    found = ratio(case(40, waits_us=200), case(69, waits_us=200))
    assert found.estimate.low < 1 < found.estimate.high
    assert "waits" in what_it_rests_on(found, [case(40, waits_us=200)], [case(69, waits_us=200)])


def test_kernels_with_different_bounds_need_a_larger_difference():
    assert ratio(case(100), case(125)).estimate.low > 1
    assert ratio(case(100, bound="lds"), case(125)).estimate.low < 1


def test_an_estimate_that_both_have_is_believed_in_part_only():
    """One kernel may meet it where the other does not."""
    same = ratio(case(100, atomics=1000), case(120, atomics=1000)).estimate
    assert same.low < 1 < same.high


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.2, 3.0])
def test_the_other_way_round_it_is_the_inverse(factor: float):
    mine, other = case(100, waits_us=60, translation=20), case(100 * factor, waits_us=50, atomics=10)
    there, back = ratio(mine, other).estimate, ratio(other, mine).estimate
    assert there.low == pytest.approx(1 / back.high)
    assert there.high == pytest.approx(1 / back.low)
    assert there.low <= there.value <= there.high


def side(lines: float, code: str) -> Side:
    counters = {"SQ_WAVES": 16384.0, "memory_bytes_read": 2.0**27, "TCP_TOTAL_CACHE_ACCESSES_sum": lines}
    return Side((CaseRun("n=1", (Dispatch("k", (4096, 1, 1), (256, 1, 1), counters),)),), code=code)


def test_the_same_machine_code_that_did_the_same_is_one_times_as_fast_exactly():
    first, copy = side(2.0**27, "a"), side(2.0**27, "a")
    assert modelled_ratio(copy, first, MI300X) == Estimate(1, 1, 1)
    answer = benchmark(candidate=copy, baseline=first, gpu=MI300X, target="t", emulated=True)
    assert (answer.verdict, answer.speedup.low, answer.speedup.high) == ("inconclusive", 1, 1)
    assert "1.00 times as fast, exactly" in answer.reason
    other = benchmark(candidate=side(2.0**27, "b"), baseline=first, gpu=MI300X, target="t", emulated=True)
    assert other.speedup.low < other.speedup.value == 1 < other.speedup.high, "other code with the same counts"
