"""A buffer between two guard bands, so that a write outside the buffer is found.

    | guard 64 KiB | shift | payload | guard 64 KiB |

All of it is filled with one byte before the payload gets its data: an output that the kernel leaves alone stays poison,
and a guard that does not is damage. The byte differs between repeats, the shift is drawn (memory_layout.py), so that
neither a kernel which writes the poison itself nor one which counts on an address passes twice.
"""

from dataclasses import dataclass
from typing import Any

import hip_calls
from job_plan import Buffer
from memory_layout import ALIGNMENT, SHIFTS, MemoryLayout

GUARD_BYTES = 64 << 10
POISON = (0xFF, 0x3F)  # NaN in every float type, -1 in every signed integer; and 0.75 in f32, which shows in any sum


_ACCESSES = {"in": ("load",), "inout": ("load",), "out": ("store",), "workspace": ()}


@dataclass(frozen=True)
class Damage:
    """The first damaged byte of one guard band: `offset` is relative to the payload's start (before) or end (after)."""

    buffer: str
    side: str  # before, after
    offset: int
    bytes: int  # how many bytes of the band were changed

    def as_json(self, repeat: int) -> dict[str, object]:
        return {"buffer": self.buffer, "side": self.side, "offset": self.offset, "bytes": self.bytes, "repeat": repeat}


class GuardedBuffer:
    """One buffer in device memory, freshly poisoned and filled."""

    def __init__(self, buffer: Buffer, data: bytes | None, *, shift: int, repeat: int) -> None:
        self.buffer = buffer
        self._shift = shift
        self._size = 2 * GUARD_BYTES + SHIFTS * ALIGNMENT + buffer.bytes
        self._block = hip_calls.allocate(self._size)
        self.address = self._block + GUARD_BYTES + self._shift
        self.refill(data, repeat=repeat)

    def refill(self, data: bytes | None, *, repeat: int) -> None:
        """Poison all of the block again, and put `data` into the payload. Raises HipError."""
        self._data = data
        self._poison = POISON[repeat % len(POISON)]
        hip_calls.fill(self._block, self._poison, self._size)
        self.restore()
        self._describe()

    def leave(self) -> None:
        """Keep what the payload holds; as before, no kernel may read it before it writes it."""
        self._data = None
        self._describe()

    def _describe(self) -> None:
        describe = hip_calls.memory_describer()
        if describe is not None:
            # A store to an `in` buffer is found and reported, but not stopped: a GPU does not stop either.
            given = hip_calls.INPUT if self.buffer.role == "in" else hip_calls.WRITABLE
            use = hip_calls.UNSET if self._data is None else given
            describe(self.address, self.buffer.bytes, self.buffer.name.encode(), use)

    def restore(self) -> None:
        """Put the input data into the payload again. Raises HipError."""
        if self._data is not None:
            hip_calls.write(self.address, self._data)

    def spoil(self) -> None:
        """Fill the payload with poison again. Raises HipError."""
        hip_calls.fill(self.address, self._poison, self.buffer.bytes)

    def contents(self) -> bytearray:
        """The payload. Raises HipError."""
        return hip_calls.read(self.address, self.buffer.bytes)

    def is_modified(self) -> bool:
        """Whether the payload is no longer the data that were put in. Raises HipError."""
        return self._data is not None and self.contents() != self._data

    def untouched(self, repeat: int) -> list[dict[str, object]]:
        """What no kernel loaded of an input, or stored to an output; empty where the library does not say."""
        found: list[dict[str, object]] = []
        for access in _ACCESSES[self.buffer.role]:
            if missing := hip_calls.untouched(self.address, self.buffer.bytes, stored=access == "store"):
                count, first = missing
                found.append(
                    {"buffer": self.buffer.name, "access": access, "bytes": count, "first": first, "repeat": repeat}
                )
        return found

    def damage(self) -> list[Damage]:
        """What was written outside the payload: at most one entry per side. Raises HipError."""
        start = GUARD_BYTES + self._shift
        end = start + self.buffer.bytes
        before = hip_calls.read(self._block, start)
        after = hip_calls.read(self._block + end, self._size - end)
        found = []
        for side, band, origin in (("before", before, start), ("after", after, 0)):
            if hit := first_difference(band, self._poison):
                found.append(Damage(self.buffer.name, side, hit[0] - origin, hit[1]))
        return found

    def free(self) -> None:
        """Give the block back. Raises HipError."""
        hip_calls.free(self._block)


def first_difference(band: bytearray, byte: int) -> tuple[int, int] | None:
    """Index of the first byte that is not `byte`, and how many are not; None when all are."""
    unharmed = band.count(byte)
    if unharmed == len(band):
        return None
    return len(band) - len(band.lstrip(bytes([byte]))), len(band) - unharmed


def allocate_all(
    buffers: tuple[Buffer, ...], data: list[bytes | None], layout: MemoryLayout, *, repeat: int
) -> list[GuardedBuffer]:
    """A fresh set of all buffers of a case, at places that `layout` draws. Raises HipError."""
    made = []
    odd = layout.odd(buffers)
    for buffer, contents in zip(buffers, data, strict=True):
        layout.skip()
        made.append(GuardedBuffer(buffer, contents, shift=layout.shift(buffer.align, odd=odd), repeat=repeat))
    layout.release()
    return made


def prepare_all(buffers: list[GuardedBuffer]) -> None:
    """Before a timed sample: outputs hold poison, and data that kernels change is as it was. Raises HipError.

    A kernel that leaves out a launch would else leave the right outputs of the sample before.
    """
    for buffer in buffers:
        if buffer.buffer.role in ("out", "workspace"):
            buffer.spoil()
        elif buffer.buffer.role == "inout":
            buffer.restore()


def free_all(buffers: list[Any]) -> None:
    """Give all blocks back. Raises HipError."""
    for buffer in buffers:
        buffer.free()
