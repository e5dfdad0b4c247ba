import numpy as np
import pytest

from amdkernel_mcp.checking.tolerance import compare
from amdkernel_mcp.problems.dtypes import DTYPES

F16, F32, F64, FP8, I32, U64 = (DTYPES[name] for name in ("f16", "f32", "f64", "float8_e4m3fn", "i32", "u64"))


def f32(*values):
    return np.array(values, np.float32)


def f64(*values):
    return np.array(values, np.float64)


def compared(got, expected, *, dtype=F32, rtol=1e-3):
    return compare(got, expected, dtype=dtype, rtol=rtol)


def test_each_element_may_be_off_by_its_size_and_the_root_mean_square():
    rms = np.sqrt((4 + 0 + 100) / 3)
    inside = f64(2 + 1e-3 * (2 + rms) * 0.99, 1e-3 * rms * 0.99, 10)
    assert compare(inside, f64(2, 0, 10), dtype=F64, rtol=1e-3).violations == 0
    outside = f64(2 + 1e-3 * (2 + rms) * 1.01, 1e-3 * rms * 1.01, 10)
    assert compare(outside, f64(2, 0, 10), dtype=F64, rtol=1e-3).violations == 2


def test_the_relative_error_is_at_most_rtol_exactly_where_elements_are_right():
    comparison = compared(f32(1.0, 1.01), f64(1.0, 1.0))
    assert comparison.violations == 1
    assert comparison.max_rel_err == pytest.approx(0.005, rel=1e-3)
    assert comparison.max_abs_err == pytest.approx(0.01, rel=1e-3)


def test_worst_and_first_are_told_apart():
    comparison = compared(f32(1, 1.5, 9, 1).reshape(2, 2), f64(1, 1, 1, 1).reshape(2, 2))
    assert (comparison.first, comparison.worst, comparison.violations) == ((0, 1), (1, 0), 2)


def test_a_nan_is_wrong_and_worse_than_any_number():
    comparison = compared(f32(50, np.nan, 1), f64(1, 1, 1))
    assert (comparison.violations, comparison.worst) == (2, (1,))
    assert comparison.max_abs_err == 49, "the error of what is a number"


def test_an_infinity_in_the_reference_does_not_excuse_the_others():
    comparison = compared(f32(np.inf, 2), f64(np.inf, 1))
    assert (comparison.violations, comparison.worst) == (1, (1,))


@pytest.mark.parametrize("got", [-np.inf, 3e38, np.nan, 0])
def test_an_expected_infinity_takes_nothing_else(got):
    assert compared(f32(got, 1), f64(np.inf, 1)).violations == 1


@pytest.mark.parametrize(("got", "wrong"), [(np.inf, 0), (65504, 0), (-np.inf, 1), (1000, 1), (np.nan, 1)])
def test_what_f16_cannot_hold_may_be_its_infinity_or_its_largest(got, wrong):
    assert compared(np.array([got, 1], np.float16), f64(1e5, 1), dtype=F16).violations == wrong


def test_fp8_without_infinity_may_be_nan_or_its_largest():
    for got in (np.nan, 448):
        out = np.array([got, 1]).astype(FP8.numpy)
        assert compared(out, f64(1000, 1), dtype=FP8).violations == 0, got


def test_where_zero_is_expected_everywhere_only_zero_is_right():
    assert compared(f32(0, -0.0), f64(0, 0)).violations == 0
    assert compared(f32(0, 1e-30), f64(0, 0)).violations == 1


def test_integers_are_exact_unless_a_tolerance_is_given():
    big = 2**62
    assert compare(np.array([big + 1]), np.array([big]), dtype=DTYPES["i64"], rtol=None).violations == 1
    assert compare(np.array([101], np.int32), np.array([100], np.int32), dtype=I32, rtol=0.1).violations == 0


def test_the_difference_of_unsigned_numbers_has_a_size():
    comparison = compare(np.array([0], np.uint64), np.array([2**64 - 1], np.uint64), dtype=U64, rtol=None)
    assert comparison.max_abs_err == pytest.approx(2.0**64)


def test_a_zero_tolerance_is_equality():
    assert compared(f32(1, 2), f64(1, 2), rtol=0.0).violations == 0
    assert compared(f32(1, np.nextafter(np.float32(2), np.float32(3))), f64(1, 2), rtol=0.0).violations == 1


def test_huge_values_do_not_overflow_the_mean_square():
    assert compare(f64(1e300, -1e300), f64(1e300, 1e300), dtype=F64, rtol=1e-3).violations == 1


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.kind == "float"], ids=lambda d: d.name)
def test_rounding_once_is_within_every_default_tolerance(dtype):
    exact = np.random.default_rng(1).standard_normal(1000)
    assert compare(exact.astype(dtype.numpy), exact, dtype=dtype, rtol=dtype.rtol).violations == 0
