"""A profile as one page that a browser opens from a file: findings, roofline, traffic, source and code, counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from markupsafe import Markup
from pydantic import ValidationError

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.measurement.roofline import Resource
from amdkernel_mcp.pages.findings import ruled_out as parts_of
from amdkernel_mcp.pages.render import FOLDER, Standalone, short, standalone
from amdkernel_mcp.plot import Axis, Mark, label, plot, point, segment, whisker
from amdkernel_mcp.profiling.brief import LEAST_SLOTS, in_full, issue_slots
from amdkernel_mcp.profiling.detail import CodeRow, KernelDetail, Level
from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from amdkernel_mcp.results.kernels import HotLine, KernelProfile, ProfileResult

MOST_LINES = 4000
COLOURS: tuple[Resource, ...] = ("lds", "l1_cache", "l2_cache", "infinity_cache", "memory")
"""The numbers of `--level-N` in report.css."""
SHOWN_BOUND = 0.01
"""Of the largest bound; smaller ones are left out of the bars."""
RESOURCES = {
    "Waves": "SQ_WAVES", "Waves per SIMD": "Waves per SIMD Slot", "Occupancy limit": "Occupancy Limit",
    "VGPRs": "VGPRs", "SGPRs": "SGPRs", "LDS": "LDS", "Scratch": "Scratch", "Spilled VGPRs": "VGPR Spills",
    "Active lanes": "VALU Lane Utilization",
}  # fmt: skip
"""What the kernel uses of the GPU, next to its bounds."""
_ROOFLINE_PX = 364
_THINNEST_PX, _PX_PER_DECADE, _THICKEST_PX = 3, 3, 22


@dataclass(frozen=True)
class SourceRow:
    """A line of the kernel file; `hot` is what its instructions did, None where none ran."""

    number: int
    text: str
    hot: HotLine | None
    anchor: str | None
    """Of its first appearance in the page."""


def profile_page(
    result: ProfileResult,
    *,
    kernel: str,
    problem: str,
    details: Sequence[KernelDetail] = (),
    attempt: Mapping[str, Any] | None = None,
) -> Standalone:
    """The page. `kernel` and `problem`: their names, for the title. `details`: of an emulated run, else none.

    attempt: the record that a server's page links; None in a file, where a link leads nowhere."""
    by_name = {each.name: each for each in details}
    anchors: set[int] = set()
    alone = len(details) == 1
    kernels = [_kernel(each, by_name.get(each.name), anchors, whole=alone) for each in result.kernels]
    scripts = [(FOLDER / "static" / "report.js").read_text(encoding="utf-8")]
    ruled_out = [each for each in result.diagnosis if RULED_OUT in each.finding]
    found = in_full(result.diagnosis)
    values = {
        "kernel": kernel,
        "problem": problem,
        "result": result,
        "kernels": kernels,
        "found": found,
        "little": [each for each in result.diagnosis if each not in ruled_out and each not in found],
        "ruled_out": [parts_of(each.finding, each.because) for each in ruled_out],
        "anchors": anchors,
        "attempt": attempt,
        "bounds": [each.bound for each in result.kernels if each.bound],
    }
    return standalone("profile.html", values, styles=("page.css", "report.css"), scripts=scripts)


def recorded_page(attempt: Mapping[str, Any], details: Sequence[KernelDetail], *, linked: bool = False) -> Standalone:
    """The page of the profile that an attempt recorded, with the way back to it where that is `linked`.

    Raises InputError: it recorded none that this version reads."""
    problem = attempt.get("problem") or {}
    try:
        result = ProfileResult.model_validate(attempt["answer"]) if attempt.get("verb") == "profile" else None
    except ValidationError:
        raise InputError("This profile was recorded by another version: profile the kernel again.") from None
    if result is None or not result.kernels:
        raise InputError("This attempt has no profile.")
    named = {"kernel": attempt["file_name"], "problem": problem.get("name", "")}
    return profile_page(result, **named, details=details, attempt=attempt if linked else None)


def _kernel(profile: KernelProfile, detail: KernelDetail | None, anchors: set[int], *, whole: bool) -> dict[str, Any]:
    view: dict[str, Any] = {"profile": profile, "detail": detail, "roofline": None, "source": [], "cut": 0}
    if detail is None:
        return view
    time_us = max(detail.least_us, 1e-12)
    largest = max((us for _, us in detail.bounds_us), default=0.0)
    rows = _source(detail, anchors, whole=whole)
    return view | {
        "bars": [(name, us, us / largest) for name, us in detail.bounds_us if us > SHOWN_BOUND * largest],
        "slots": [(name, share) for name, share in issue_slots(profile) if share >= LEAST_SLOTS],
        "levels": [_level(each, detail, time_us) for each in detail.levels],
        "roofline": Markup(_roofline(detail)) if detail.flop and detail.least_us else None,
        "source": rows[:MOST_LINES],
        "cut": max(0, len(rows) - MOST_LINES),
        "code": _marked(detail.code),
        "resources": [(what, each) for what, name in RESOURCES.items() if (each := profile.metrics.get(name))],
        "uses_lds": any(hot.memory and hot.memory.lds_cycles for hot in detail.lines),
        "most": max((hot.share for hot in detail.lines), default=0.0),
    }


