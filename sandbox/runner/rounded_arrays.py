"""NumPy arrays whose operations round as float32 does, up or down by chance: what rounding costs a formula.

The reference computes in float64. Run with these arrays, each operation whose result float32 cannot hold gives one of
the neighbouring float32 values instead, as in any kernel that computes in float32. Exact results stay exact: a
maximum, `x - x.max()` where x is the maximum, a sum of small whole numbers. A sum over many terms is as uncertain as
its terms: each of them moves by a rounding first, unless it is a whole number. The precision is that of float32, not
the range.

Idea: random rounding, as CESTAC and Monte Carlo arithmetic use it to measure how exact a computation is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_STEP = 2.0**-23
_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST = float(np.finfo(np.float32).tiny)
# Operations that choose or move values and round none.
_EXACT = frozenset((
    "maximum", "minimum", "fmax", "fmin", "absolute", "fabs", "negative", "positive", "copysign", "sign", "floor",
    "ceil", "rint", "trunc", "heaviside", "conjugate", "frexp", "ldexp", "modf",
))  # fmt: skip
_SUMS = ("add.reduce", "add.accumulate", "add.reduceat", "matmul")
# Functions that are not made of the operations of arrays: their results are rounded as a whole.
_COMPUTE = frozenset((
    "dot", "inner", "vdot", "tensordot", "einsum", "convolve", "correlate", "interp", "inv", "solve", "det", "pinv",
    "fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
))  # fmt: skip
# Functions that would make plain arrays, whose operations do not round.
_MAKERS = frozenset((
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "zeros", "ones", "empty", "full",
))  # fmt: skip

_as_array, _empty = np.asarray, np.empty  # before begin() replaces them
_random = np.random.default_rng(0)
_reach = _STEP  # how far a result may move, relative


class Rounded(np.ndarray[Any, np.dtype[Any]]):
    """A float64 or complex128 array of which every result is rounded; arrays of other types behave as usual."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        arguments = [_plain(each) for each in inputs]
        if name in _SUMS:
            arguments[0] = _moved(arguments[0])
        if out is not None:
            options["out"] = tuple(_plain(each) for each in out)
        with np.errstate(all="ignore"):
            results = getattr(ufunc, method)(*arguments, **options)
        rounds = ufunc.__name__ not in _EXACT
        if out is not None:
            for array in options["out"]:
                if rounds and isinstance(array, np.ndarray):
                    array[...] = _rounded(array)
            return out[0] if len(out) == 1 else out
        if isinstance(results, tuple):
            return tuple(_kept(each, rounds) for each in results)
        return _kept(results, rounds)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        name = function.__name__
        if name in _COMPUTE:
            results = function(
                *_deep(arguments, _operand), **{key: _deep(each, _plain) for key, each in options.items()}
            )
            return _deep(results, lambda each: _kept(each, True))
        results = super().__array_function__(function, types, arguments, options)
        return _deep(results, lambda each: _kept(each, False))

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """As usual; but float32 stays float64 that holds float32 values, so that it rounds by chance as well."""
        if np.dtype(dtype) == np.float32:
            return _kept(_plain(self), True)
        return _kept(_plain(self).astype(dtype, *arguments, **options), False)

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other) if out is None else np.dot(_plain(self), _plain(other), out=_plain(out))


def rounded_array(array: Array) -> Array:
    """The array of an input as the reference gets it: a float input rounds from now on."""
    return _view(array)


def begin(seed: int, steps: int = 1) -> None:
    """Choose which results are rounded up, by up to so many steps. From now on NumPy makes arrays that round."""
    global _random, _reach
    _random, _reach = np.random.default_rng(seed), steps * _STEP
    for name in _MAKERS:
        function = getattr(np, name)
        if not hasattr(function, "rounds"):
            setattr(np, name, _rounding(function))


def _rounding(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose float64 results round. float32 is taken as float64 that is rounded."""

    def maker(*arguments: Any, **options: Any) -> Any:
        made = function(*_deep(arguments, _plain), **options)
        if made.dtype == np.float32:
            return _view(made.astype(np.float64))
        return _view(made)

    maker.rounds = True  # type: ignore[attr-defined]
    return maker


def _view(array: Array) -> Array:
    return array.view(Rounded) if array.dtype in (np.float64, np.complex128, np.object_) else array


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Rounded) else value


def _operand(value: Any) -> Any:
    return _moved(_plain(value)) if isinstance(value, Rounded) else value


def _deep(value: Any, change: Callable[[Any], Any]) -> Any:
    """`change` of an object, or of what a list or tuple holds."""
    if type(value) in (list, tuple):
        return type(value)(_deep(each, change) for each in value)
    return change(value)


def _kept(value: Any, rounds: bool) -> Any:
    """A result as an array that rounds: also a single number, which NumPy would give as a scalar."""
    if not isinstance(value, np.ndarray | np.floating | np.complexfloating):
        return value
    array = _as_array(value)
    return _view(_rounded(array) if rounds else array)


def _moved(value: Any) -> Any:
    """Each number moved by up to a step of float32, but for whole numbers: float32 adds these exactly."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    return np.where(value == np.rint(value), value, value * _near_one(value.shape))


def _near_one(shape: tuple[int, ...]) -> Array:
    """Numbers within a step of float32 of 1, or within as many as begin() was given.

    NumPy's generators call the makers as well, so the result is stripped.
    """
    return 1 + _as_array(_random.uniform(-_reach, _reach, shape))


def _rounded(array: Array) -> Array:
    """Each number that float32 cannot hold becomes one near it that it can; infinities and NaN stay as they are."""
    if array.dtype == np.complex128:
        parts = _empty(array.shape, np.complex128)
        parts.real, parts.imag = _rounded(array.real), _rounded(array.imag)
        return parts
    if array.dtype != np.float64:
        return array
    with np.errstate(all="ignore"):
        nearest = array.astype(np.float32).astype(np.float64)
        near = (array * _near_one(array.shape)).astype(np.float32).astype(np.float64)
        size = np.abs(array)
        outside = (nearest == array) | ~(size <= _LARGEST) | (size < _SMALLEST) | ~np.isfinite(near)
    return np.where(outside, array, near)
