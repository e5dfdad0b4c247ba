"""The statistics behind a measured verdict."""

from math import exp
from random import Random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amdkernel_mcp.measurement.timing.statistics import (
    bootstrap_interval,
    fewest_pairs,
    geometric_mean,
    sign_interval,
    speedup,
    stored_noise_floor,
)

times = st.lists(st.floats(min_value=0.1, max_value=1e6), min_size=1, max_size=40)


@settings(max_examples=25, deadline=None)
@given(times)
def test_a_kernel_against_itself_is_exactly_one(samples):
    same = speedup(samples, samples)
    assert (same.low, same.value, same.high) == (1.0, 1.0, 1.0)


@settings(max_examples=25, deadline=None)
@given(times, st.floats(min_value=0.01, max_value=100))
def test_a_constant_factor_is_found_whatever_the_drift(samples, factor):
    slower = [time * factor for time in samples]
    found = speedup(samples, slower)
    assert found.value == pytest.approx(factor)
    assert found.low <= found.value <= found.high


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(min_value=-5, max_value=5), min_size=1, max_size=30))
def test_the_interval_holds_the_median_and_stays_within_the_data(values):
    low, high = bootstrap_interval(values)
    assert min(values) <= low <= high <= max(values)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(min_value=0.1, max_value=10), min_size=2, max_size=20), st.randoms())
def test_swapping_the_sides_inverts_the_ratio(samples, random):
    other = [time * exp(random.uniform(-0.3, 0.3)) for time in samples]
    there, back = speedup(samples, other), speedup(other, samples)
    assert there.value * back.value == pytest.approx(1)


def test_the_interval_narrows_with_more_samples():
    def width(repeats: int) -> float:
        found = speedup([1.0, 1.1, 0.9, 1.05, 0.95] * repeats, [1.0] * 5 * repeats)
        return found.high - found.low

    assert width(20) < width(2)


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ValueError, match="no pair"):
        speedup([], [1.0])
    with pytest.raises(ValueError, match="nothing"):
        geometric_mean([])


@pytest.mark.parametrize("count", [9, 16, 35])
def test_the_bootstrap_agrees_with_one_that_draws_every_resample(count):
    random = Random(count)
    values = [random.gauss(0, 1) for _ in range(count)]
    rng = Random(1)
    drawn = sorted(median(rng.choices(values, k=count)) for _ in range(10_000))
    for level in (0.5, 0.9, 0.99):
        tail = int(len(drawn) * (1 - level) / 2)
        assert bootstrap_interval(values, level=level) == pytest.approx((drawn[tail], drawn[-1 - tail]), abs=0.02)


def test_one_seed_gives_one_interval():
    random = Random(3)
    values = [random.gauss(0, 1) for _ in range(20)]
    assert bootstrap_interval(values, seed=5) == bootstrap_interval(values, seed=5)
    assert bootstrap_interval(values, seed=5) == bootstrap_interval(values[::-1], seed=5), "their order does not count"


@pytest.mark.parametrize(("count", "outside"), [(5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (100, 39)])
def test_the_sign_interval_leaves_out_as_many_as_the_table_of_the_sign_test(count, outside):
    values = [float(number) for number in range(count)]
    assert sign_interval(values) == (outside, count - 1 - outside)


def test_the_sign_interval_of_many_values_is_that_of_the_normal_distribution():
    exact, approximate = (sign_interval([float(number) for number in range(count)]) for count in (1000, 1001))
    assert abs(exact[0] - approximate[0]) <= 1
    assert abs(exact[1] - approximate[1]) <= 2
    assert sign_interval([1.0] * 5000) == (1.0, 1.0)


def test_few_pairs_have_no_interval_of_a_high_level():
    assert [fewest_pairs(level) for level in (0.5, 0.95, 0.996)] == [2, 6, 9]


def test_an_interval_of_seven_pairs_is_wider_than_resampling_says():
    times = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06]
    assert speedup([1.0] * 7, times).low == pytest.approx(1.0)
    assert bootstrap_interval(times)[0] > 1.0


def test_the_stored_noise_floor_is_the_largest_difference_of_identical_code():
    runs = [1.001, 0.999, 1.0, 1.002, 0.99, 1.003, 1.0, 0.998]
    assert stored_noise_floor(runs) == pytest.approx(1 / 0.99 - 1)
    assert stored_noise_floor(runs[:7]) is None
