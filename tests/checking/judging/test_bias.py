"""Errors that point one way although each is within the tolerance, and right kernels that look like it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amdkernel_mcp.checking.judging.bias import find_bias
from amdkernel_mcp.checking.judging.tolerance import Tolerance, compare
from amdkernel_mcp.problems.dtypes import DTYPES

NARROW = [d for d in DTYPES.values() if d.kind == "float" and d.bytes <= 2]
BF16, F16, F32, I8 = (DTYPES[name] for name in ("bf16", "f16", "f32", "i8"))


def names(dtype):
    return dtype.name


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def biased(got, expected, dtype, **rest):
    tolerance = Tolerance(**{"rtol": dtype.rtol, "steps": 1} | rest)
    got = np.asarray(got).astype(dtype.numpy)
    assert compare(got, expected, dtype=dtype, tolerance=tolerance).violations == 0, "each element is right by itself"
    return find_bias(got, expected, dtype=dtype, tolerance=tolerance)


def truncated(exact, dtype):
    rounded = exact.astype(dtype.numpy)
    bits = rounded.view(f"u{dtype.bytes}").copy()
    bits[np.abs(rounded.astype(np.float64)) > np.abs(exact)] -= 1
    result = bits.view(dtype.numpy)
    return np.where(np.isnan(result.astype(np.float64)), 0, result).astype(dtype.numpy)  # fnuz has no negative zero


def half_up(exact, dtype):
    down = truncated(exact, dtype)
    up = (down.view(f"u{dtype.bytes}") + 1).astype(f"u{dtype.bytes}").view(dtype.numpy)
    middle = (down.astype(np.float64) + up.astype(np.float64)) / 2
    return np.where(np.abs(exact) >= np.abs(middle), up, down)


@pytest.mark.parametrize("dtype", NARROW, ids=names)
@pytest.mark.parametrize("shape", [(4096,), (64, 100)])
def test_truncation_is_a_bias_towards_zero(dtype, shape):
    exact = normal(*shape)
    bias = biased(truncated(exact, dtype), exact, dtype)
    assert bias is not None
    assert (bias.towards_zero, bias.in_steps) == (True, True)
    assert -0.6 < bias.mean < -0.4


@pytest.mark.parametrize("dtype", NARROW, ids=names)
@pytest.mark.parametrize("rounding", [lambda x, d: x.astype(d.numpy), half_up], ids=["to even", "half up"])
def test_rounding_to_nearest_has_no_bias(dtype, rounding):
    for exact in (normal(4096), np.abs(normal(64, 100)), normal(64, 100) - 3):
        assert biased(rounding(exact, dtype), exact, dtype) is None


@given(st.integers(0, 2**32 - 1), st.sampled_from(NARROW), st.floats(1e-7, 0.4))
@settings(max_examples=60, deadline=None)
def test_noise_before_rounding_has_no_bias(seed, dtype, noise):
    exact = normal(3000, seed=seed)
    step = np.abs(exact) * 2.0 ** -(dtype.counts_to - 1).bit_length()
    got = (exact + noise * step * normal(3000, seed=seed + 1)).astype(dtype.numpy)
    assert find_bias(got, exact, dtype=dtype, tolerance=Tolerance(dtype.rtol, steps=1)) is None


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.45, 0.55, 0.7])
@pytest.mark.parametrize("noise", [0, 0.02, 0.2])
def test_a_constant_between_two_values_has_no_bias(fraction, noise):
    exact = np.full(5000, 1 + fraction * 2.0**-7)
    assert biased(exact + noise * 2.0**-7 * normal(5000), exact, BF16) is None


def test_ties_that_are_rounded_up_have_no_bias():
    exact = (np.random.default_rng(1).integers(128, 256, 5000) * 2 + 1) / 2.0
    assert biased(half_up(exact, BF16), exact, BF16) is None


def test_values_that_the_type_holds_exactly_do_not_hide_truncation():
    exact = normal(8000)
    exact[::2] = exact[::2].astype(BF16.numpy)
    assert biased(truncated(exact, BF16), exact, BF16) is not None


def test_a_factor_rounded_for_each_row_has_no_bias():
    x = normal(64, 512)
    factor = 1 / np.sqrt(np.mean(x**2, axis=1, keepdims=True))
    assert biased(x * factor.astype(np.float16).astype(np.float64), x * factor, F16) is None


def test_one_row_does_not_prove_a_bias():
    x = normal(1, 5000)
    assert biased(x * (1 - 0.3 * 2.0**-10), x, F16) is None


def test_a_lost_constant_within_the_tolerance_is_a_bias():
    exact = normal(64, 256)
    bias = biased(exact - 6e-6, exact, F32)
    assert bias is not None
    assert (bias.towards_zero, bias.in_steps) == (False, False)
    assert bias.mean < -0.3


def test_half_precision_sums_that_stand_still_are_a_bias():
    x = np.abs(normal(64, 48, 256)).astype(np.float16)
    total = np.zeros((64, 256), np.float16)
    for k in range(48):
        total = truncated(total.astype(np.float64) + x[:, k], F16)
    exact = x.astype(np.float64).sum(axis=1)
    bias = biased(total, exact, F16, rtol=2e-2)
    assert bias is not None
    assert bias.mean < -1


@pytest.mark.parametrize("order", [1, -1])
def test_long_sums_of_f32_and_fast_exponentials_have_no_bias(order):
    x = normal(64, 2000).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    fast = np.exp2((x * np.float32(1.4426950408)).astype(np.float32)).astype(np.float32)
    total = np.zeros((64, 1), np.float32)
    for k in range(2000)[::order]:
        total += fast[:, k : k + 1]
    got = fast * (1 / total * np.float32(1 + 2**-22))  # a reciprocal that is two steps too large
    assert biased(got, e / e.sum(axis=1, keepdims=True), F32) is None


def test_integers_off_by_a_constant_step_are_biased_and_ties_are_not():
    rng = np.random.default_rng(1)
    exact = rng.integers(-100, 100, 4000).astype(np.int8)
    quantised = {"rtol": None, "steps": 1}
    assert biased(exact + 1, exact, I8, **quantised) is not None
    off = np.where(rng.random(4000) < 0.2, np.sign(exact), 0)
    assert biased(exact + off, exact, I8, **quantised) is None


def test_truncated_integers_are_biased():
    exact = normal(4000) * 40
    expected = np.rint(exact).clip(-127, 127).astype(np.int8)
    assert biased(np.trunc(exact.clip(-127, 127)), expected, I8, rtol=None) is not None
    assert biased(expected, expected, I8, rtol=None) is None


def test_a_larger_max_bias_allows_truncation():
    exact = normal(4096)
    assert biased(truncated(exact, BF16), exact, BF16, max_bias=1.0) is None


def test_few_elements_prove_nothing():
    exact = normal(200)
    assert biased(truncated(exact, BF16), exact, BF16) is None