def _level(level: Level, detail: KernelDetail, time_us: float) -> dict[str, Any]:
    bound_us = dict(detail.bounds_us).get(level.resource)
    return {
        "level": level,
        "number": COLOURS.index(level.resource),
        "busy": min(bound_us / time_us, 1.0) if bound_us is not None else None,
        "read_px": _thickness(level.read),
        "written_px": _thickness(level.written),
        "intensity": detail.flop / level.moved if level.moved and detail.flop else None,
    }


def _thickness(count: float | None) -> float:
    """Of an arrow in pixels: the logarithm of its bytes, because levels differ by factors of thousands."""
    if not count:
        return 0
    return round(min(_THINNEST_PX + _PX_PER_DECADE * max(log10(count) - 3, 0), _THICKEST_PX), 1)


def _source(detail: KernelDetail, anchors: set[int], *, whole: bool) -> list[SourceRow]:
    """All lines, or of several kernels in one file those of this kernel."""
    hot = {line.line: line for line in detail.lines}
    if not detail.source or not hot:
        return []
    first, last = (1, len(detail.source)) if whole else (min(hot), max(hot))
    rows = []
    for number, text in enumerate(detail.source[first - 1 : last], first):
        new = number not in anchors
        anchors.add(number)
        rows.append(SourceRow(number, text, hot.get(number), f"L{number}" if new else None))
    return rows


def _marked(code: Sequence[CodeRow]) -> list[tuple[CodeRow, bool]]:
    """Each instruction, and whether it begins another line of the source than the one before."""
    before: int | None = None
    marked = []
    for row in code:
        marked.append((row, row.line != before))
        before = row.line
    return marked


def _roofline(detail: KernelDetail) -> str:
    """As SVG, in the colours that report.css gives the levels."""
    top = max(roof.per_s for roof in detail.roofs)
    points = [(f"--level-{COLOURS.index(each.resource)}", each) for each in detail.levels if each.moved]
    roofs = [(colour, each.name, each.peak_gbps * 1e9, each.reached or 0) for colour, each in points if each.peak_gbps]
    best, worst = detail.flop / (detail.least_us * 1e-6), detail.flop / (detail.high_us * 1e-6)
    at = [detail.flop / each.moved for _, each in points]
    ridges = [top / per_s for _, _, per_s, _ in roofs]
    low, high = 10.0 ** floor(log10(min(at + ridges) / 2)), 10.0 ** ceil(log10(max(at + ridges) * 2))
    slowest = min((per_s for _, _, per_s, _ in roofs), default=worst)
    x = Axis(low, high, "flop per byte", logarithmic=True)
    y = Axis(min(worst / 3, slowest * low * 2), top * 3, "flop/s", logarithmic=True)
    marks = [
        _slope(x, y, colour, f"{name}: {per_s * share / 1e12:.3g} TB/s, {what}", per_s * share, top, dots=dots)
        for colour, name, per_s, reached in roofs
        for share, what, dots in ((1.0, "peak", False), (reached, "as benchmarks reach it", True))
        if share
    ]
    for roof in detail.roofs:
        height, text = 100 - y.at(roof.per_s), f"{roof.name} {short(roof.per_s / 1e12)} Tflop/s"
        ends = (max(x.at(roof.per_s / slowest / 1e3), 0), height, 100, height)
        marks.append(Mark("--dim", text, segment(ends, width=1.8) + label(text, height)))
    for (colour, each), intensity in zip(points, at, strict=True):
        says = f"{each.name}: {intensity:.3g} flop/B\n{worst / 1e12:.3g} to {best / 1e12:.3g} Tflop/s, modelled"
        across, highest, lowest = x.at(intensity), 100 - y.at(best), 100 - y.at(worst)
        marks.append(Mark(colour, says, whisker(highest, lowest, across, upright=True) + point(across, highest)))
    return plot(x, y, marks, height=_ROOFLINE_PX)


def _slope(x: Axis, y: Axis, colour: str, says: str, per_s: float, top: float, *, dots: bool) -> Mark:
    """A roof of bytes per second: a diagonal up to the highest peak of arithmetic."""
    ridge = min(top / per_s, x.high)
    ends = (0.0, 100 - y.at(x.low * per_s), x.at(ridge), 100 - y.at(ridge * per_s))
    return Mark(colour, says, segment(ends, width=1.2 if dots else 1.8, dots=dots))
