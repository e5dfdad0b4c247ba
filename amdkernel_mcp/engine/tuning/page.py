"""The result of a sweep as one web page with a plot; a browser fetches nothing for it.

The plot is Plotly's (MIT), whose script of 5 MB is part of the page. It is imported only here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.tuning import TuneResult, TuneRow

if TYPE_CHECKING:
    import plotly.graph_objects as graph

MOST_PLOTTED = 40
_ROW_PX, _AXES_PX = 26, 84
_LOGARITHMIC = 8.0
"""From this ratio between the longest and the shortest time, the axis is logarithmic."""


def page_of(result: TuneResult, *, kernel: str, problem: str) -> str:
    """The page. `kernel` and `problem`: their names, for the title."""
    from plotly.offline import get_plotlyjs

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
        "FIGURE": _in_script(str(_figure(plotted, result.evidence).to_json())) if plotted else "null",
        "PLOTLY": get_plotlyjs() if plotted else "",
    }
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], template)


def _in_script(json: str) -> str:
    return json.replace("<", "\\u003c")


def _facts(result: TuneResult) -> str:
    tried = f"{len(result.rows)} of {result.combinations} combinations"
    facts = [result.target or "", tried, f"times: {result.evidence}"]
    if result.seed is not None:
        facts.append(f"search with seed {result.seed}")
    return " · ".join(escape(fact) for fact in facts if fact)


def _figure(rows: Sequence[TuneRow], evidence: str) -> graph.Figure:
    import plotly.graph_objects as graph

    figure = graph.Figure()
    for name, group in (
        ("best", [row for row in rows if row.rank == 1]),
        ("tie", [row for row in rows if row.tie and not row.default]),
        ("default", [row for row in rows if row.default and row.rank != 1]),
        ("other", [row for row in rows if row.rank != 1 and not row.tie and not row.default]),
    ):
        if group:
            figure.add_trace(_trace(name, group, evidence))
    times = [row.time_us.value or 0.0 for row in rows]
    highs = [row.interval_us.high or 0.0 for row in rows]
    wide = max(*times, *highs) > _LOGARITHMIC * max(min(times), 1e-9)
    figure.update_layout(
        height=_AXES_PX + _ROW_PX * len(rows),
        margin={"l": 8, "r": 12, "t": 8, "b": 44},
        showlegend=False,  # the page has one, which takes no room from the plot
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        xaxis={"title": f"time in us, {evidence}", "fixedrange": True} | (_logarithmic(times, highs) if wide else {}),
        yaxis={
            "categoryorder": "array",
            "categoryarray": [_values(row) for row in reversed(rows)],
            "automargin": True,
            "fixedrange": True,
        },
    )
    return figure


def _logarithmic(times: Sequence[float], highs: Sequence[float]) -> dict[str, object]:
    """An axis with whole labels at 1, 2 and 5 times each power of ten; Plotly's own leave out the zeros."""
    positive = [us for us in (*times, *highs) if us > 0]
    powers = range(floor(log10(min(positive))), ceil(log10(max(positive))) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return {"type": "log", "tickmode": "array", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _trace(name: str, rows: Sequence[TuneRow], evidence: str) -> graph.Scatter:
    import plotly.graph_objects as graph

    times = [row.time_us.value or 0.0 for row in rows]
    lows, highs = [row.interval_us.low for row in rows], [row.interval_us.high for row in rows]
    return graph.Scatter(
        name=name,
        x=times,
        y=[_values(row) for row in rows],
        mode="markers",
        marker={"size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [(high or time) - time for time, high in zip(times, highs, strict=True)],
            "arrayminus": [time - (low or time) for time, low in zip(times, lows, strict=True)],
            "thickness": 1.5,
            "width": 3,
        },
        text=[_ratio(row.ratio, evidence) for row in rows],
        hovertemplate="%{y}<br>%{x:.4g} us<br>%{text}<extra></extra>",
    )


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
