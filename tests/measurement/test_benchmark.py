"""Verdicts of a benchmark, from counts of the emulator and from event times."""

import pytest

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.hardware.specs import gpu_by_name, product_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint
from amdkernel_mcp.measurement.side import Side

MI300X = gpu_by_name("MI300X")
GIB = 2**30


def emulated(lines: float, *, case: str = "n=1", moved: float = 128 * 2**20) -> Side:
    counters = {"SQ_WAVES": 16384.0, "memory_bytes_read": moved, "TCP_TOTAL_CACHE_ACCESSES_sum": 2 * lines}
    return Side((CaseRun(case, (Dispatch("k", (4096, 1, 1), (256, 1, 1), counters),)),))


def timed(samples: list[float], *, moved: int = 0) -> Side:
    return Side((CaseRun("n=1", (), tuple((us,) for us in samples), minimum=Footprint(moved, 0)),))


def compare(candidate: Side, baseline: Side | None, *, on_gpu: bool = False, floor: float | None = None):
    return benchmark(candidate=candidate, baseline=baseline, gpu=MI300X, target="t", emulated=not on_gpu, floor=floor)


def test_a_coalesced_kernel_is_faster_than_a_scattered_one_and_both_times_are_modelled():
    result = compare(emulated(2**20), emulated(64 * 2**20))
    assert result.verdict == "faster", result.reason
    assert result.speedup.low > 1
    assert result.time_us.evidence == result.baseline_time_us.evidence == "modelled"
    assert result.noise_floor is None
    assert "modelled_not_measured" in result.flags
    assert "l1_cache" in result.reason
    assert compare(emulated(64 * 2**20), emulated(2**20)).verdict == "slower"


def test_a_time_below_that_of_a_launch_is_flagged():
    assert "shorter_than_a_launch" in compare(emulated(65536, moved=2**20), None).flags
    assert "shorter_than_a_launch" not in compare(emulated(64 * 65536), None).flags


def test_the_interval_comes_first_and_a_launch_shorter_than_its_cost_has_no_single_ratio():
    long = compare(emulated(64 * 65536), emulated(64 * 4 * 65536))
    assert f"{rounded(long.speedup.low, 3)} to {rounded(long.speedup.high, 3)} times as fast" in long.reason
    assert f"{rounded(long.speedup.value, 3)} by the bounds alone" in long.reason
    short = compare(emulated(2**20, moved=2**20), emulated(8 * 2**20, moved=2**20))
    assert "shorter_than_a_launch" in short.flags
    assert f"{rounded(short.speedup.low, 3)} to {rounded(short.speedup.high, 3)} times as fast" in short.reason
    assert "by the bounds alone" not in short.reason
    hidden = compare(emulated(1000, moved=2**10), emulated(8000, moved=2**10))
    assert "times as fast" not in hidden.reason


@pytest.mark.parametrize(("ours", "theirs"), [(2**14, 2**27), (2**27, 2**14), (2**20, 2**21)])
def test_a_ratio_is_not_further_from_1_than_both_times_allow(ours: int, theirs: int) -> None:
    result = compare(emulated(ours, moved=2**10), emulated(theirs, moved=2**10))
    mine, other, ratio = result.modelled_us, result.baseline_modelled_us, result.speedup
    assert ratio.low <= ratio.value <= ratio.high
    assert ratio.high <= 1.001 * other.high / mine.low
    assert ratio.low >= 0.999 * min(1, other.low / mine.high)


def test_a_difference_of_less_than_a_memory_latency_is_not_believed():
    result = compare(emulated(4096, moved=2**18), emulated(8 * 4096, moved=2**18))
    assert result.verdict == "inconclusive", result.speedup
    assert result.speedup.value > 1


def test_the_model_does_not_tell_apart_what_it_cannot():
    result = compare(emulated(65536), emulated(65537))
    assert result.verdict == "inconclusive", result.reason
    assert result.speedup.low < 1 < result.speedup.high
    assert "only a measurement" in result.reason


def test_a_small_difference_between_unlike_bounds_is_not_believed():
    memory_us = 128 * 2**20 / 5324.8e3
    lines = 1.2 * memory_us * 2100 * 304 / 2  # bounded by the L1, 20 % above the memory's bound
    result = compare(emulated(1), emulated(lines))
    assert result.verdict == "inconclusive", "20 % is more than one bound's uncertainty but not than two bounds'"
    assert "bounds_differ" in result.flags


def test_without_a_baseline_there_is_a_time_and_no_ratio():
    result = compare(emulated(65536), None)
    assert result.speedup.value is None
    assert result.modelled_us.low < result.time_us.value < result.modelled_us.high
    assert next(iter(result.limits_us.values())).value <= result.modelled_us.low, "no run beats a bound"
    assert result.reason.startswith(f"modelled {result.modelled_us.low:.0f} to {result.modelled_us.high:.0f} us on MI")


def test_cases_that_do_not_match_are_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="different cases"):
        compare(emulated(1, case="a"), emulated(1, case="b"))


STEADY = [100.0, 100.1, 99.9, 100.05, 99.95, 100.0, 100.02, 99.98, 100.0, 100.1]


