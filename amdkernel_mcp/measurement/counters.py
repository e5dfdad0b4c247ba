"""What one run of a case did, in the form that timing and profiling need.

A run is a list of dispatches (emulator) or of timed launches (GPU), each with the bytes that it cannot avoid to move.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

Counters = Mapping[str, float]

MATRIX_TYPES = ("F16", "BF16", "F32", "F64", "I8", "F8", "XF32", "F6F4")
"""The types in the names of the emulator's counters of matrix instructions."""


@dataclass(frozen=True)
class Footprint:
    """Bytes of the buffers that a launch is given: each counted once, however often the kernel touches it."""

    read_bytes: int
    write_bytes: int
    workspace_bytes: int = 0
    """Of arrays that exist between launches only. They could stay in a cache, so they are not in the total."""

    @property
    def total_bytes(self) -> int:
        """Bytes read and bytes written."""
        return self.read_bytes + self.write_bytes


@dataclass(frozen=True)
class PcCounts:
    """What one instruction did: exact up to `divergent`, then modelled; lines of 128 bytes, cycles of the LDS."""

    executions: int
    lanes: int = 0
    """Active lanes, summed over the executions."""
    bytes: int = 0
    """Requested by active lanes from any memory."""
    divergent: int = 0
    lines: int = 0
    l1_hits: int = 0
    l2_hits: int = 0
    l2_misses: int = 0
    lds_cycles: int = 0
    lds_conflicts: int = 0
    lines_stored: int = 0
    """Of `lines`, by stores and atomics."""


@dataclass(frozen=True)
class Sample:
    """Of a dispatch that was sampled: the workgroups that ran.

    `errors`: by how much a counter may be off, as a part of it (half of a 95 % interval); without an entry all
    workgroups that ran were alike in it.
    """

    ran: int
    of: int
    errors: Mapping[str, float]


@dataclass(frozen=True)
class Dispatch:
    """One kernel launch as the emulator counted it. `grid` is in workgroups, `block` in work-items."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: Counters
    footprint: Footprint | None = None
    pcs: Mapping[int, PcCounts] = field(default_factory=dict)
    """Counts by virtual address in the code object; empty where they were not counted."""
    lds_bytes: int = 0
    """Of each workgroup."""
    sample: Sample | None = None
    """None: all workgroups ran, the counters are exact."""
    not_sampled: str = ""
    """Why all workgroups of a large launch ran, though a sample was wanted."""

    @property
    def workgroups(self) -> int:
        """Workgroups of the launch."""
        return prod(self.grid)

    def count(self, name: str) -> float:
        """The counter's value; 0 where it was not counted, so only for counters that are always there."""
        return self.counters.get(name, 0)


@dataclass(frozen=True)
class CaseRun:
    """All that is known of the speed of one case: emulated dispatches, or event times of a real GPU."""

    case: str
    dispatches: tuple[Dispatch, ...] = ()
    repeats_us: tuple[tuple[float, ...], ...] = ()
    """Event times: one tuple per repeat, in it one time per launch."""
    footprints: tuple[Footprint, ...] = ()
    """One per launch, in order."""
    minimum: Footprint = Footprint(0, 0)
    """Bytes of the problem's inputs, and of the outputs that are not inputs as well: what the work cannot avoid."""
    unread_bytes: int = 0
    """Of the inputs, what no launch loaded: rows behind a length, for instance. 0 where it is not known."""

    @property
    def samples_us(self) -> tuple[float, ...]:
        """Time of the whole case, one per repeat."""
        return tuple(sum(launches) for launches in self.repeats_us)


def moved_bytes(dispatch: Dispatch) -> float:
    """Bytes that the dispatch moves between memory and the GPU if every cache were perfect.

    Each buffer once, and no more than the lanes asked for: a kernel that stops early moves less than its buffers.
    """
    loaded, stored = dispatch.count("bytes_loaded"), dispatch.count("bytes_stored")
    if dispatch.footprint is None:
        return loaded + stored
    return min(loaded, dispatch.footprint.read_bytes) + min(stored, dispatch.footprint.write_bytes)
