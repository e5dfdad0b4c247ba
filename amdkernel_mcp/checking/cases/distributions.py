"""What each `init` puts into an array: pure functions of a generator of random numbers, a shape and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.expressions import Expression
from amdkernel_mcp.problems.dtypes import DType
from amdkernel_mcp.problems.problem import Case, Init, InitKind

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Shape = tuple[int, ...]
    Filler = Callable[[np.random.Generator, Shape, DType, float, float], Array]

_EMPTY_ROWS = 0.2  # of a CSR matrix


def draw(init: Init, case: Case, shape: Shape, dtype: DType, random: np.random.Generator) -> Array:
    """An array of `shape` that `init` describes, before it is rounded to `dtype`."""
    low, high = bounds(init, case)
    return _FILLERS[init.kind](random, shape, dtype, low, high)


def bounds(init: Init, case: Case) -> tuple[float, float]:
    """The parameters of an init in a case; 0 and 1 where they are not given."""
    low = init.low.value(case.values) if isinstance(init.low, Expression) else init.low
    high = init.high.value(case.values) if isinstance(init.high, Expression) else init.high
    return 0.0 if low is None else low, 1.0 if high is None else high


def _normal(random: np.random.Generator, shape: Shape, _dtype: DType, mean: float, deviation: float) -> Array:
    return random.standard_normal(shape) * deviation + mean


def _uniform(random: np.random.Generator, shape: Shape, _dtype: DType, low: float, high: float) -> Array:
    return random.random(shape) * (high - low) + low


def _integers(random: np.random.Generator, shape: Shape, dtype: DType, low: float, high: float) -> Array:
    return random.integers(int(low), int(high), size=shape, dtype=np.uint64 if dtype.name == "u64" else np.int64)


def _zeros(_random: np.random.Generator, shape: Shape, _dtype: DType, _low: float, _high: float) -> Array:
    return np.zeros(shape, np.int64)


def _ones(_random: np.random.Generator, shape: Shape, _dtype: DType, _low: float, _high: float) -> Array:
    return np.ones(shape, np.int64)


def _arange(_random: np.random.Generator, shape: Shape, dtype: DType, _low: float, _high: float) -> Array:
    again = np.uint64(min(dtype.counts_to, 1 << 63))
    return (np.arange(prod(shape), dtype=np.uint64) % again).reshape(shape)


def _large(random: np.random.Generator, shape: Shape, _dtype: DType, _low: float, most: float) -> Array:
    """Both signs; every power of two from 1 to `most` is as likely as the next."""
    return random.choice([-1.0, 1.0], shape) * np.exp2(random.random(shape) * log2(most))


def _denormal(random: np.random.Generator, shape: Shape, dtype: DType, _low: float, _high: float) -> Array:
    import ml_dtypes

    smallest = float(ml_dtypes.finfo(dtype.numpy).smallest_normal)  # type: ignore[no-untyped-call]
    return (random.random(shape) * 2 - 1) * smallest


def _spikes(random: np.random.Generator, shape: Shape, dtype: DType, share: float, size: float) -> Array:
    signs = [1.0] if dtype.smallest == 0 else [-1.0, 1.0]
    return np.where(_chosen(random, shape, share), random.choice(signs, shape) * size, 0.0)


def _nans(random: np.random.Generator, shape: Shape, _dtype: DType, share: float, _high: float) -> Array:
    return np.where(_chosen(random, shape, share), np.nan, random.standard_normal(shape))


def _infs(random: np.random.Generator, shape: Shape, _dtype: DType, share: float, _high: float) -> Array:
    infinity = random.choice([-np.inf, np.inf], shape)
    return np.where(_chosen(random, shape, share), infinity, random.standard_normal(shape))


def _sorted(random: np.random.Generator, shape: Shape, dtype: DType, low: float, high: float) -> Array:
    if (low, high) == (0.0, 1.0) and dtype.kind == "float":
        return np.sort(random.standard_normal(shape), axis=-1)
    return np.sort(_integers(random, shape, dtype, low, high), axis=-1)


def _permutation(random: np.random.Generator, shape: Shape, _dtype: DType, _low: float, _high: float) -> Array:
    rows = np.broadcast_to(np.arange(shape[-1]), shape)
    return random.permuted(rows, axis=-1)


def _offsets(random: np.random.Generator, shape: Shape, _dtype: DType, _low: float, last: float) -> Array:
    """Row starts of CSR: from 0 to `last`, rows of different length, some of them empty."""
    table = np.zeros((prod(shape[:-1]), shape[-1]), np.int64)
    if shape[-1] > 1:
        weights = random.exponential(size=table[:, 1:].shape)
        weights *= random.random(weights.shape) >= _EMPTY_ROWS
        weights[np.arange(len(weights)), random.integers(shape[-1] - 1, size=len(weights))] += 1e-3  # never all empty
        table[:, 1:] = np.cumsum(random.multinomial(int(last), weights / weights.sum(axis=1, keepdims=True)), axis=1)
    return table.reshape(shape)


def _chosen(random: np.random.Generator, shape: Shape, share: float) -> Array:
    """Which elements are special: this share of them, and at least one."""
    mask = random.random(shape) < share
    mask.flat[random.integers(mask.size)] = True
    return mask


_FILLERS: dict[InitKind, Filler] = {
    "normal": _normal,
    "uniform": _uniform,
    "integers": _integers,
    "zeros": _zeros,
    "ones": _ones,
    "arange": _arange,
    "large": _large,
    "denormal": _denormal,
    "spikes": _spikes,
    "nans": _nans,
    "infs": _infs,
    "sorted": _sorted,
    "permutation": _permutation,
    "offsets": _offsets,
}