def test_identical_code_on_a_gpu_is_inconclusive():
    samples = [100.0, 101.0, 99.5, 100.5, 100.2, 99.8, 100.1, 100.4, 99.9]
    result = compare(timed(samples), timed(samples[1:] + samples[:1]), on_gpu=True)
    assert result.verdict == "inconclusive", result.reason
    assert result.time_us.evidence == "measured"
    assert "99.6% interval" in result.reason, "the level that was used"


def test_a_slowed_copy_is_slower():
    result = compare(timed([us * 1.05 for us in STEADY]), timed(STEADY), on_gpu=True)
    assert result.verdict == "slower", result.reason


def test_a_difference_counts_only_beyond_the_noise_floor_of_the_gpu():
    faster = timed([us / 1.01 for us in STEADY])
    unknown = compare(faster, timed(STEADY), on_gpu=True)
    assert (unknown.verdict, unknown.noise_floor) == ("faster", None)
    assert "no_noise_floor" in unknown.flags
    noisy = compare(faster, timed(STEADY), on_gpu=True, floor=0.02)
    assert (noisy.verdict, noisy.noise_floor) == ("inconclusive", 0.02)
    assert "too small to count" in noisy.reason


def test_two_cases_are_one_comparison():
    def both(first: float, second: float) -> Side:
        cases = (("a", first), ("b", second))
        return Side(tuple(CaseRun(name, repeats_us=tuple((us * k,) for us in STEADY)) for name, k in cases))

    result = compare(both(1.0, 1.0), both(1.1, 1.0), on_gpu=True)
    assert result.speedup.value == pytest.approx(1.1**0.5)
    assert compare(both(1.0, 1.0), both(1.1, 1 / 1.1), on_gpu=True).verdict == "inconclusive"


def test_eight_pairs_are_too_few_for_a_verdict():
    result = compare(timed([50.0] * 8), timed([100.0] * 8), on_gpu=True)
    assert (result.verdict, "few_samples" in result.flags) == ("inconclusive", True)
    assert "8 pairs are too few" in result.reason
    assert compare(timed([50.0] * 9), timed([100.0] * 9), on_gpu=True).verdict == "faster"


def test_a_bandwidth_above_the_roof_is_invalid_whatever_the_ratio():
    result = compare(timed([50.0] * 9, moved=GIB), timed([300.0] * 9, moved=GIB), on_gpu=True)
    assert result.verdict == "invalid", "1 GiB in 50 us is four times the memory's peak"
    assert "above_roof" in result.flags
    small = compare(timed([1.0] * 9, moved=2**24), None, on_gpu=True)
    assert small.verdict != "invalid", "16 MiB can come out of the caches"


@pytest.mark.parametrize(
    ("device_id", "cus", "verdict"),
    [(0x74A5, 304, "faster"), (0x74A1, 304, "invalid"), (0x74FF, 304, "faster"), (0x74A1, 38, "faster")],
)
def test_a_time_is_judged_by_the_roof_of_the_product_and_of_no_other(device_id: int, cus: int, verdict: str):
    gpu = gpu_by_name(product_name("gfx942", device_id=device_id, cus=cus))
    us = GIB / 5.6e6  # 5.6 TB/s: within the 6.0 of an MI325X, above the 5.3 of an MI300X
    result = benchmark(
        candidate=timed([us] * 9, moved=GIB),
        baseline=timed([us * 1.5] * 9, moved=GIB),
        gpu=gpu,
        target="gpu1:0",
        emulated=False,
    )
    assert result.verdict == verdict, result.reason


def test_over_10x_is_not_believed_without_a_proof_and_over_50x_is_invalid():
    unknown = compare(timed([100.0] * 9), timed([2000.0] * 9), on_gpu=True)
    assert (unknown.verdict, unknown.flags) == ("inconclusive", ["no_noise_floor", "over_10x", "suspicious"])
    assert compare(timed([100.0] * 9), timed([9000.0] * 9), on_gpu=True).verdict == "invalid"
    assert compare(timed([100.0] * 9), timed([900.0] * 9), on_gpu=True).verdict == "faster"


@pytest.mark.parametrize("baseline_us", [2000.0, 9000.0])
def test_a_baseline_far_from_its_roof_explains_a_large_ratio(baseline_us: float):
    moved = 2**26  # from the L2 in 2 us
    proved = compare(timed([100.0] * 9, moved=moved), timed([baseline_us] * 9, moved=moved), on_gpu=True)
    assert proved.verdict == "faster", proved.reason
    assert "the outputs of the timed runs are right" in proved.reason
    assert "over_10x" in proved.flags
    near = compare(timed([0.5] * 9, moved=moved), timed([baseline_us / 200] * 9, moved=moved), on_gpu=True)
    assert near.verdict == ("inconclusive" if baseline_us == 2000 else "invalid"), "faster than the L2"
    assert "does not explain the ratio" in near.reason


def test_an_input_that_the_baseline_does_not_read_either_is_no_roof():
    table = compare(timed([50.0] * 9, moved=GIB), timed([80.0] * 9, moved=GIB), on_gpu=True)
    assert table.verdict == "faster", table.reason


def test_few_and_short_samples_are_flagged():
    result = compare(timed([5.0] * 3), timed([5.0] * 3), on_gpu=True)
    assert {"few_samples", "shorter_than_20_us"} <= set(result.flags)


def test_no_event_times_are_not_a_time_of_zero():
    result = compare(timed([]), None, on_gpu=True)
    assert result.verdict == "not_measured"
    assert result.time_us.value is None
