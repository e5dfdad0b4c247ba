"""The result of a sweep as one web page with a plot; a browser fetches nothing for it and runs no script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from amdkernel_mcp.plot import Axis, Mark, plot, point, row_at, whisker
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.tuning import TuneResult, TuneRow

MOST_PLOTTED = 40
_ROW_PX = 26
_LOGARITHMIC = 8.0
"""From this ratio between the longest and the shortest time, the axis is logarithmic."""


def page_of(result: TuneResult, *, kernel: str, problem: str) -> str:
    """The page. `kernel` and `problem`: their names, for the title."""
    template = (files(__package__) / "page.html").read_text(encoding="utf-8")
    plotted = [row for row in result.rows if row.rank is not None][:MOST_PLOTTED]
    parts = {
        "TITLE": escape(f"{kernel} on {problem}"),
        "VERDICT": escape(result.verdict or "not_measured"),
        "REASON": escape(result.reason),
        "FACTS": _facts(result),
        "LINE": f"<pre>{escape(result.line)}</pre>" if result.line else "",
        "TABLE": _table(result.rows, result.evidence),
        "HIDDEN": "" if plotted else "hidden",
        "PLOT": _drawn(plotted, result.evidence) if plotted else "",
    }
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], template)


def _facts(result: TuneResult) -> str:
    tried = f"{len(result.rows)} of {result.combinations} combinations"
    facts = [result.target or "", tried, f"times: {result.evidence}"]
    if result.seed is not None:
        facts.append(f"search with seed {result.seed}")
    return " · ".join(escape(fact) for fact in facts if fact)


def _drawn(rows: Sequence[TuneRow], evidence: str) -> str:
    """The names of the rows, and their times with intervals at the same heights."""
    times = [row.time_us.value or 0.0 for row in rows]
    lows = [row.interval_us.low or time for row, time in zip(rows, times, strict=True)]
    highs = [row.interval_us.high or time for row, time in zip(rows, times, strict=True)]
    axis = _axis([*times, *lows, *highs], max(*times, *highs) > _LOGARITHMIC * max(min(times), 1e-9), evidence)
    marks = []
    for number, (row, time, low, high) in enumerate(zip(rows, times, lows, highs, strict=True)):
        y = row_at(number, len(rows))
        start, x, end = (axis.at(max(us, axis.low)) for us in (low, time, high))
        shapes = (whisker(start, end, y, upright=False) if low < high else "") + point(x, y)
        marks.append(Mark(f"--{_kind(row)}", f"{_values(row)}\n{_us(time)}\n{_ratio(row.ratio, evidence)}", shapes))
    names = "".join(f'<li title="{escape(_values(row))}">{escape(_values(row))}</li>' for row in rows)
    return f'<ol class="names">{names}</ol>{plot(axis, len(rows), marks, height=_ROW_PX * len(rows))}'


def _kind(row: TuneRow) -> str:
    """Of its colour."""
    return "best" if row.rank == 1 else "default" if row.default else "tie" if row.tie else "other"


def _axis(values: Sequence[float], logarithmic: bool, evidence: str) -> Axis:
    """From the least to the greatest with some room; a single value has as much as itself."""
    title = f"time in us, {evidence}"
    if logarithmic:
        positive = [us for us in values if us > 0]
        room = (max(positive) / min(positive)) ** 0.05
        return Axis(min(positive) / room, max(positive) * room, title, logarithmic=True)
    least, greatest = min(values), max(values)
    room = 0.06 * (greatest - least) or 0.5 * greatest or 1.0
    return Axis(least - room, greatest + room, title)


def _table(rows: Sequence[TuneRow], evidence: str) -> str:
    head = ["", "values", "verdict", f"time ({escape(evidence)})", "from", "up to", "ratio to default", ""]
    lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    for row in rows:
        cells = [
            str(row.rank or ""),
            escape(_values(row)),
            escape(row.verdict),
            _us(row.time_us.value),
            _us(row.interval_us.low),
            _us(row.interval_us.high),
            escape(_ratio(row.ratio, evidence)),
            escape(_remark(row)),
        ]
        kind = "best" if row.rank == 1 else "" if row.rank else "refused"
        lines.append(f'<tr class="{kind}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return "\n".join(lines)


def _remark(row: TuneRow) -> str:
    if row.rank is None:
        return row.reason
    words = [word for word, holds in (("best", row.rank == 1), ("default", row.default), ("tie", row.tie)) if holds]
    return ", ".join(words)


def _us(value: float | None) -> str:
    return "" if value is None else f"{value:.4g} us"


def _ratio(ratio: Interval, evidence: str) -> str:
    if ratio.value is None:
        return ""
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return f"{ratio.value:.3g}x"
    if evidence == "modelled":
        return f"{ratio.low:.3g}x to {ratio.high:.3g}x"
    return f"{ratio.value:.3g}x [{ratio.low:.3g}, {ratio.high:.3g}]"


def _values(row: TuneRow) -> str:
    return " ".join(f"{name}={value}" for name, value in row.values.items())
