"""The rule that decides whether an element is right: |out - ref| <= rtol * |ref| + rtol * scale, or within `steps`.

`scale` is what cancellation costs (scale.py); `atol` replaces that term. A step is the distance to the next value that
the dtype can represent, so that a value rounded to the other side is right at any magnitude, denormals included.
Source of the rule: docs/problems.md, "Tolerance".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.checking.judging.scale import scales
from amdkernel_mcp.counted import counted
from amdkernel_mcp.problems.dtypes import DType

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

MAX_BIAS = 0.3
"""Of a step (narrow types, integers) or of the tolerance (f32, f64). Truncation averages 0.5 steps. Source: bias.py."""

_MOST_OF_A_BYTE = 2.0**-5
"""Of the scale, for floats of one byte: half of what rounding the operands of a product to them costs. Their `rtol`
is that of one rounding, and as much of the scale would let an eighth of it be 0."""
_FEW, _FEW_OF = 2, 0.01
"""Elements that rounding may send to the next integer: at least so many, and this share."""


@dataclass(frozen=True)
class Tolerance:
    """What one output is allowed."""

    rtol: float | None  # None: an integer output that must be equal, but for `steps`
    atol: float | None = None  # None: rtol * scale
    steps: int = 0
    matched_ratio: float = 1.0
    max_error: float = 0.0  # |out - ref| / (|ref| + scale) of elements that matched_ratio forgives
    max_bias: float = MAX_BIAS
    overflow_is_nan: bool = False  # NaN is right for a value that the dtype cannot hold

    @property
    def is_equality(self) -> bool:
        """Whether nothing but the reference itself is right."""
        return not self.rtol and not self.atol and not self.steps and self.matched_ratio == 1.0


@dataclass(frozen=True)
class Comparison:
    """One output against its reference. The indices are None when no element is outside."""

    elements: int
    violations: int
    worst: tuple[int, ...] | None
    first: tuple[int, ...] | None
    max_abs_err: float | None  # over elements that are finite in both; None: there is none
    max_rel_err: float | None  # |out - ref| / (|ref| + scale)
    wrong: Mask
    forgiven: bool = (
        False  # there are violations, but no more and no larger ones than matched_ratio and max_error allow
    )
    largest_wrong: float = 0.0  # |out - ref| of the elements outside; infinite where one has no number
    rule: str = ""  # what the worst element exceeds, with numbers


def compare(
    got: Array,
    expected: Array,
    *,
    dtype: DType,
    tolerance: Tolerance,
    least_scale: float | Array = 0.0,
    others: Array | None = None,
    written: Mask | None = None,
    scale: Array | None = None,
) -> Comparison:
    """How `got`, of `dtype`, compares with `expected` (float64, or dtype for integers) of the same shape.

    `least_scale`: of every element or of each, where more is known than the output itself shows (conditioning.py).
    `others`: of an integer output, of shape (n, *shape): values that are as right (conditioning.py).
    `written`: the elements that are compared; None: all. The scale is that of the whole output in both cases.
    `scale`: that of each element, where `expected` is a part of the output.
    """
    chosen = None if written is None else np.flatnonzero(written)  # the sample is often a small part of a large output
    out, ref = (got, expected) if chosen is None else (got.reshape(-1)[chosen], expected.reshape(-1)[chosen])
    if np.array_equal(out, ref):  # copies and integers: no need to look at each element
        return _identical(ref, got.shape)
    if scale is None:
        scale = scales(expected.astype(np.float64), rtol=tolerance.rtol or 0.0, epsilon=dtype.sum_epsilon)
    scale = np.maximum(scale, least_scale)
    if dtype.kind == "float" and dtype.bytes == 1 and tolerance.rtol:
        scale = scale * min(1.0, _MOST_OF_A_BYTE / tolerance.rtol)
    if chosen is None or written is None:
        return _compare(got, expected, scale, dtype, tolerance, others)
    others = None if others is None else others.reshape(len(others), -1)[:, chosen]
    found = _compare(out, ref, np.broadcast_to(scale, written.shape).reshape(-1)[chosen], dtype, tolerance, others)
    wrong = np.zeros(written.shape, bool)
    wrong.reshape(-1)[chosen] = found.wrong
    first, worst = (index and _index(int(chosen[index]), written.shape) for index in (found.first, found.worst))
    return replace(found, first=first, worst=worst, wrong=wrong)


def _identical(expected: Array, shape: tuple[int, ...]) -> Comparison:
    """Every element is the number that is expected."""
    largest = 0.0 if np.isfinite(expected).any() else None
    return Comparison(expected.size, 0, None, None, largest, largest, np.zeros(shape, bool))


def _compare(
    got: Array, expected: Array, scale: Array, dtype: DType, tolerance: Tolerance, others: Array | None
) -> Comparison:
    out, ref = got.astype(np.float64), expected.astype(np.float64)
    rtol = tolerance.rtol or 0.0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(out - ref)
        relative = np.where(error == 0, 0.0, error / (np.abs(ref) + scale))
        margin = scale * rtol if tolerance.atol is None else np.full(ref.shape, tolerance.atol)
        near = error <= rtol * np.abs(ref) + margin
    if dtype.kind == "int":
        right = _right_integers(got, expected, near, tolerance)
        right = right if others is None else right | _rounded_otherwise(got, right, others)
    else:
        right = _right_floats(got, expected, near, dtype, tolerance) | _within_steps(got, ref, dtype, tolerance.steps)
    wrong = np.asarray(~right)
    finite = np.isfinite(out) & np.isfinite(ref)
    rank = np.where(wrong, np.where(np.isfinite(relative), relative, np.inf), -1.0)
    worst = _index(int(np.argmax(rank)), wrong.shape) if wrong.any() else None
    violations = int(np.count_nonzero(wrong))
    few = violations <= (1 - tolerance.matched_ratio) * wrong.size
    elements = wrong.size
    return Comparison(
        elements=elements,
        violations=violations,
        worst=worst,
        first=_index(int(np.argmax(wrong)), wrong.shape) if wrong.any() else None,
        max_abs_err=_largest(error, finite),
        max_rel_err=_largest(relative, finite),
        wrong=wrong,
        forgiven=worst is not None and few and float(rank.max()) <= tolerance.max_error,
        largest_wrong=float(np.nan_to_num(error[wrong], nan=np.inf).max(initial=0.0)),
        rule=_rule(tolerance, violations, elements, float(error[worst]), float(margin[worst]))
        if worst is not None
        else "",
    )


def _right_integers(got: Array, expected: Array, near: Mask, tolerance: Tolerance) -> Mask:
    right = np.asarray(got == expected)
    if tolerance.steps:
        distance = np.where(got > expected, got, expected).astype(np.uint64)  # modulo 2**64, as all of this
        distance -= np.where(got > expected, expected, got).astype(np.uint64)
        right = right | (distance <= tolerance.steps)
    return right if tolerance.rtol is None and tolerance.atol is None else right | near


def _rounded_otherwise(got: Array, right: Mask, others: Array) -> Mask:
    """Which elements have a value that rounding explains; none, where these are more than rounding explains."""
    explained = ~right & (got == others).any(axis=0)
    return explained if np.count_nonzero(explained) <= max(_FEW, _FEW_OF * explained.size) else np.zeros_like(right)


def _right_floats(got: Array, ref: Array, near: Mask, dtype: DType, tolerance: Tolerance) -> Mask:
    """Which elements are right by size. A NaN is only right where one is expected, and there nothing else is."""
    out = got.astype(np.float64)
    right = near | (out == ref) | (np.isnan(out) & np.isnan(ref))
    beyond = np.abs(ref) > dtype.largest
    if beyond.any():  # the dtype cannot hold the value: its infinity, or its largest number, is the best answer
        same_sign = np.sign(out) == np.sign(ref)
        largest = same_sign & (np.abs(out) >= dtype.largest)
        no_number = np.isnan(out) if tolerance.overflow_is_nan else np.zeros(ref.shape, bool)
        best = (np.isfinite(ref) | (dtype.bytes == 1)) & (largest | no_number)
        right = np.where(beyond, (same_sign & np.isinf(out)) | best, right)
    return np.asarray(right)


def _within_steps(got: Array, ref: Array, dtype: DType, steps: int) -> Mask:
    """Which finite elements are at most `steps` representable values from the rounded reference."""
    if not steps:
        return np.zeros(ref.shape, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = ref.astype(dtype.numpy)
    both = np.isfinite(got.astype(np.float64)) & np.isfinite(rounded.astype(np.float64))
    one, one_negative = _magnitude(got, dtype)
    two, two_negative = _magnitude(rounded, dtype)
    apart = np.where(one > two, one - two, two - one)
    return np.asarray(both & (np.where(one_negative == two_negative, apart, one + two) <= steps))


def _magnitude(array: Array, dtype: DType) -> tuple[Array, Mask]:
    """How many representable values lie between 0 and each element, and its sign: both are in its bits."""
    bits = np.ascontiguousarray(array).view(f"u{dtype.bytes}").reshape(array.shape).astype(np.uint64)
    sign = np.uint64(1 << (8 * dtype.bytes - 1))
    return bits & (sign - np.uint64(1)), np.asarray(bits & sign != 0)


def _rule(tolerance: Tolerance, violations: int, elements: int, error: float, margin: float) -> str:
    """What is allowed and what the worst element has, as the end of a sentence."""
    allowed = [] if tolerance.rtol is None and tolerance.atol is None else [_sum(tolerance.rtol or 0.0, margin)]
    if tolerance.steps:
        allowed.append(f"{counted(tolerance.steps, 'step')} of the dtype")
    text = f"the worst is off by {error:.4g}, allowed: " + (" or ".join(allowed) or "no difference")
    if tolerance.matched_ratio < 1.0:
        share = 100 * (1 - violations / elements)
        text += f"; {share:.4g} % match, {100 * tolerance.matched_ratio:g} % must, and none of the others may exceed"
        text += f" max_error {tolerance.max_error:g}"
    return text


def _sum(rtol: float, margin: float) -> str:
    parts = [f"{rtol:g} * |expected|"] * (rtol > 0) + [f"{margin:.4g}"] * (margin > 0)
    return " + ".join(parts) or "no difference"


def _largest(values: Array, where: Mask) -> float | None:
    chosen = values[where & np.isfinite(values)]
    return float(chosen.max()) if chosen.size else None


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))
