"""Small values written as 0, and small values of lower precision, are found; what sums and formulas lose is not."""

import numpy as np
import pytest

from amdkernel_mcp.checking.judging.lost_precision import find_loss
from amdkernel_mcp.checking.judging.tolerance import Tolerance, compare
from amdkernel_mcp.problems.dtypes import DTYPES

F32, F16, BF16, FP8 = (DTYPES[name] for name in ("f32", "f16", "bf16", "float8_e4m3fnuz"))
RANDOM = np.random.default_rng(3)
NORMAL = RANDOM.standard_normal((128, 512))


def loss(got, expected, dtype=F32, **rest):
    default = Tolerance(dtype.rtol, steps=1)
    return find_loss(np.asarray(got).astype(dtype.numpy), expected, dtype=dtype, tolerance=default, **rest)


def within(got, expected, dtype):
    """How many elements the rule for single ones finds wrong."""
    return compare(
        np.asarray(got).astype(dtype.numpy), expected, dtype=dtype, tolerance=Tolerance(dtype.rtol, steps=1)
    ).violations


@pytest.mark.parametrize(
    ("dtype", "below"), [(F16, 1e-3), (BF16, 8e-3), (FP8, 2.0**-7), (F32, 2e-6)], ids=lambda each: str(each)[:20]
)
def test_small_values_that_are_written_as_zero_are_found_in_each_format(dtype, below):
    expected = NORMAL if dtype is not F32 else NORMAL * np.exp2(-RANDOM.integers(0, 24, NORMAL.shape))
    flushed = np.where(np.abs(expected) < below, 0, expected)
    assert within(flushed, expected, dtype) == 0, "the rule for single elements does not see it"
    found = loss(flushed, expected, dtype)
    assert found is not None
    assert found.zeros
    assert found.high <= below
    assert loss(expected, expected, dtype) is None, "rounding once loses nothing"


def exponential(size):
    x = size * NORMAL
    expected = np.exp(x)
    limit = 0.02 * np.sqrt((expected**2).mean())
    with np.errstate(over="ignore"):
        half = expected.astype(np.float16).astype(float)
    return expected, np.where(expected < limit, half, expected)


@pytest.mark.parametrize("size", [2, 3])
def test_an_f32_exponential_that_is_f16_where_it_is_small_is_found(size):
    expected, mixed = exponential(size)
    assert np.mean(mixed.astype(np.float32) != expected.astype(np.float32)) > 0.4
    assert within(mixed, expected, F32) == 0
    found = loss(mixed, expected)
    assert found is not None
    assert not found.zeros
    x = (size * NORMAL).astype(np.float32)
    assert loss(np.exp(x), np.exp(x.astype(float))) is None


def test_what_rounding_costs_the_reference_is_allowed():
    expected, mixed = exponential(2)
    assert loss(mixed, expected, least_scale=100 * np.sqrt((expected**2).mean())) is None


def sequential(a, b, dtype):
    total = np.zeros(a.shape[:1] + b.shape[1:], dtype)
    for k in range(a.shape[1]):
        total = (total + a[:, k, None].astype(dtype) * b[None, k].astype(dtype)).astype(dtype)
    return total


def test_long_sums_in_any_type_lose_nothing():
    a, b = RANDOM.standard_normal((64, 4096)), RANDOM.standard_normal((4096, 96))
    a, b = a.astype(np.float16).astype(float), b.astype(np.float16).astype(float)
    total = sequential(a, b, np.float32)
    for dtype in (F32, F16, BF16, FP8):
        assert loss(total / 64, a @ b / 64, dtype) is None, dtype.name


FORMULAS = {
    "tanh": (np.tanh, lambda x: 1 - 2 / (np.exp(2 * x) + 1)),
    "expm1": (np.expm1, lambda x: np.exp(x) - 1),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 0.5 + 0.5 * np.tanh(0.5 * x)),
    "gelu": (
        lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))),
        lambda x: x / (1 + np.exp(-1.5957691216 * (x + 0.044715 * x**3))),
    ),
    "silu": (lambda x: x / (1 + np.exp(-x)), lambda x: x * (0.5 + 0.5 * np.tanh(0.5 * x))),
    "log1p": (lambda x: np.log1p(np.exp(-np.abs(x))), lambda x: np.log(1 + np.exp(-np.abs(x)))),
    "difference": (lambda x: x - np.roll(x, 1), lambda x: x - np.roll(x, 1)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("size", [0.01, 1.0, 4.0])
def test_another_formula_in_f32_loses_nothing(name, size):
    exact, other = FORMULAS[name]
    x = (size * NORMAL).astype(np.float32)
    expected = exact(x.astype(float))
    with np.errstate(over="ignore"):
        got = other(x).astype(np.float32)
        for dtype in (F32, F16, BF16, FP8):
            assert loss(got, expected, dtype) is None, dtype.name


@pytest.mark.parametrize("name", ["sigmoid", "silu", "gelu", "difference"])
def test_packed_halves_lose_nothing(name):
    exact, other = FORMULAS[name]
    x = NORMAL.astype(np.float16)
    with np.errstate(over="ignore"):
        assert loss(other(x).astype(np.float16), exact(x.astype(float)), F16) is None


def test_only_elements_that_a_sample_wrote_count():
    flushed = np.where(np.abs(NORMAL) < 1e-3, 0, NORMAL)
    assert loss(flushed, NORMAL, F16, written=np.abs(NORMAL) > 1e-3) is None
    found = loss(flushed, NORMAL, F16, written=np.arange(512) >= np.full((128, 1), 256))
    assert found is not None
    assert found.example[1] >= 256
    assert flushed[found.example] == 0
