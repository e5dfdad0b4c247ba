"""Outputs of wide range: zeros for the small part are wrong, errors that cancellation explains are right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amdkernel_mcp.checking.judging.scale import row_shape, scales
from amdkernel_mcp.checking.judging.tolerance import Tolerance, compare
from amdkernel_mcp.problems.dtypes import DTYPES

F16, F32 = DTYPES["f16"], DTYPES["f32"]


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def violations(got, expected, dtype=F32):
    tolerance = Tolerance(dtype.rtol, steps=1)
    return compare(np.asarray(got).astype(dtype.numpy), expected, dtype=dtype, tolerance=tolerance).violations


def f32_product(a, b):
    """a @ b as a kernel sums it: in f32, one product after the other."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total


def exact(array):
    return array.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("small_rows", [2, 32, 62])
def test_zeros_for_the_small_rows_are_wrong(ratio, small_rows):
    expected = normal(64, 200)
    expected[small_rows:] *= ratio
    got = expected.copy()
    got[:small_rows] = 0
    assert violations(got, expected) >= 0.8 * small_rows * 200
    assert violations(expected, expected) == 0


@pytest.mark.parametrize("ratio", [1e2, 1e6, 1e9])
def test_a_product_whose_rows_differ_in_size_is_right_in_another_order_of_summing(ratio):
    a, b = exact(normal(64, 256)), exact(normal(256, 200, seed=2))
    a[::2] = exact(a[::2] * ratio)
    assert violations(f32_product(a, b), a @ b) == 0
    assert violations(f32_product(a[:, ::-1], b[::-1]), a @ b) == 0


def test_rows_of_many_sizes_have_many_scales():
    sizes = 10.0 ** np.repeat([0, 4, 8], 40)
    scale = scales(normal(120, 64) * sizes[:, None], rtol=1e-5, epsilon=2.0**-23)
    assert scale == pytest.approx(np.broadcast_to(sizes[:, None], (120, 64)), rel=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_cancellation_made_small_by_chance_keep_the_scale_of_all(seed):
    c = normal(2000, 1, seed=seed)
    expected = c * normal(1, 64, seed=99)
    got = (c + 5e-7 * normal(2000, 1, seed=seed + 100)) * normal(1, 64, seed=99)  # the sum's error is that of its terms
    assert violations(got, expected) == 0


@pytest.mark.thorough
@given(st.integers(0, 2**32 - 1), st.sampled_from([(70000,), (3000, 1), (300, 7), (64, 40), (5, 6, 100)]))
@settings(max_examples=40, deadline=None)
def test_outputs_of_one_size_have_one_scale(seed, shape):
    expected = normal(*shape, seed=seed)
    scale = scales(expected, rtol=1e-5, epsilon=2.0**-23)
    assert scale == pytest.approx(np.full(shape, np.sqrt(np.mean(expected**2))))


def test_rows_of_zeros_keep_the_scale_of_all():
    expected = normal(64, 64)
    expected[::2] = 0
    got = expected + 1e-6
    assert violations(got, expected) == 0, "a mean that is subtracted leaves some roundings where all values are equal"


def test_zeros_for_the_small_half_of_a_flat_output_are_wrong():
    expected = normal(10000)
    expected[::2] *= 1e6
    got = np.where(np.arange(10000) % 2, 0, expected)
    assert violations(got, expected) > 1000
    assert violations(expected * (1 + 1e-6), expected) == 0


def test_zeros_for_the_small_columns_of_a_product_are_wrong():
    a, b = exact(normal(64, 128)), exact(normal(128, 100, seed=2))
    b[:, ::2] = exact(b[:, ::2] * 1e6)
    got = f32_product(a, b)
    assert violations(got, a @ b) == 0
    got[:, 1::2] = 0
    assert violations(got, a @ b) > 1000


def test_a_spike_does_not_excuse_the_rest():
    expected = normal(10000)
    expected[0] = 6e4
    got = expected.astype(np.float16)
    assert violations(got, expected, F16) == 0
    got[1:] = 0
    assert violations(got, expected, F16) > 9000


def test_a_spectrum_with_one_peak_is_right_with_the_errors_of_the_peak():
    wave = np.sin(2 * np.pi * 5 * np.arange(1024) / 1024).astype(np.float32)
    expected = np.abs(np.fft.rfft(wave.astype(np.float64)))
    noise = 2e-7 * np.sqrt(np.mean(expected**2)) * normal(expected.size)
    assert np.median(expected) < 1e-6 * expected.max()
    assert violations(expected + noise, expected) == 0


def test_the_tail_of_an_activation_is_right_with_the_errors_of_its_constant():
    from math import erf

    x = normal(20000) - 3
    expected = np.array([0.5 * v * (1 + erf(v / 2**0.5)) for v in x])
    got = np.float32(0.5) * x.astype(np.float32) * (1 + np.array([erf(v / 2**0.5) for v in x], np.float32))
    assert violations(got, expected) == 0


@pytest.mark.parametrize("shape", [(40, 333), (2000, 33), (3000, 2)])
def test_the_gradient_of_a_saturated_softmax_is_right(shape):
    def gradient(x, dtype):
        x = x.astype(dtype)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        y, g = e / e.sum(axis=1, keepdims=True), np.roll(x, 3, axis=1)
        return y * (g - (y * g).sum(axis=1, keepdims=True))

    x = exact(10 * normal(*shape))
    assert violations(gradient(x, np.float32), gradient(x, np.float64), F16) == 0


def test_a_prefix_sum_that_crosses_zero_is_right():
    x = exact(normal(50000))
    assert violations(np.cumsum(x.astype(np.float32)), np.cumsum(x)) == 0


@pytest.mark.parametrize(
    ("shape", "rows"),
    [((100,), (1, 100)), ((5,), (1, 5)), ((7, 100), (7, 100)), ((50, 1), (1, 50)), ((9, 4, 8), (9, 32)), ((), (1, 1))],
)
def test_short_rows_are_taken_together(shape, rows):
    assert row_shape(shape) == rows
