"""Random numbers by place: each is a function of seed, sequence and index, so no order of calls changes them.

sandbox/emulator/hip/clock/draws.c gives the same. Source of the mixing function: Steele, Lea, Flood, "Fast Splittable
Pseudorandom Number Generators" (SplitMix64).
"""

from collections.abc import Sequence
from enum import IntEnum, auto
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


class Draw(IntEnum):
    """The sequences, in the order that draws.h has."""

    RAMP = 0
    PERIOD = auto()
    PHASE = auto()
    STEP_GAP = auto()
    LEVEL = auto()
    BURST_GAP = auto()
    BURST_LENGTH = auto()
    BURST_SLOWDOWN = auto()
    PLACEMENT = auto()
    JITTER = auto()
    TAIL = auto()
    TAIL_LENGTH = auto()


class Draws:
    """The numbers of one seed: an integer below 2**64, or several."""

    def __init__(self, seed: int | Sequence[int]) -> None:
        if isinstance(seed, int):
            self._seed = seed & _WORD
            return
        self._seed = len(seed)
        for part in seed:
            self._seed = int(_mix(np.uint64((self._seed + _GOLDEN * (part + 1)) & _WORD)))

    def uniform(self, draw: Draw, index: ArrayLike) -> Array:
        """Between 0 and 1, both excluded."""
        start = _mix(np.uint64((self._seed + _GOLDEN * (draw + 1)) & _WORD))
        with np.errstate(over="ignore"):  # words wrap around
            bits = _mix(start + (np.asarray(index, dtype=np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)) >> np.uint64(
                11
            )
        return np.asarray((bits.astype(np.float64) + 0.5) * 2.0**-53)

    def normal(self, draw: Draw, index: ArrayLike) -> Array:
        """Of mean 0 and deviation 1, by Box and Muller's method."""
        places = 2 * np.asarray(index, dtype=np.uint64)
        length = np.sqrt(-2 * np.log(self.uniform(draw, places)))
        return np.asarray(length * np.cos(2 * np.pi * self.uniform(draw, places + np.uint64(1))))

    def exponential(self, draw: Draw, index: ArrayLike) -> Array:
        """Of mean 1."""
        return np.asarray(-np.log(self.uniform(draw, index)))

    def pareto(self, draw: Draw, index: ArrayLike, exponent: float) -> Array:
        """As numpy's Generator.pareto: 0 is the least value."""
        return np.asarray(np.exp(self.exponential(draw, index) / exponent) - 1)


def _mix(x: Any) -> Any:
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
