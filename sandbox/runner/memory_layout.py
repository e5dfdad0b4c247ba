"""Where the buffers of a case lie: at random, from a seed that no kernel knows, by the same code in every mode.

So a kernel cannot see in the bits of an address, the distance of two buffers or their alignment whether it is checked,
profiled or timed, nor which repeat it is in.
"""

import os
import random
from collections.abc import Sequence

import hip_calls
from job_plan import Buffer

ALIGNMENT = 256  # hipMalloc's, which a kernel may count on
SHIFTS = 16  # how many multiples of ALIGNMENT a payload may be shifted by
_MOST_SPARE = 3  # blocks before each buffer
_SPARE_PAGES = 1024  # of 4 KiB, at most, in a spare block


class MemoryLayout:
    """Draws the places of the buffers of one process."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._spare: list[int] = []

    def begin(self) -> None:
        """Seed the emulator's own draw, of its first address and of the gaps; before the first HIP call."""
        given = os.environ.get("AMDKERNEL_EMULATOR_OPTIONS")
        seed = f"layout_seed={self._random.randrange(1, 1 << 63)}"
        os.environ["AMDKERNEL_EMULATOR_OPTIONS"] = f"{given},{seed}" if given else seed

    def shift(self, align: int = ALIGNMENT, *, odd: bool = False) -> int:
        """How far behind its guard band a payload begins, in bytes. `odd`: at any multiple of `align`."""
        spare = align * self._random.randrange(ALIGNMENT // align) if odd else 0
        return ALIGNMENT * self._random.randrange(SHIFTS) + spare

    def odd(self, buffers: Sequence[Buffer]) -> bool:
        """Whether the next set of buffers lies at odd places: every second one, where any may. Draws only there."""
        return any(buffer.align < ALIGNMENT for buffer in buffers) and bool(self._random.randrange(2))

    def skip(self) -> None:
        """On a GPU: take memory that nothing uses, so that the next block lies elsewhere. Raises HipError."""
        if hip_calls.memory_describer() is not None:
            return  # its gaps are drawn, and stray accesses must not meet blocks that no kernel was given
        for _ in range(self._random.randrange(_MOST_SPARE + 1)):
            self._spare.append(hip_calls.allocate(4096 * self._random.randint(1, _SPARE_PAGES)))

    def release(self) -> None:
        """Give that memory back. Raises HipError."""
        for block in self._spare:
            hip_calls.free(block)
        self._spare.clear()
