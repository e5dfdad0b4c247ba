"""What `amdkernel tune` shows."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import rounded
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.tuning import TuneResult, TuneRow

MOST_ROWS = 40


def show_tuning(console: Console, result: TuneResult, kernel: KernelSource) -> None:
    """The sentence, the rows from the best to those that do not count, and the line to paste."""
    on = f"{kernel.file_name} on {result.target}" if result.target else kernel.file_name
    parts.headline(
        console,
        result.verdict or "not_measured",
        ratio_text(result.speedup, modelled=result.evidence == "modelled"),
        on,
    )
    if result.reason:
        console.print(Text(result.reason))
    parts.diagnostics(console, result.diagnostics, kernel)
    parts.findings(console, result.findings, kernel)
    if result.shapes:
        _show_shapes(console, result)
    elif result.rows:
        console.print(_table(result))
    if len(result.rows) > MOST_ROWS and not result.shapes:
        console.print(Text(f"… and {len(result.rows) - MOST_ROWS} more rows (--json has all)", "dim"))
    wrong = {_values(row): row for row in result.rows if row.rank is None}
    for name, row in list(wrong.items())[:3]:
        console.print(Text.assemble((f"{name}: ", "bold"), row.reason))
    if result.line and not result.shapes:
        console.print(Text.assemble(("in place of the `tune` lines:  ", "dim"), (result.line, "bold")))
    for note in result.notes:
        console.print(Text(note, "yellow"))
    parts.footer(console, result)


def _show_shapes(console: Console, result: TuneResult) -> None:
    """The best row of each shape, then the rule with what it costs on held-out shapes."""
    table = parts.table("shape", "best values", "verdict", "ratio to default", "the rule's choice", "")
    for shape in result.shapes:
        costs = "" if shape.by_rule_costs is None else f"{shape.by_rule_costs:.3g}x the best time"
        table.add_row(
            shape.shape,
            Text(_named(shape.best)),
            Text(shape.verdict, parts.verdict_style(shape.verdict)),
            ratio_text(shape.speedup, modelled=result.evidence == "modelled"),
            Text(costs if shape.by_rule == shape.best or not costs else f"{_named(shape.by_rule)}: {costs}"),
            Text("held out" if shape.held_out else "", "dim"),
        )
    console.print(table)
    for leaf in result.rule.leaves if result.rule else ():
        console.print(Text.assemble((f"{leaf.when}:  ", "dim"), (leaf.line, "bold")))
    if result.line:
        console.print(Text.assemble(("one row for all:  ", "dim"), result.line))


def _named(values: Mapping[str, str] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in (values or {}).items())


def ratio_text(ratio: Interval, *, modelled: bool) -> str:
    """A ratio with its interval; empty where there is none. A modelled one has no middle."""
    if ratio.value is None:
        return ""
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return f"{ratio.value:.3g}x"
    if modelled:
        return f"{ratio.low:.3g}x to {ratio.high:.3g}x"
    return f"{ratio.value:.3g}x  [{ratio.low:.3g}, {ratio.high:.3g}]"


def _table(result: TuneResult) -> Table:
    table = parts.table("", "values", "verdict", f"time, {result.evidence}", "ratio to default", "", numbers=(0,))
    for row in result.rows[:MOST_ROWS]:
        table.add_row(
            str(row.rank or ""),
            Text(_values(row)),
            Text(row.verdict, parts.verdict_style(row.verdict)),
            _time(row),
            ratio_text(row.ratio, modelled=result.evidence == "modelled"),
            Text(_remarks(row), "dim"),
        )
    return table


def _time(row: TuneRow) -> str:
    low, high = row.interval_us.low, row.interval_us.high
    if low is not None and high is not None:
        return f"{rounded(low)} to {rounded(high)} us"
    return parts.number(row.time_us.value, "us") if row.time_us.value is not None else ""


def _remarks(row: TuneRow) -> str:
    said = ["default"] if row.default else []
    if row.rank == 1:
        said.append("best")
    if row.tie:
        said.append("tie")
    elif row.compared and row.rank != 1:
        said.append(row.compared)
    return ", ".join(said)


def _values(row: TuneRow) -> str:
    return _named(row.values)
