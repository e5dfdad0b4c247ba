"""The rule that decides whether an element is right: |out - ref| <= rtol * |ref| + rtol * RMS(ref).

The second term is what cancellation costs: an element that is small among large ones can only be as exact as they are.
Source of the rule: docs/problems.md, "Tolerance".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.problems.dtypes import DType

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Comparison:
    """One output against its reference. The indices are None when no element is wrong."""

    elements: int
    violations: int
    worst: tuple[int, ...] | None
    first: tuple[int, ...] | None
    max_abs_err: float | None  # over elements that are finite in both; None: there is none
    max_rel_err: float | None  # |out - ref| / (|ref| + RMS(ref)): at most rtol where the element is right
    wrong: Mask


def compare(got: Array, expected: Array, *, dtype: DType, rtol: float | None) -> Comparison:
    """How `got`, of `dtype`, compares with `expected` (float64, or dtype for integers) of the same shape.

    rtol None: the elements must be equal.
    """
    if dtype.kind == "int" and rtol is None:
        wrong = np.asarray(got != expected)
    else:
        wrong = _outside(got.astype(np.float64), expected.astype(np.float64), dtype, rtol or 0.0)
    out, ref = got.astype(np.float64), expected.astype(np.float64)
    scale = np.abs(ref) + _rms(ref)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(out - ref)
        relative = np.where(error == 0, 0.0, error / scale)
    finite = np.isfinite(out) & np.isfinite(ref)
    rank = np.where(wrong, np.where(np.isfinite(relative), relative, np.inf), -1.0)
    return Comparison(
        elements=wrong.size,
        violations=int(np.count_nonzero(wrong)),
        worst=_index(int(np.argmax(rank)), wrong.shape) if wrong.any() else None,
        first=_index(int(np.argmax(wrong)), wrong.shape) if wrong.any() else None,
        max_abs_err=_largest(error, finite),
        max_rel_err=_largest(relative, finite),
        wrong=wrong,
    )


def _outside(out: Array, ref: Array, dtype: DType, rtol: float) -> Mask:
    """Which elements are wrong; a NaN always is, for no reference has one."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(out - ref) <= rtol * np.abs(ref) + rtol * _rms(ref)
    right = near | (out == ref)
    beyond = np.abs(ref) > dtype.largest if dtype.kind == "float" else np.zeros(ref.shape, bool)
    if beyond.any():  # the dtype cannot hold the value: its infinity, or its largest number, is the best answer
        same_sign = np.sign(out) == np.sign(ref)
        right = np.where(
            beyond, same_sign & (np.isinf(out) | (np.isfinite(ref) & (np.abs(out) >= dtype.largest))), right
        )
        if dtype.bytes == 1:
            right |= beyond & (np.isnan(out) | (same_sign & (np.abs(out) >= dtype.largest)))
    return np.asarray(~right)


def _rms(ref: Array) -> float:
    """Of the finite values: a single infinity would let every element pass."""
    finite = ref[np.isfinite(ref)]
    largest = float(np.max(np.abs(finite), initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * math.sqrt(float(np.mean((finite / largest) ** 2)))  # squares of 1e200 would not be finite


def _largest(values: Array, where: Mask) -> float | None:
    chosen = values[where & np.isfinite(values)]
    return float(chosen.max()) if chosen.size else None


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))
