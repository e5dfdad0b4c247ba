import numpy as np
import pytest

from amdkernel_mcp.checking.judging.tolerance import Tolerance, compare
from amdkernel_mcp.problems.dtypes import DTYPES

F16, F32, F64, FP8, I32, U64 = (DTYPES[name] for name in ("f16", "f32", "f64", "float8_e4m3fn", "i32", "u64"))


def f32(*values):
    return np.array(values, np.float32)


def f64(*values):
    return np.array(values, np.float64)


def compared(got, expected, *, dtype=F32, rtol=1e-3, **rest):
    return compare(got, expected, dtype=dtype, tolerance=Tolerance(rtol, **rest))


def test_each_element_may_be_off_by_its_size_and_the_root_mean_square():
    rms = np.sqrt((4 + 0 + 100) / 3)
    inside = f64(2 + 1e-3 * (2 + rms) * 0.99, 1e-3 * rms * 0.99, 10)
    assert compared(inside, f64(2, 0, 10), dtype=F64, rtol=1e-3).violations == 0
    outside = f64(2 + 1e-3 * (2 + rms) * 1.01, 1e-3 * rms * 1.01, 10)
    assert compared(outside, f64(2, 0, 10), dtype=F64, rtol=1e-3).violations == 2


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


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_a_float_of_one_byte_saturates_and_is_nan_only_where_the_problem_allows_it(name):
    dtype = DTYPES[name]
    beyond = f64(4 * dtype.largest, 1)
    for got, wrong in ((np.nan, 1), (dtype.largest, 0), (-dtype.largest, 1), (dtype.largest / 2, 1)):
        out = np.array([got, 1]).astype(dtype.numpy)
        assert compared(out, beyond, dtype=dtype).violations == wrong, got
    out = np.array([np.nan, 1]).astype(dtype.numpy)
    assert compared(out, beyond, dtype=dtype, overflow_is_nan=True).violations == 0
    assert compared(out, f64(1, 1), dtype=dtype, overflow_is_nan=True).violations == 1


def test_a_small_float_of_one_byte_may_not_be_zero():
    expected = np.concatenate([np.full(500, 1.0), np.full(500, 0.06)])
    got = np.where(expected < 1, 0, expected).astype(FP8.numpy)
    assert compared(got, expected, dtype=FP8, rtol=0.125, steps=1).violations == 500


def test_an_integer_may_have_a_value_that_rounding_gives_but_few_may():
    expected = np.arange(1000, dtype=np.int32)
    got = expected.copy()
    got[[3, 7]] += 1
    others = np.stack([expected, expected + (expected == 3), expected + (expected == 7)])

    def wrong(got, others, written=None):
        exact = Tolerance(None)
        return compare(got, expected, dtype=I32, tolerance=exact, others=others, written=written).violations

    assert wrong(got, others) == 0
    assert wrong(got, others[:2]) == 1
    assert wrong(got, others[:2], written=expected != 7) == 0
    assert wrong(expected + 1, np.stack([expected, expected + 1])) == 1000


def test_where_zero_is_expected_everywhere_only_zero_is_right():
    assert compared(f32(0, -0.0), f64(0, 0)).violations == 0
    assert compared(f32(0, 1e-30), f64(0, 0)).violations == 1


def test_integers_are_exact_unless_a_tolerance_is_given():
    big = 2**62
    assert compared(np.array([big + 1]), np.array([big]), dtype=DTYPES["i64"], rtol=None).violations == 1
    assert compared(np.array([101], np.int32), np.array([100], np.int32), dtype=I32, rtol=0.1).violations == 0


def test_the_difference_of_unsigned_numbers_has_a_size():
    comparison = compared(np.array([0], np.uint64), np.array([2**64 - 1], np.uint64), dtype=U64, rtol=None)
    assert comparison.max_abs_err == pytest.approx(2.0**64)


def test_a_zero_tolerance_is_equality():
    assert compared(f32(1, 2), f64(1, 2), rtol=0.0).violations == 0
    assert compared(f32(1, np.nextafter(np.float32(2), np.float32(3))), f64(1, 2), rtol=0.0).violations == 1


def test_huge_values_do_not_overflow_the_mean_square():
    assert compared(f64(1e300, -1e300), f64(1e300, 1e300), dtype=F64, rtol=1e-3).violations == 1


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.kind == "float"], ids=lambda d: d.name)
def test_rounding_once_is_within_every_default_tolerance(dtype):
    exact = np.random.default_rng(1).standard_normal(1000)
    assert compared(exact.astype(dtype.numpy), exact, dtype=dtype, rtol=dtype.rtol).violations == 0


NARROW = [d for d in DTYPES.values() if d.kind == "float" and d.bytes <= 2]


