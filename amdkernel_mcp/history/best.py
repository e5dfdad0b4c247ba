"""The fastest correct kernel of each problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from amdkernel_mcp.database.tables import attempts
from amdkernel_mcp.history.attempt import read_record
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.server import BestTime

# Of benchmarks. Such a kernel passed its check; every other verdict says that it did not, or that its time is not one.
TIMED = ("faster", "slower", "inconclusive", "not_measured")


def best_rows(connection: Connection, by: str, most: int) -> Sequence[Any]:
    """For each problem, target and kind of evidence the fastest timed attempt of one user, with the number of all.

    Of the case that was timed last, and of the problem as it is now: a smaller case is no faster kernel.
    """
    table = attempts.c
    own = (table.by == by, table.verb == "benchmark", table.time_us.is_not(None), table.verdict.in_(TIMED))
    group = (table.problem, table.target, table.evidence)
    same = (*group, table.timed_case, table.problem_hash)
    rank = func.row_number().over(partition_by=same, order_by=(table.time_us, table.number)).label("rank")
    tried = func.count().over(partition_by=same).label("tried")
    newest = func.max(table.number).over(partition_by=same).label("newest")
    newest_of_all = func.max(table.number).over(partition_by=group).label("newest_of_all")
    ranked = select(table.number, rank, tried, newest, newest_of_all).where(*own).subquery()
    chosen = (ranked.c.rank == 1, ranked.c.newest == ranked.c.newest_of_all)
    best = select(attempts, ranked.c.tried).join(ranked, ranked.c.number == table.number).where(*chosen)
    return connection.execute(best.order_by(table.problem, table.target, table.evidence).limit(most)).all()


def best_time(row: Any) -> BestTime:
    """The row with the interval of its record."""
    return BestTime(
        problem=row.problem or "",
        target=row.target or "",
        attempt=row.id,
        file_name=row.file_name,
        created=row.created,
        verdict=row.verdict,
        time_us=row.time_us,
        evidence=row.evidence,
        speedup=Interval.model_validate(read_record(row.record).answer.get("speedup") or {}),
        tried=row.tried,
    )
