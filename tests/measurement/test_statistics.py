"""The statistics behind a measured verdict."""

from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amdkernel_mcp.measurement.statistics import bootstrap_interval, geometric_mean, noise_floor, speedup

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


def test_the_noise_floor_is_what_identical_code_differs_by():
    steady, noisy = [10.0, 10.01] * 10, [10.0, 11.0, 12.0, 9.0, 10.5] * 4
    assert noise_floor(steady) < 0.005 < noise_floor(noisy)
    assert noise_floor([1.0] * 7) is None, "seven samples are too few to say"


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ValueError, match="no pair"):
        speedup([], [1.0])
    with pytest.raises(ValueError, match="nothing"):
        geometric_mean([])
