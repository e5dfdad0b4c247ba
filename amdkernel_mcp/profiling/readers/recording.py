"""A recording as every reader returns it: dispatches, each with the counters of one or more passes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from math import isfinite
from pathlib import Path

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.kernel_code import KernelCode


@dataclass(frozen=True)
class Pass:
    """What one run of the application counted for one dispatch.

    `merged`: a tool has merged several passes into one row, so counters may come from different runs.
    """

    counters: Mapping[str, float]
    duration_ns: int | None = None
    merged: bool = False


@dataclass(frozen=True)
class Shape:
    """Launch and resources as the profiler prints them, None where it does not. It rounds registers up."""

    grid_items: int | None = None
    workgroup_items: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    vgpr: int | None = None
    agpr: int | None = None
    sgpr: int | None = None
    wave_size: int | None = None


@dataclass(frozen=True)
class RecordedDispatch:
    """One launch of a kernel. `duration_ns` is the time of a run made for timing, not of one that counted."""

    kernel: str
    shape: Shape = Shape()
    duration_ns: int | None = None
    passes: tuple[Pass, ...] = ()
    number: int | None = None
    """Dispatch_Id of a trace, by which PC samples of the same process name their kernel."""


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
    """What the recording says about the GPU; None where it does not say."""

    gfx: str | None = None
    name: str | None = None
    cus: int | None = None
    xcds: int | None = None


@dataclass(frozen=True)
class Recording:
    """One recording, in the order of the launches, with the warnings of its reader."""

    format: str
    dispatches: tuple[RecordedDispatch, ...] = ()
    totals: tuple[KernelTotals, ...] = ()
    device: Device = Device()
    warnings: tuple[str, ...] = ()
    timed_apart: bool = field(default=False)
    """Durations come from a run without counters."""
    code: tuple[KernelCode, ...] = ()
    """Thread traces and PC samples."""
    objects: tuple[Path, ...] = ()
    """Code objects that a thread trace brought."""
    sources: Mapping[str, Path] = field(default_factory=dict)
    """Copies of source files that the recording brought, by the path that its code names."""


_KERNEL_SUFFIX = re.compile(r"\s*(\[clone \.kd\]|\(\.kd\)|\.kd)\s*$")


def kernel_name(text: str) -> str:
    """The kernel's name, fit to print, without what rocprof v1 (` [clone .kd]`) and v2 (` (.kd)`) add."""
    return visible(_KERNEL_SUFFIX.sub("", text.strip()))


def visible(text: str) -> str:
    """The text with each character that a terminal acts on or does not show as its escape, `\\x1b`; else unchanged.

    Names in a recording are untrusted: they must not colour a terminal, move its cursor or reverse a line.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


LARGEST_WHOLE = 1 << 63


def finite(value: object) -> float:
    """A number from a database or JSON. Raises ValueError for anything else, infinities and NaN included."""
    if not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{str(value)[:40]!r} is not a finite number")
    return float(value)


def whole(value: object) -> int | None:
    """A whole number from a database or JSON, rounded; None for none. Raises ValueError for anything else."""
    if value is None:
        return None
    number = round(value) if isinstance(value, int | float) else None
    if number is None or abs(number) >= LARGEST_WHOLE:
        raise ValueError(f"{str(value)[:40]!r} is not a number of 64 bits")
    return number


def timestamp_ns(text: str, *, file: str, line: int) -> int:
    """A timestamp, rounded to a nanosecond: rocprof-compute prints means over passes, such as `386.5`.

    Raises ProfileFileError for text, or for a number that a spreadsheet has rounded.
    """
    text = text.strip()
    if re.fullmatch(r"\d{1,20}(\.\d{1,20})?", text):
        return int(Decimal(text).to_integral_value(ROUND_HALF_UP))
    if re.fullmatch(r"\d+([.,]\d+)?[eE]\+?\d+", text[:100]):
        raise ProfileFileError(
            f"the timestamp {text[:40]} was rounded by a spreadsheet: all durations in this file are lost",
            file=file, line=line, hint="use the file as the profiler wrote it; do not save it from a spreadsheet",
        )  # fmt: skip
    raise ProfileFileError(f"the timestamp {text[:40]!r} is not a number of nanoseconds", file=file, line=line)


def duration_ns(start: str, end: str, *, file: str, line: int) -> int | None:
    """End minus start; None where one is missing or the profiler left both at the same value (no duration, not 0)."""
    if not start.strip() or not end.strip():
        return None
    begin, finish = timestamp_ns(start, file=file, line=line), timestamp_ns(end, file=file, line=line)
    if finish < begin:
        raise ProfileFileError(f"the end {finish} is before the start {begin}", file=file, line=line)
    return finish - begin or None
