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
  RMS plus 8 roundings of the large ones: spectra, `1 + erf(x)` and differences of large numbers lose no more than that.

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
_ROUNDINGS = 8


def scales(ref: Array, *, rtol: float, epsilon: float) -> Array:
    """The scale of each element of `ref` (float64), of the same shape. `epsilon`: that of the sums' type."""
    finite = np.where(np.isfinite(ref), ref, 0.0)
    counted = np.isfinite(ref)  # a single infinity would let every element pass
    rows, length = row_shape(ref.shape)
    by_row = _row_scales(finite.reshape(rows, length), counted.reshape(rows, length))
    scale = np.repeat(by_row, length).reshape(ref.shape)
    return _element_scales(finite, scale, rtol, epsilon) if rtol > 0 else scale


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


def _row_scales(table: Array, counted: Mask) -> Array:
    """The scale of each row: the RMS of the band of rows that it belongs to."""
    whole = rms(table, counted)
    scale = np.full(len(table), whole)
    if len(table) < 2 or whole == 0.0:
        return scale
    largest = float(np.abs(table).max())
    squares = ((table / largest) ** 2).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    size = largest * np.sqrt(squares)
    active = size > NOISE * size.max()
    while True:
        band = rms(size[active])
        small = active & (size <= _largest_unexplained(size[active], band))
        if not small.any():
            scale[active] = band
            return scale
        scale[active & ~small] = rms(size[active & ~small])
        active = small


def _largest_unexplained(sizes: Array, band: float) -> float:
    """The size up to which more rows are small than chance explains; below all sizes where there is none."""
    ordered = np.sort(sizes)
    seen = np.arange(1, len(ordered) + 1, dtype=np.float64)
    expected = _CHANCE * len(ordered) * ordered / band
    likely = seen <= expected
    log_chance = np.where(likely, 0.0, seen - expected - seen * np.log(np.where(likely, 1.0, seen / expected)))
    unexplained = ordered[log_chance < _SURE]
    return float(unexplained[-1]) if unexplained.size else -1.0


def _element_scales(ref: Array, scale: Array, rtol: float, epsilon: float) -> Array:
    """`scale`, lowered where too many elements are smaller than what it leaves unjudged."""
    relative = np.divide(np.abs(ref), scale, out=np.zeros(ref.shape), where=scale > 0)
    counted = relative > NOISE
    small = counted & (relative <= rtol)
    number = int(np.count_nonzero(small))
    if number < _FEWEST or number <= max(_LEAST_SHARE, 4 * rtol) * np.count_nonzero(counted):
        return scale
    own = rms(relative[small]) + _ROUNDINGS * epsilon / rtol
    return np.where(small, scale * min(1.0, own), scale)
