"""The records of a sweep: one for each row, a benchmark that can be replayed, and one for the sweep, their parent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from amdkernel_mcp.results.tuning import TuneResult

if TYPE_CHECKING:
    from amdkernel_mcp.engine.tuning.ranking import RankedRow
    from amdkernel_mcp.engine.tuning.tune import Tuned
    from amdkernel_mcp.history.recorder import Recorder, Tried


def record_sweep(recorder: Recorder, tried: Tried, tuned: Tuned) -> TuneResult:
    """The answer with the ids of its records. Rows come first, so that the sweep is the user's last attempt."""
    from amdkernel_mcp.history.attempt import new_id

    tried = replace(tried, id=new_id())
    if tuned.result.shapes:  # its rows are those of cases that the problem does not have: the sweep repeats them
        return recorder.record(tried, tuned.result)
    table = []
    for row, shown in zip(tuned.rows, tuned.result.rows, strict=True):
        kept = recorder.record(_row(tried, row, default=shown.default), row.answer)
        table.append(shown.model_copy(update={"attempt": kept.attempt}))
    return recorder.record(tried, tuned.result.model_copy(update={"rows": table}))


def _row(sweep: Tried, row: RankedRow, *, default: bool) -> Tried:
    """A row against the default values of the same file."""
    return replace(
        sweep,
        verb="tune_row",
        id=None,
        parent=sweep.id,
        baseline=None if default or row.answer.speedup.value is None else sweep.source,
        options={
            "values": dict(row.outcome.values),
            **({"case": sweep.options["case"]} if sweep.options.get("case") else {}),
        },
        ran=tuple,  # the sweep's is of the default values
    )
