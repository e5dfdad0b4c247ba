"""A recording as every reader returns it: dispatches, each with the counters of one or more passes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from amdkernel_mcp.errors import ProfileFileError


@dataclass(frozen=True)
class Pass:
    """What one run of the application counted for one dispatch.

    `merged`: a tool has already mixed several passes into one row, so that counters may come from different runs.
    """

    counters: Mapping[str, float]
    duration_ns: int | None = None
    merged: bool = False


@dataclass(frozen=True)
class Shape:
    """Launch and resources as the profiler prints them; None where it does not. Registers are rounded up by it."""

    grid_items: int | None = None
    workgroup_items: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    vgpr: int | None = None
    agpr: int | None = None
    sgpr: int | None = None


@dataclass(frozen=True)
class RecordedDispatch:
    """One launch of a kernel. `duration_ns` is the time of a run made for timing, not of one that counted."""

    kernel: str
    shape: Shape = Shape()
    duration_ns: int | None = None
    passes: tuple[Pass, ...] = ()


@dataclass(frozen=True)
class KernelTotals:
    """A row of a statistics file: a kernel without its dispatches."""

    kernel: str
    calls: int
    total_ns: int
    min_ns: int | None = None
    max_ns: int | None = None


@dataclass(frozen=True)
class Device:
    """What the recording says of the GPU; None where it does not."""

    gfx: str | None = None
    name: str | None = None
    cus: int | None = None
    xcds: int | None = None


@dataclass(frozen=True)
class Recording:
    """All of one recording, in the order of the launches, with what its reader found odd."""

    format: str
    dispatches: tuple[RecordedDispatch, ...] = ()
    totals: tuple[KernelTotals, ...] = ()
    device: Device = Device()
    warnings: tuple[str, ...] = ()
    timed_apart: bool = field(default=False)
    """Durations come from a run without counters."""


_KERNEL_SUFFIX = re.compile(r"\s*(\[clone \.kd\]|\(\.kd\)|\.kd)\s*$")


def kernel_name(text: str) -> str:
    """The kernel's name without what rocprof v1 (` [clone .kd]`) and v2 (` (.kd)`) add."""
    return _KERNEL_SUFFIX.sub("", text.strip())


def whole(value: object) -> int | None:
    """A whole number from a database or JSON, None for none. Raises ValueError for anything else."""
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no number"[:100])
    return int(value)


def timestamp_ns(text: str, *, file: str, line: int) -> int:
    """A timestamp as an integer. Raises ProfileFileError for no number, or one that a spreadsheet has rounded."""
    text = text.strip()
    if re.fullmatch(r"\d{1,20}", text):
        return int(text)
    if re.fullmatch(r"\d{1,20}\.0+", text):
        return int(text.split(".")[0])
    if re.fullmatch(r"\d+([.,]\d+)?[eE]\+?\d+", text):
        raise ProfileFileError(
            f"the timestamp {text} was rounded by a spreadsheet: every duration of this file is lost",
            file=file, line=line, hint="use the file as the profiler wrote it; do not save it from a spreadsheet",
        )  # fmt: skip
    raise ProfileFileError(f"the timestamp {text[:40]!r} is not a whole number of nanoseconds", file=file, line=line)


def duration_ns(start: str, end: str, *, file: str, line: int) -> int | None:
    """End minus start; None where one is missing or the profiler left both at the same value (no duration, not 0)."""
    if not start.strip() or not end.strip():
        return None
    begin, finish = timestamp_ns(start, file=file, line=line), timestamp_ns(end, file=file, line=line)
    if finish < begin:
        raise ProfileFileError(f"the end {finish} lies before the start {begin}", file=file, line=line)
    return finish - begin or None
