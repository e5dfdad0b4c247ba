"""The answer of a sweep: the table, the best row, and a sentence that claims no more than the comparison does. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from amdkernel_mcp.engine.tuning.ranking import RankedRow
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions
from amdkernel_mcp.languages.language import Language
from amdkernel_mcp.languages.table import HIP
from amdkernel_mcp.results.kernels import BenchmarkVerdict
from amdkernel_mcp.results.quantity import Evidence, Interval
from amdkernel_mcp.results.tuning import TuneResult, TuneRow

_NAMED_TIES = 2


def answer_of(
    rows: Sequence[RankedRow],
    *,
    space: Space,
    options: TuneOptions,
    strategy: str,
    emulated: bool,
    language: Language = HIP,
) -> TuneResult:
    """The answer about ranked rows. `emulated`: their times are modelled."""
    evidence: Evidence = "modelled" if emulated else "measured"
    default = next(row for row in rows if row.outcome.values == space.default)
    table = [_row(row, space, compared=default.rank is not None) for row in rows]
    how: Literal["sweep", "search"] = "search" if strategy == "search" else "sweep"
    shared = TuneResult(
        rows=table, combinations=space.size, strategy=how, seed=options.seed if how == "search" else None
    )
    best = rows[0]
    if best.rank is None:
        return shared.model_copy(update=_nothing_counts(rows, default))
    verdict, said = _compared(best, default, [row for row in rows if row.tie])
    if left := space.size - len(rows):
        said += f"; {left:,} of {space.size:,} combinations were not tried"
    update: dict[str, object] = {
        "verdict": verdict,
        "reason": f"{'modelled: ' if emulated else ''}{said}",
        "evidence": evidence,
        "best": dict(best.outcome.values),
        "line": language.fixed(best.outcome.values),
        "speedup": _ratio(best, compared=default.rank is not None),
    }
    return shared.model_copy(update=update)


def _row(row: RankedRow, space: Space, *, compared: bool) -> TuneRow:
    """`compared`: the default values have a time."""
    outcome, answer = row.outcome, row.answer
    default = outcome.values == space.default
    ratio = _ratio(row, compared=compared)
    verdict = answer.verdict if ratio.value is not None and not default else None
    interval = Interval()
    if row.time:
        interval = Interval(value=row.time.value, low=row.time.low, high=row.time.high)
    return TuneRow(
        values=dict(outcome.values),
        verdict=outcome.verdict,
        reason=outcome.reason if row.rank is None else answer.reason.removeprefix(f"{outcome.name}: "),
        rank=row.rank,
        tie=row.tie,
        time_us=answer.time_us,
        interval_us=interval,
        ratio=Interval(value=1, low=1, high=1) if default and row.rank is not None else ratio,
        compared=verdict if verdict in ("faster", "slower", "inconclusive") else None,
        default=default,
        cached=outcome.cached,
    )


def _ratio(row: RankedRow, *, compared: bool) -> Interval:
    return row.answer.speedup if compared else Interval()


def _compared(best: RankedRow, default: RankedRow, ties: Sequence[RankedRow]) -> tuple[BenchmarkVerdict, str]:
    name = best.outcome.name
    if default is best:
        verdict: BenchmarkVerdict = "inconclusive"
        said = f"no row is surely faster than the default values {name}"
    elif default.rank is None:
        verdict = "inconclusive"
        said = f"{name} is the best row; the default values {default.outcome.name} are {default.outcome.verdict}"
    elif best.answer.verdict == "faster":
        found = best.answer.speedup
        verdict = "faster"
        span = f"{found.low:.2f} to {found.high:.2f}"
        said = f"{name} is {span if best.time else f'{found.value:.2f}'} times as fast as the default values "
        said += default.outcome.name if best.time else f"{default.outcome.name} ({span})"
    else:
        verdict = "inconclusive"
        why = best.answer.reason.removeprefix(f"{name}: ")
        said = f"{name} ranks first, but no row is surely faster than the default values: {why}"
    others = [row for row in ties if row is not best]
    if others:
        names = ", ".join(row.outcome.name for row in others[:_NAMED_TIES])
        more = f" and {len(others) - _NAMED_TIES} more" if len(others) > _NAMED_TIES else ""
        said += f"; {'a tie' if len(others) == 1 else 'ties'} within the interval: {names}{more}"
    return verdict, said


def _nothing_counts(rows: Sequence[RankedRow], default: RankedRow) -> dict[str, object]:
    """No row is correct and has a time: the verdict of the default values stands for all."""
    return {
        "verdict": default.answer.verdict,
        "reason": f"none of {len(rows)} rows is correct; {default.answer.reason}",
        "findings": list(default.outcome.findings),
    }
