"""Spikes at the places where kernels forget elements: the first, the last, and the edges of blocks.

A sum over many elements hides one that was left out; with a spike there it does not. Spikes stay within what the
problem declares: numbers of `uniform` and `integers` within their bounds, those of `normal` 6 to 12 deviations from the
mean, which right kernels bear. No two are meant to be equal, or the first maximum would no longer be the only one.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.problems.problem import Init

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

SPIKED = ("normal", "uniform", "integers")
_BLOCKS = (32, 64, 256, 1024)
_FIBRES = 16  # spikes at each edge of an axis, along the other axes
_MOST = 1 / 8  # of all elements
_DEVIATIONS = (6.0, 12.0)
_END = 12.5  # deviations: beyond what a plain distribution of any size reaches
_QUIET = 1 / 16  # of the range: where `uniform` leaves the other elements


def add_spikes(data: Array, init: Init, low: float, high: float, random: np.random.Generator) -> Array:
    """`data` of a plain distribution with spikes; the parameters are those of its init."""
    places = spike_places(data.shape, random)
    flat = data.reshape(-1).copy()
    if init.kind == "normal":
        size = high * random.uniform(*_DEVIATIONS, len(places))
        # away from zero, where a mean is given: such numbers may have to be positive
        sign = random.choice([-1.0, 1.0], len(places)) if low == 0 else np.sign(low)
        flat[places] = low + sign * size
    elif init.kind == "uniform":
        flat = low + (flat - low) * _QUIET
        flat[places] = high - (high - low) * random.random(len(places)) * _QUIET
    else:
        ends = np.array([int(low), int(high) - 1], dtype=flat.dtype)
        flat[places] = random.choice(ends, len(places))
    return flat.reshape(data.shape)


def set_ends(data: Array, init: Init, low: float, high: float) -> Array:
    """`data` whose last element alone is the largest, and whose first alone is the smallest.

    For kernels that look for an extreme and leave out an end: among many spikes another one decides. Where a mean is
    given, only the last element is changed, away from zero. Integers of fewer than four values stay as they are.
    """
    flat = data.reshape(-1).copy()
    if init.kind == "normal":
        flat[-1] = low + (np.sign(low) or 1.0) * high * _END
        if low == 0:
            flat[0] = -high * _END
    elif init.kind == "uniform":
        margin = (high - low) * _QUIET
        flat = low + margin + (flat - low) * (1 - 2 * _QUIET)
        flat[0], flat[-1] = low + margin / 2, high - margin / 2
    elif int(high) - int(low) >= 4:
        flat = np.clip(flat, int(low) + 1, int(high) - 2)
        flat[0], flat[-1] = int(low), int(high) - 1
    return flat.reshape(data.shape)


def spike_places(shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Flat indices: the first and the last element, and edges of blocks of the flat array and of each axis."""
    size = prod(shape)
    places = _edges(size, random)
    for axis, length in enumerate(shape) if len(shape) > 1 else ():
        others = size // length
        for edge in _edges(length, random):
            index = list(np.unravel_index(random.integers(0, others, min(others, _FIBRES)), _without(shape, axis)))
            index.insert(axis, np.full(len(index[0]), edge))
            places += np.ravel_multi_index(tuple(index), shape).tolist()
    chosen = np.unique(np.array(places, np.int64))
    most = max(2, int(size * _MOST))
    if len(chosen) > most:
        inner = random.choice(chosen[1:-1], most - 2, replace=False) if most > 2 else chosen[:0]
        chosen = np.unique(np.concatenate([chosen[:1], inner, chosen[-1:]]))
    return chosen


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _edges(length: int, random: np.random.Generator) -> list[int]:
    """The first and the last index; of each block size the edge of the last block, and one other, or a neighbour."""
    edges = [0, length - 1]
    for block in _BLOCKS:
        count = (length - 1) // block
        if count:
            starts = (block * count, block * int(random.integers(1, count + 1)))
            edges += [min(start + int(random.integers(-1, 2)), length - 1) for start in starts]
    return edges
