"""Elements that lost their precision though each is within the tolerance: small values written as 0, or f32 values that
were computed in f16 where they are small.

The tolerance allows each element an error of the output's RMS times `rtol` (scale.py), as sums and differences need.
What is small next to that may hold anything. Two patterns are never what cancellation leaves behind:

* **Zeros.** Of the elements of one power of two nearly all are 0. Rounding errors have no preference for 0 as long as
  they are smaller than the elements: the band must lie above what arithmetic in the output's own type loses.
* **Fewer bits below a size.** In an f32 output most elements of one power of two have an error that only an f16 would
  have, while the large elements have far smaller errors, in absolute numbers. Errors of sums are the same for small
  and large elements, and those of a formula grow with them.

Both count only beyond what rounding costs the reference itself (conditioning.py), so a tail such as
`log(1 + exp(x))` may be 0 where the formula makes it 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.checking.judging.scale import scales
from amdkernel_mcp.checking.judging.tolerance import Tolerance
from amdkernel_mcp.problems.dtypes import DType

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

_FEWEST_ZEROS = 16  # of a band
_NEARLY_ALL = 0.9
_STEPS_FROM_ZERO = 2
_FEWEST, _MANY = 64, 0.4  # of a band
_FEWEST_LARGE = 32
_LARGE, _LARGEST = 0.25, 4.0  # of the scale
_COARSE = 2.0**-13  # relative: half of what an f16 rounds by on average
_ROUNDINGS = 8  # of the scale: what formulas with differences lose
_F32 = 2.0**-23
_TIMES = 4.0  # as large as the errors of large elements
# Half of what arithmetic in the type loses of the scale; one byte is computed in bf16 at least.
_OWN_ROUNDING = {"f16": 2.0**-12, "bf16": 2.0**-9, "f32": 2.0**-20}
_OF_A_BYTE = 2.0**-9


@dataclass(frozen=True)
class Loss:
    """A band of magnitudes that lost its precision. `example`: index of one element."""

    zeros: bool  # else: bits
    lost: int
    elements: int  # of the band
    low: float  # magnitudes of the band
    high: float
    example: tuple[int, ...]


def find_loss(
    got: Array,
    expected: Array,
    *,
    dtype: DType,
    tolerance: Tolerance,
    least_scale: float | Array = 0.0,
    written: Mask | None = None,
    scale: Array | None = None,
) -> Loss | None:
    """The first such band of `got` (of `dtype`) against `expected`, from the largest on; None where there is none.

    `least_scale`, `written`, `scale`: as in `compare`. Nothing is found where the tolerance is absolute or none.
    """
    if dtype.kind != "float" or not tolerance.rtol or tolerance.atol is not None or dtype.bytes == 8:
        return None
    # The elements that count, flat: those of a sample are often a small part of a large output.
    chosen = slice(None) if written is None else np.flatnonzero(written)
    out, ref = (each.reshape(-1)[chosen].astype(np.float64) for each in (got, expected))
    with np.errstate(invalid="ignore"):
        error = np.abs(out - ref)
        used = np.isfinite(error) & (ref != 0)
    if not error[used].any():
        return None
    of_all = scales(expected.astype(np.float64), rtol=tolerance.rtol, epsilon=_F32) if scale is None else scale
    scale = np.maximum(of_all, least_scale).reshape(-1)[chosen]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(used & (scale > 0), np.abs(ref) / scale, 0.0)
    found = _zeros(out, ref, used, share, dtype, tolerance)
    if found is None and dtype.name == "f32":
        found = _fewer_bits(error, ref, used, share, scale, tolerance)
    if found is None:
        return None
    flat = found.example[0] if written is None else int(np.flatnonzero(written)[found.example[0]])
    return replace(found, example=tuple(int(i) for i in np.unravel_index(flat, expected.shape)))


def _zeros(out: Array, ref: Array, used: Mask, share: Array, dtype: DType, tolerance: Tolerance) -> Loss | None:
    """Nearly all elements from what arithmetic may lose up to some power of two."""
    import ml_dtypes

    smallest = float(ml_dtypes.finfo(dtype.numpy).smallest_subnormal)  # type: ignore[no-untyped-call]
    floor = _OWN_ROUNDING.get(dtype.name, _OF_A_BYTE)
    most = 2 * max(tolerance.rtol or 0.0, floor)
    region = used & (share >= floor) & (share <= most) & (np.abs(ref) >= _STEPS_FROM_ZERO * smallest)
    zero = region & (out == 0)
    if np.count_nonzero(zero) < _FEWEST_ZEROS * _NEARLY_ALL:
        return None
    _, power = np.frexp(share)
    for below in sorted(set(power[zero].tolist()), reverse=True):
        here = region & (power <= below)
        if loss := _loss(here, here & zero, ref, _FEWEST_ZEROS, _NEARLY_ALL, zeros=True):
            return loss
    return None


def _fewer_bits(error: Array, ref: Array, used: Mask, share: Array, scale: Array, tolerance: Tolerance) -> Loss | None:
    """Most elements of one power of two, where larger ones have smaller errors."""
    large = used & (share >= _LARGE) & (share <= _LARGEST)
    if np.count_nonzero(large) < _FEWEST_LARGE:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(used & (scale > 0), error / scale, 0.0)
    usual = float(np.sqrt(np.mean(relative[large] ** 2)))
    rtol = tolerance.rtol or 0.0
    small = used & (share > 0) & (share < _LARGE / 2)
    coarse = small & (error > max(_COARSE, 12 * rtol) * np.abs(ref))
    coarse &= relative > max(_ROUNDINGS * _F32, 0.08 * rtol, _TIMES * usual)
    if np.count_nonzero(coarse) < _FEWEST * _MANY:
        return None
    _, power = np.frexp(share)
    for each in sorted(set(power[coarse].tolist()), reverse=True):
        here = small & (power == each)
        if loss := _loss(here, here & coarse, ref, _FEWEST, _MANY, zeros=False):
            return loss
    return None


def _loss(here: Mask, lost: Mask, ref: Array, fewest: int, least: float, *, zeros: bool) -> Loss | None:
    count, number = int(np.count_nonzero(here)), int(np.count_nonzero(lost))
    if count < fewest or number < least * count:
        return None
    sizes = np.abs(ref[here])
    return Loss(zeros, number, count, float(sizes.min()), float(sizes.max()), (int(np.argmax(lost)),))