def all_values(dtype):
    values = np.arange(2 ** (8 * dtype.bytes)).astype(f"u{dtype.bytes}").view(dtype.numpy)
    with np.errstate(invalid="ignore"):
        return np.unique(values.astype(np.float64)[np.isfinite(values)])


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: d.name)
def test_a_neighbour_is_right_at_any_magnitude_and_the_value_after_it_is_not(dtype):
    values = all_values(dtype)

    def wrong(apart):
        got, expected = values[apart:].astype(dtype.numpy), values[: values.size - apart]
        return compared(got, expected, dtype=dtype, rtol=0.0, steps=1).violations

    assert wrong(1) == 0
    assert wrong(2) == values.size - 2


def test_steps_count_across_zero():
    tiny = np.array([2.0**-24, -(2.0**-24), 0.0], np.float16)
    assert compared(tiny, f64(0, 0, -0.0), dtype=F16, rtol=1e-30, steps=1).violations == 0
    assert compared(tiny[:2], f64(-(2.0**-24), 2.0**-24), dtype=F16, rtol=1e-30, steps=1).violations == 2


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_wide_types_have_steps_too(name):
    dtype = DTYPES[name]
    one = np.ones(3, dtype.numpy)
    far = np.nextafter(np.nextafter(one, 2, dtype=dtype.numpy), 2, dtype=dtype.numpy)
    assert compared(far, f64(1, 1, 1), dtype=dtype, rtol=0.0, steps=2).violations == 0
    assert compared(far, f64(1, 1, 1), dtype=dtype, rtol=0.0, steps=1).violations == 3
    assert compared(-one, f64(1, 1, 1), dtype=dtype, rtol=0.0, steps=1024).violations == 3


def test_an_infinity_is_never_one_step_from_a_number():
    assert compared(np.array([np.inf, 1], np.float16), f64(65504, 1), dtype=F16, rtol=1e-3, steps=1).violations == 1


@pytest.mark.parametrize(("got", "wrong"), [(np.nan, 0), (1.0, 1), (0.0, 1), (np.inf, 1)])
def test_where_nan_is_expected_only_nan_is_right(got, wrong):
    assert compared(f32(got, 1), f64(np.nan, 1), rtol=0.5, steps=9).violations == wrong


def test_a_nan_in_the_reference_excuses_no_other_element():
    comparison = compared(f32(np.nan, np.nan, 5), f64(np.nan, 1, 1))
    assert (comparison.violations, comparison.first) == (2, (1,))


@pytest.mark.parametrize(
    ("name", "low", "high"), [("i8", -128, 127), ("u64", 0, 2**64 - 1), ("i64", -(2**63), 2**63 - 1)]
)
def test_integers_may_be_some_steps_off_without_wrapping_around(name, low, high):
    dtype = DTYPES[name]
    expected = np.array([low, low, high, high, low, high], dtype.numpy)
    got = np.array([low + 1, low + 2, high - 1, high - 2, high, low], dtype.numpy)
    comparison = compared(got, expected, dtype=dtype, rtol=None, steps=1)
    assert comparison.wrong.tolist() == [False, True, False, True, True, True]


def test_an_absolute_tolerance_replaces_the_root_mean_square():
    got, expected = f32(1000, 0.005, 0.02), f64(1000, 0, 0)
    assert compared(got, expected, rtol=1e-3).violations == 0
    assert compared(got, expected, rtol=1e-3, atol=0.01).wrong.tolist() == [False, False, True]
    assert compared(got, expected, rtol=1e-3, atol=0.0).violations == 2


def ratio(got, expected, **rest):
    return compared(np.asarray(got, np.float16), expected, dtype=F16, matched_ratio=0.99, max_error=0.1, **rest)


def test_a_few_outliers_are_forgiven_up_to_their_cap():
    expected = np.ones(1000)
    for outliers, size, forgiven in ((10, 1.1, True), (11, 1.1, False), (10, 1.5, False), (1, np.nan, False)):
        got = expected.copy()
        got[:outliers] = size
        comparison = ratio(got, expected)
        assert (comparison.violations, comparison.forgiven) == (outliers, forgiven), (outliers, size)
    assert not ratio(expected, expected).forgiven, "there is nothing to forgive"


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (
            lambda: compared(f32(1, 2), f64(1, 1), steps=1),
            "off by 1, allowed: 0.001 * |expected| + 0.001 or",
        ),
        (
            lambda: compared(np.array([3]), np.array([1]), dtype=I32, rtol=None, steps=2 - 1),
            "off by 2, allowed: 1 step",
        ),
        (lambda: compared(np.array([3]), np.array([1]), dtype=I32, rtol=None), "off by 2, allowed: no difference"),
        (lambda: ratio([1, 2], f64(1, 1)), "50 % match, 99 % must, and none of the others may exceed max_error 0.1"),
    ],
)
def test_the_rule_that_failed_is_reported_with_its_numbers(comparison, said):
    assert said in comparison().rule
