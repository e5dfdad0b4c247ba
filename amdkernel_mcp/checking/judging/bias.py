"""Whether the errors of an output point one way although each is within the tolerance: truncation, a lost small term.

Rounding to nearest errs to both sides. Its mean over n elements has a deviation of at most 0.29 steps / sqrt(n);
truncation has a mean of 0.5 steps towards zero (or down), and a lost constant has its own size. A bias is reported when
all of this holds; each condition keeps a right kernel out:

* The mean is above `max_bias` (0.3), in steps for floats of 1 and 2 bytes and for integers with `steps`: their sums run
  in f32, so they have a far smaller bias of their own. f32 and f64 results carry the bias of fast-math functions and of
  long sums: their mean is taken in tolerances; 0.3 of a tolerance is 50 roundings.
* The mean is above 6 standard errors over at least 32 rows. Elements of a row share the error of their row's sum or
  maximum, so rows are what is independent; a flat output is cut into 32 blocks.
* For narrow types the distance from the *rounded* reference has the same mean and sign. References whose values all lie
  on one side of the nearest representable one (a constant 0.1) give a mean error, but this distance is then 0.
* Elements that the dtype holds exactly, exact ties (half up is a common way to round), denormals (they may be flushed)
  and overflows are left out, and so are elements below a tenth of the scale: what cancellation costs is many of their
  steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.checking.judging.scale import SHORTEST_ROW, row_shape, scales
from amdkernel_mcp.checking.judging.tolerance import Tolerance
from amdkernel_mcp.problems.dtypes import DType

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

_GROUPS = 32
_FEWEST = 256
_SURE = 6.0  # standard errors
_LARGE = 0.1  # of the scale
_TIE = 1e-3  # of a step; an f32 sum does not hit a tie more exactly


@dataclass(frozen=True)
class Bias:
    """The mean signed error of one output, larger than rounding explains."""

    mean: float
    elements: int
    towards_zero: bool  # the mean of errors times the sign of the reference; negative is towards zero
    in_steps: bool  # else in tolerances


def find_bias(
    got: Array,
    expected: Array,
    *,
    dtype: DType,
    tolerance: Tolerance,
    least_scale: float | Array = 0.0,
    written: Mask | None = None,
    scale: Array | None = None,
) -> Bias | None:
    """The bias of `got` (of `dtype`) against `expected`; None where there is none that is certain.

    `least_scale`, `scale`: as in `compare`. `written`: the elements that count; None: all.
    """
    rows = _rows(expected.shape)
    if rows is None or expected.size < _FEWEST or tolerance.is_equality or tolerance.rtol == 0:
        return None
    out, ref = got.astype(np.float64), expected.astype(np.float64)
    exact = tolerance.rtol is None and tolerance.atol is None
    in_steps = exact if dtype.kind == "int" else dtype.bytes <= 2
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if exact:
            used, errors = np.ones(ref.shape, bool), [out - ref]
        elif in_steps:
            used, errors = _in_steps(out, ref, dtype)
            if scale is None:
                scale = scales(ref, rtol=tolerance.rtol or 0.0, epsilon=dtype.sum_epsilon)
            scale = np.maximum(scale, least_scale)
            used &= np.abs(ref) >= _LARGE * scale
        else:
            used, errors = _in_tolerances(out, ref, tolerance, dtype.sum_epsilon, least_scale, scale)
    used &= np.isfinite(out) & np.isfinite(ref)
    if written is not None:
        used &= written
    for towards_zero in (True, False):
        weight = np.sign(ref) if towards_zero else np.ones(ref.shape)
        means = [_certain_mean(error * weight, used, rows, tolerance.max_bias) for error in errors]
        signs = {float(np.sign(mean)) for mean in means if mean is not None}
        if None not in means and len(signs) == 1:
            return Bias(means[0] or 0.0, int(np.count_nonzero(used)), towards_zero, in_steps)
    return None


def _rows(shape: tuple[int, ...]) -> int | None:
    """Into how many groups of independent errors an output is cut; None where too few are known to be independent."""
    rows, _ = row_shape(shape)
    if rows >= _GROUPS:
        return rows
    flat = rows == 1 and (len(shape) == 1 or shape[-1] < SHORTEST_ROW)
    return _GROUPS if flat else None


def _in_steps(out: Array, ref: Array, dtype: DType) -> tuple[Mask, list[Array]]:
    """Which elements can show a bias, and their distances from the reference and from the rounded reference."""
    import ml_dtypes

    info = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    rounded = ref.astype(dtype.numpy).astype(np.float64)
    _, exponent = np.frexp(rounded)
    step = np.ldexp(float(info.eps), exponent - 1)
    fraction = np.abs(ref - rounded) / step
    used = (fraction > _TIE) & (fraction < 0.5 - _TIE)
    used &= (np.abs(ref) >= float(info.smallest_normal)) & (np.abs(ref) <= dtype.largest)
    return used, [(out - ref) / step, (out - rounded) / step]


def _in_tolerances(
    out: Array,
    ref: Array,
    tolerance: Tolerance,
    epsilon: float,
    least_scale: float | Array,
    scale: Array | None,
) -> tuple[Mask, list[Array]]:
    rtol = tolerance.rtol or 0.0
    scale = np.maximum(scales(ref, rtol=rtol, epsilon=epsilon) if scale is None else scale, least_scale)
    margin = rtol * scale if tolerance.atol is None else tolerance.atol
    allowed = rtol * np.abs(ref) + margin
    return np.asarray(allowed > 0), [(out - ref) / allowed]


def _certain_mean(error: Array, used: Mask, groups: int, limit: float) -> float | None:
    """The mean error, where it is above `limit` and certain; else None. Groups count alike."""
    if np.count_nonzero(used) < _FEWEST:
        return None
    values = np.where(used, error, 0.0).reshape(-1)
    cuts = np.arange(groups) * values.size // groups
    counts = np.add.reduceat(used.reshape(-1).astype(np.int64), cuts)
    means = np.add.reduceat(values, cuts)[counts > 0] / counts[counts > 0]
    if means.size < _GROUPS:
        return None
    mean = float(means.mean())
    deviation = float(means.std(ddof=1)) / means.size**0.5
    return mean if abs(mean) > max(limit, _SURE * deviation) else None
