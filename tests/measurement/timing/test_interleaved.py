"""A comparison of two kernels in interleaved pairs, on a simulated GPU whose truth is known."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from amdkernel_mcp.measurement.timing.interleaved import (
    DEFAULT_PLAN,
    LEAST_MARGIN,
    PROBES,
    Comparison,
    Plan,
    Side,
    batch_size,
    buffer_sets,
    compare,
)
from amdkernel_mcp.measurement.timing.simulated_clock import QUIET, SimulatedGpu, SimulatedPair, read_parameters
from amdkernel_mcp.measurement.timing.statistics import sign_interval


def compared(seed: int, true_speedup: float = 1.0, *, us: float = 100.0, floor: float | None = None) -> Comparison:
    gpu = SimulatedGpu(read_parameters(), seed=seed, buffer_sets=8)
    return compare(SimulatedPair(gpu, candidate_us=us / true_speedup, baseline_us=us), floor=floor)


class Recorded:
    """A timer that returns the same times for ever, and what it was asked."""

    def __init__(self, candidate_us: float, baseline_us: float) -> None:
        self.us = {"candidate": candidate_us, "baseline": baseline_us}
        self.calls: list[str] = []
        self.orders: list[list[Side]] = []
        self.batches: list[int] = []

    def settle(self, seconds: float) -> None:
        self.calls.append(f"settle {seconds:g}")

    def time(self, order: Sequence[Side], *, batch: int) -> list[float]:
        self.calls.append("time")
        self.orders.append(list(order))
        self.batches.append(batch)
        return [self.us[side] * batch for side in order]


def test_identical_code_is_not_faster_and_a_real_difference_is_found() -> None:
    assert [compared(seed).verdict for seed in range(40)] == ["inconclusive"] * 40
    assert [compared(seed, 1.05).verdict for seed in range(20)] == ["faster"] * 20
    assert [compared(seed, 1 / 1.05).verdict for seed in range(20)] == ["slower"] * 20


def test_two_percent_are_found_although_one_look_is_not_enough() -> None:
    found = [compared(seed, 1.02, us=400.0) for seed in range(20)]
    assert sum(one.verdict == "faster" for one in found) >= 15
    assert {len(one.pairs_us) for one in found} > {9}, "some verdicts take more pairs than the first look has"


def test_pairs_cancel_a_ramp_that_one_after_the_other_reports_as_a_difference() -> None:
    cold = replace(read_parameters(), **QUIET | {"idle_clock": 0.7})
    unsettled = replace(DEFAULT_PLAN, settle_s=0.0)
    gpu = SimulatedGpu(cold, seed=3)
    paired = compare(SimulatedPair(gpu, candidate_us=1000, baseline_us=1000), floor=None, plan=unsettled)
    assert paired.estimate.value == pytest.approx(1, abs=0.002)
    assert paired.verdict == "inconclusive"

    gpu = SimulatedGpu(cold, seed=3)
    baseline, candidate = (gpu.run([1000] * 64, kernels=[kernel] * 64).mean() for kernel in (0, 1))
    assert baseline / candidate > 1.02, "the second of two identical kernels seems faster"


def test_it_settles_then_probes_then_alternates() -> None:
    timer = Recorded(50, 60)
    compare(timer, floor=None)
    assert timer.calls[:3] == ["settle 1", "time", "time"]
    assert len(timer.orders[0]) == 2 * PROBES
    ab, ba = ["candidate", "baseline"], ["baseline", "candidate"]
    assert timer.orders[1][:8] == [*ab, *ba, *ba, *ab], "two sets of buffers in turn meet both orders"
    assert timer.batches[:2] == [1, 4], "four launches of 50 us make 200 us"


def test_each_time_is_that_of_one_launch_and_of_its_own_side() -> None:
    result = compare(Recorded(50, 60), floor=None)
    assert set(result.pairs_us) == {(50, 60)}
    assert result.verdict == "faster"
    assert result.estimate.value == pytest.approx(1.2)


def test_it_stops_at_the_first_look_that_decides_and_at_the_budget() -> None:
    assert len(compare(Recorded(100, 150), floor=None).pairs_us) == DEFAULT_PLAN.looks[0]
    assert len(compare(Recorded(100, 100), floor=None).pairs_us) == DEFAULT_PLAN.looks[0], "surely within the margin"

    class Undecided(Recorded):
        def time(self, order: Sequence[Side], *, batch: int) -> list[float]:
            return [us * (1 + 0.1 * (at % 3)) for at, us in enumerate(super().time(order, batch=batch))]

    timer = Undecided(100, 100)
    result = compare(timer, floor=None)
    assert (result.verdict, result.decided) == ("inconclusive", False)
    assert len(result.pairs_us) == DEFAULT_PLAN.looks[-1]


def test_a_noisy_gpu_requires_a_larger_difference() -> None:
    quiet, noisy = (compare(Recorded(100, 103), floor=floor) for floor in (None, 0.04))
    assert (quiet.margin, quiet.verdict) == (LEAST_MARGIN, "faster")
    assert (noisy.margin, noisy.verdict) == (0.04, "inconclusive")


def test_all_looks_together_spend_the_error_once() -> None:
    assert (1 - DEFAULT_PLAN.level) * len(DEFAULT_PLAN.looks) == pytest.approx(DEFAULT_PLAN.error)
    with pytest.raises(ValueError, match="no interval"):
        Plan(looks=(7, 20), error=0.001)
    with pytest.raises(ValueError, match="do not increase"):
        Plan(looks=(20, 9))
    values = [float(number) for number in range(DEFAULT_PLAN.looks[0])]
    assert sign_interval(values, level=DEFAULT_PLAN.level) == (0, 8), "the first look needs all of its pairs"


@pytest.mark.parametrize(
    ("probe_us", "launches"),
    [(0.0, 256), (0.1, 256), (5.0, 40), (19.0, 11), (150.0, 2), (200.0, 1), (5000.0, 1)],
)
def test_short_kernels_are_batched_until_an_event_pair_is_long_enough(probe_us: float, launches: int) -> None:
    assert batch_size(probe_us) == launches


def test_buffer_sets_cover_more_than_twice_the_cache() -> None:
    cache = 256 * 2**20
    assert buffer_sets(2**30, cache) == 2, "pointers change even where one set fills the cache"
    assert buffer_sets(100 * 2**20, cache) * 100 * 2**20 > 2 * cache
    assert buffer_sets(2**20, cache) == 64, "limited"
