"""Verdicts of a benchmark, from counts of the emulator and from event times."""

import pytest

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import Side, benchmark
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint

MI300X = gpu_by_name("MI300X")
GIB = 2**30


def emulated(lines: float, *, case: str = "n=1", moved: float = 128 * 2**20) -> Side:
    counters = {"SQ_WAVES": 16384.0, "memory_bytes_read": moved, "TCP_TOTAL_CACHE_ACCESSES_sum": 2 * lines}
    return Side((CaseRun(case, (Dispatch("k", (4096, 1, 1), (256, 1, 1), counters),)),))


def timed(samples: list[float], *, moved: int = 0) -> Side:
    return Side((CaseRun("n=1", (), tuple((us,) for us in samples), (Footprint(moved, 0),)),))


def compare(candidate: Side, baseline: Side | None, *, on_gpu: bool = False, interleaved: bool = True):
    return benchmark(
        candidate=candidate, baseline=baseline, gpu=MI300X, target="t", emulated=not on_gpu, interleaved=interleaved
    )


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
    assert result.time_us.value > 0
    assert next(iter(result.limits_us.values())).value == pytest.approx(result.time_us.value)


def test_cases_that_do_not_match_are_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="different cases"):
        compare(emulated(1, case="a"), emulated(1, case="b"))


def test_identical_code_on_a_gpu_is_inconclusive():
    samples = [100.0, 101.0, 99.5, 100.5, 100.2, 99.8, 100.1, 100.4]
    result = compare(timed(samples), timed(samples[1:] + samples[:1]), on_gpu=True)
    assert result.verdict == "inconclusive", result.reason
    assert result.time_us.evidence == "measured"
    assert result.noise_floor is not None


def test_a_slowed_copy_is_slower():
    samples = [100.0, 100.1, 99.9, 100.05, 99.95, 100.0, 100.02, 99.98, 100.0, 100.1]
    result = compare(timed([us * 1.05 for us in samples]), timed(samples), on_gpu=True)
    assert result.verdict == "slower", result.reason


def test_a_difference_of_one_percent_is_found_where_the_samples_are_interleaved_and_steady():
    samples = [100.0, 100.1, 99.9, 100.05, 99.95, 100.0, 100.02, 99.98, 100.0, 100.1]
    result = compare(timed([us / 1.01 for us in samples]), timed(samples), on_gpu=True)
    assert result.verdict == "faster", result.reason


def test_a_difference_that_a_rising_clock_makes_is_not_believed_of_separate_runs():
    candidate, baseline = timed([95.0] * 10), timed([100.0] * 10)
    assert compare(candidate, baseline, on_gpu=True).verdict == "faster"
    result = compare(candidate, baseline, on_gpu=True, interleaved=False)
    assert result.verdict == "inconclusive", result.reason
    assert compare(timed([80.0] * 10), baseline, on_gpu=True, interleaved=False).verdict == "faster"


def test_six_pairs_are_too_few_for_a_verdict():
    result = compare(timed([50.0] * 6), timed([100.0] * 6), on_gpu=True)
    assert (result.verdict, "few_samples" in result.flags) == ("inconclusive", True)
    assert "6 pairs are too few" in result.reason
    assert compare(timed([50.0] * 7), timed([100.0] * 7), on_gpu=True).verdict == "faster"


def test_a_bandwidth_above_the_roof_is_invalid_whatever_the_ratio():
    result = compare(timed([50.0] * 9, moved=GIB), timed([200.0] * 9, moved=GIB), on_gpu=True)
    assert result.verdict == "invalid", "1 GiB in 50 us is four times the memory's peak"
    assert "above_roof" in result.flags
    small = compare(timed([1.0] * 9, moved=2**24), None, on_gpu=True)
    assert small.verdict != "invalid", "16 MiB can come out of the caches"


def test_what_looks_too_good_is_flagged():
    assert "over_10x" in compare(timed([100.0] * 9), timed([2000.0] * 9), on_gpu=True).flags
    assert compare(timed([100.0] * 9), timed([9000.0] * 9), on_gpu=True).verdict == "invalid"
    result = compare(timed([5.0] * 3), timed([5.0] * 3), on_gpu=True, interleaved=False)
    assert {"few_samples", "shorter_than_20_us", "not_interleaved"} <= set(result.flags)


def test_no_event_times_are_not_a_time_of_zero():
    result = compare(timed([]), None, on_gpu=True)
    assert result.verdict == "not_measured"
    assert result.time_us.value is None
