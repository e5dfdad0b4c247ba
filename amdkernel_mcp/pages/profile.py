"""A profile as one page that a browser opens from a file: findings, roofline, traffic, source with its code, counters.

The roofline is Plotly's (MIT), whose script of 5 MB is then part of the page. It is imported only here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from pydantic import ValidationError

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.measurement.roofline import Resource
from amdkernel_mcp.pages.render import FOLDER, Standalone, short, standalone
from amdkernel_mcp.profiling.brief import in_full
from amdkernel_mcp.profiling.detail import CodeRow, KernelDetail, Level
from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from amdkernel_mcp.results.kernels import Diagnosis, HotLine, KernelProfile, ProfileResult

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
    result: ProfileResult, *, kernel: str, problem: str, details: Sequence[KernelDetail] = ()
) -> Standalone:
    """The page. `kernel` and `problem`: their names, for the title. `details`: of an emulated run, else none."""
    by_name = {each.name: each for each in details}
    anchors: set[int] = set()
    alone = len(details) == 1
    kernels = [_kernel(each, by_name.get(each.name), anchors, whole=alone) for each in result.kernels]
    plotted = any(each["roofline"] for each in kernels)
    scripts = [*([_plotly()] if plotted else []), (FOLDER / "static" / "report.js").read_text(encoding="utf-8")]
    ruled_out = [each for each in result.diagnosis if RULED_OUT in each.finding]
    found = in_full(result.diagnosis)
    values = {
        "kernel": kernel,
        "problem": problem,
        "result": result,
        "kernels": kernels,
        "found": found,
        "little": [each for each in result.diagnosis if each not in ruled_out and each not in found],
        "ruled_out": [_ruled_out(each) for each in ruled_out],
        "anchors": anchors,
        "bounds": [each.bound for each in result.kernels if each.bound],
    }
    return standalone("profile.html", values, styles=("page.css", "report.css"), scripts=scripts)


def recorded_page(attempt: Mapping[str, Any], details: Sequence[KernelDetail]) -> Standalone:
    """The page of the profile that an attempt recorded. Raises InputError: it recorded none that this version reads."""
    problem = attempt.get("problem") or {}
    try:
        result = ProfileResult.model_validate(attempt["answer"]) if attempt.get("verb") == "profile" else None
    except ValidationError:
        raise InputError("This profile was recorded by another version: profile the kernel again.") from None
    if result is None or not result.kernels:
        raise InputError("This attempt has no profile.")
    return profile_page(result, kernel=attempt["file_name"], problem=problem.get("name", ""), details=details)


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _ruled_out(row: Diagnosis) -> dict[str, Any]:
    """The classes of problem that the kernel does not have, each with its figures."""
    pairs = [line.partition(": ") for line in row.because.splitlines()]
    return {"finding": row.finding.partition(RULED_OUT)[0], "rows": [(what, why) for what, _, why in pairs]}


def _kernel(profile: KernelProfile, detail: KernelDetail | None, anchors: set[int], *, whole: bool) -> dict[str, Any]:
    view: dict[str, Any] = {"profile": profile, "detail": detail, "roofline": None, "source": [], "cut": 0}
    if detail is None:
        return view
    time_us = max(detail.least_us, 1e-12)
    largest = max((us for _, us in detail.bounds_us), default=0.0)
    rows = _source(detail, anchors, whole=whole)
    return view | {
        "bars": [(name, us, us / largest) for name, us in detail.bounds_us if us > SHOWN_BOUND * largest],
        "levels": [_level(each, detail, time_us) for each in detail.levels],
        "roofline": _roofline(detail) if detail.flop and detail.least_us else None,
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


def _roofline(detail: KernelDetail) -> Mapping[str, Any]:
    """Plotly's data and layout. Colours are names of CSS variables in `meta`, which report.js replaces."""
    top = max(roof.per_s for roof in detail.roofs)
    points = [(COLOURS.index(each.resource), each) for each in detail.levels if each.moved]
    roofs = [(number, each) for number, each in points if each.peak_gbps]
    best, worst = detail.flop / (detail.least_us * 1e-6), detail.flop / (detail.high_us * 1e-6)
    at = [detail.flop / each.moved for _, each in points]
    ridges = [top / (each.peak_gbps * 1e9) for _, each in roofs if each.peak_gbps]
    low, high = 10 ** floor(log10(min(at + ridges) / 2)), 10 ** ceil(log10(max(at + ridges) * 2))
    slowest = min((each.peak_gbps or 0) * 1e9 for _, each in roofs) if roofs else worst
    floor_y = min(worst / 3, slowest * low * 2)
    data: list[dict[str, Any]] = []
    for number, each in roofs:
        assert each.peak_gbps is not None
        for share, dash in ((1.0, "solid"), (each.reached or 0, "dot")):
            if share:
                data.append(_slope(number, each.name, each.peak_gbps * 1e9 * share, top, (low, high), dash))
    data += [_flat(roof.name, roof.per_s, slowest, high) for roof in detail.roofs]
    data += [_point(number, each.name, x, best, worst) for (number, each), x in zip(points, at, strict=True)]
    layout = {
        "height": 420,
        "margin": {"l": 58, "r": 14, "t": 10, "b": 46},
        "showlegend": False,  # the table next to it is one
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "xaxis": _axis("flop per byte", low, high),
        "yaxis": _axis("flop/s", floor_y, top * 3),
    }
    return {"data": data, "layout": layout}


def _axis(title: str, low: float, high: float) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 6},
        "type": "log",
        "range": [log10(low), log10(high)],
        "fixedrange": True,
        "dtick": 1,
        "exponentformat": "SI",
        "zeroline": False,
    }


def _slope(number: int, name: str, per_s: float, top: float, ends: tuple[float, float], dash: str) -> dict[str, Any]:
    """A roof of bytes per second: a diagonal up to the highest peak of arithmetic."""
    low, ridge = ends[0], min(top / per_s, ends[1])
    what = "peak" if dash == "solid" else "as benchmarks reach it"
    return {
        "mode": "lines",
        "x": [low, ridge],
        "y": [low * per_s, ridge * per_s],
        "line": {"width": 1.8 if dash == "solid" else 1.2, "dash": dash},
        "hovertemplate": f"{name}: {per_s / 1e12:.3g} TB/s, {what}<extra></extra>",
        "meta": f"--level-{number}",
    }


def _flat(name: str, per_s: float, slowest: float, high: float) -> dict[str, Any]:
    return {
        "mode": "lines+text",
        "x": [per_s / slowest / 1e3, high],
        "y": [per_s, per_s],
        "text": ["", f"{name} {short(per_s / 1e12)} Tflop/s"],
        "textposition": "top left",
        "line": {"width": 1.8},
        "hovertemplate": f"{name}: {short(per_s / 1e12)} Tflop/s<extra></extra>",
        "meta": "--dim",
    }


def _point(number: int, name: str, x: float, best: float, worst: float) -> dict[str, Any]:
    """The kernel at one level, at the most that the model allows; the bar goes down to what it hardly falls below."""
    return {
        "mode": "markers",
        "x": [x],
        "y": [best],
        "marker": {"size": 11},
        "error_y": {"type": "data", "symmetric": False, "array": [0], "arrayminus": [best - worst], "thickness": 1.2,
                    "width": 4},
        "hovertemplate": f"{name}: {x:.3g} flop/B<br>{worst / 1e12:.3g} to {best / 1e12:.3g} Tflop/s, modelled"
        "<extra></extra>",
        "meta": f"--level-{number}",
    }  # fmt: skip
