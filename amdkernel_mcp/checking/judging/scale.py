"""The magnitude that bounds an element's absolute error: the root mean square (RMS) of what it stands among.

A sum is only as exact as its largest terms, so an element that cancellation made small must be allowed the error of the
large ones. One RMS over the whole output allows it too much: where half the rows are 1e6 times larger, zeros would pass
for the other half. Two rules find the elements that are small for another reason. Both use the reference alone.

* Rows (lines of the last axis; of the last axes together where it is shorter than 32). Rows mix their own inputs, so a
  row of small numbers has small errors. But the whole row may be small by chance, as a row of c * w is where c is a sum
  that cancelled. A distribution without a peak at zero has about t of its values below t times its RMS. Rows get an RMS
  of their own only where more of them are small than four times that explains (Poisson, at most 1 in a million).
* Elements in a row or in a flat array: what is below rtol * RMS is not judged at all. That is fine for the few that
  cancellation leaves there. Where they are more than 1/16 of all (and more than 4 * rtol), they are judged by their own
  RMS plus 8 roundings of the large ones: spectra and differences of large numbers lose no more than that.

Both need a gap (a factor of 1000 with hardly anything in it) between small and large. Without one the sizes are a
continuum, as in saturated functions (`1 + erf(x)`, the gradient of softmax), whose small results carry errors of the
constants they were computed from: there the small ones are allowed 1024 roundings of the large ones.

Below 2**-40 of the largest the reference itself is rounding noise, and zeros have no magnitude: neither counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

SHORTEST_ROW = 32  # the RMS of fewer numbers is small by chance too often
NOISE = 2.0**-40
_CHANCE = 4.0  # times the share that a flat density explains
_SURE = math.log(1e-6)
_LEAST_SHARE = 1 / 16
_FEWEST = 16
_GAP = 1000.0
_ROUNDINGS = 8
_ROUNDINGS_WITHOUT_GAP = 1024


def scales(ref: Array, *, rtol: float, epsilon: float) -> Array:
    """The scale of each element of `ref` (float64), of the same shape. `epsilon`: that of the sums' type."""
    finite = np.where(np.isfinite(ref), ref, 0.0)
    counted = np.isfinite(ref)  # a single infinity would let every element pass
    rows, length = row_shape(ref.shape)
    rounding = epsilon / rtol if rtol > 0 else 0.0
    by_row, floors = _row_scales(finite.reshape(rows, length), counted.reshape(rows, length), rounding)
    scale, floor = (np.repeat(each, length).reshape(ref.shape) for each in (by_row, floors))
    return np.maximum(_element_scales(finite, scale, rtol, rounding), floor) if rtol > 0 else scale


def row_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many rows an output has and how long they are: the last axes that hold 32 elements together."""
    length, axes = 1, list(shape)
    while axes and length < SHORTEST_ROW:
        length *= axes.pop()
    return math.prod(axes), length


def rms(values: Array, counted: Mask | None = None) -> float:
    """The root mean square of finite values; 0 where there are none."""
    chosen = values if counted is None else values[counted]
    largest = float(np.max(np.abs(chosen), initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * math.sqrt(float(np.mean((chosen / largest) ** 2)))  # squares of 1e200 would not be finite


def _row_scales(table: Array, counted: Mask, rounding: float) -> tuple[Array, Array]:
    """The scale of each row: the RMS of the band of rows that it belongs to; and the least scale of its elements."""
    whole = rms(table, counted)
    scale, floors = np.full(len(table), whole), np.zeros(len(table))
    if len(table) < 2 or whole == 0.0:
        return scale, floors
    largest = float(np.abs(table).max())
    squares = ((table / largest) ** 2).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    size = largest * np.sqrt(squares)
    active = (size > NOISE * size.max()) & (np.count_nonzero(table, axis=1) >= _FEWEST)
    floor = 0.0
    while active.any():
        small = active & (size <= _largest_unexplained(size[active], rms(size[active])))
        band = active & ~small
        own = rms(size[band])
        floors[band] = floor
        scale[band] = max(own, floor)
        if small.any() and _GAP * size[small].max() > size[band].min():
            floor = max(floor, min(1.0, _ROUNDINGS_WITHOUT_GAP * rounding) * own)
        active = small
    return scale, floors


def _largest_unexplained(sizes: Array, band: float) -> float:
    """The size up to which more rows are small than chance explains; below all sizes where there is none."""
    ordered = np.sort(sizes)
    seen = np.arange(1, len(ordered) + 1, dtype=np.float64)
    expected = _CHANCE * len(ordered) * ordered / band
    likely = seen <= expected
    log_chance = np.where(likely, 0.0, seen - expected - seen * np.log(np.where(likely, 1.0, seen / expected)))
    unexplained = ordered[log_chance < _SURE]
    return float(unexplained[-1]) if unexplained.size else -1.0


def _element_scales(ref: Array, scale: Array, rtol: float, rounding: float) -> Array:
    """`scale`, lowered where too many elements are smaller than what it leaves unjudged."""
    relative = np.divide(np.abs(ref), scale, out=np.zeros(ref.shape), where=scale > 0)
    counted = relative > NOISE
    small = counted & (relative <= rtol)
    number = int(np.count_nonzero(small))
    if number < _FEWEST or number <= max(_LEAST_SHARE, 4 * rtol) * np.count_nonzero(counted):
        return scale
    between = np.count_nonzero((relative > rtol) & (relative <= _GAP * rtol))
    roundings = _ROUNDINGS if between < number / 8 else _ROUNDINGS_WITHOUT_GAP
    own = rms(relative[small]) + roundings * rounding
    return np.where(small, scale * min(1.0, own), scale)
