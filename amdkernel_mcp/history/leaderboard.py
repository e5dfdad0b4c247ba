"""The fastest correct kernels of all users: for each problem as it was judged, target, kind of evidence and case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from amdkernel_mcp.database.tables import attempts
from amdkernel_mcp.history.attempt import read_record
from amdkernel_mcp.history.best import TIMED
from amdkernel_mcp.results.quantity import Interval

_SHOWN = (
    *(attempts.c.id, attempts.c.created, attempts.c.by, attempts.c.problem, attempts.c.problem_hash),
    *(attempts.c.target, attempts.c.evidence, attempts.c.timed_case, attempts.c.time_us, attempts.c.verdict),
    attempts.c.file_name,
)


@dataclass(frozen=True)
class TimedAttempt:
    """A kernel that passed its check and was timed. `time_us`: microseconds."""

    id: str
    created: str
    by: str
    problem: str
    problem_hash: str | None
    target: str
    evidence: str
    timed_case: str | None
    time_us: float
    verdict: str
    file_name: str


@dataclass(frozen=True)
class BestOfUser:
    """The fastest of one user. `low_us`, `high_us`: around its time; None where the record has no such interval."""

    it: TimedAttempt
    tried: int
    speedup: Interval
    low_us: float | None
    high_us: float | None


def newest_number(connection: Connection) -> int:
    """Another number once an attempt was recorded."""
    return connection.execute(select(func.max(attempts.c.number))).scalar() or 0


def best_of_users(connection: Connection, most: int) -> Sequence[BestOfUser]:
    """For each problem as it was judged, target, kind of evidence, case and user the fastest, newest first."""
    table = attempts.c
    same = (table.problem, table.problem_hash, table.target, table.evidence, table.timed_case, table.by)
    rank = func.row_number().over(partition_by=same, order_by=(table.time_us, table.number)).label("rank")
    tried = func.count().over(partition_by=same).label("tried")
    ranked = select(table.number, rank, tried).where(*_timed()).subquery()
    best = select(*_SHOWN, table.record, ranked.c.tried).join(ranked, ranked.c.number == table.number)
    rows = connection.execute(best.where(ranked.c.rank == 1).order_by(table.number.desc()).limit(most))
    return [_best(row) for row in rows]


def timed_attempts(connection: Connection, problem: str, most: int) -> Sequence[TimedAttempt]:
    """The newest timed attempts of all users on a problem of this name, oldest first."""
    wanted = select(*_SHOWN).where(*_timed(), attempts.c.problem == problem).order_by(attempts.c.number.desc())
    return [_shown(row) for row in connection.execute(wanted.limit(most))][::-1]


def _timed() -> tuple[Any, ...]:
    table = attempts.c
    return table.verb == "benchmark", table.time_us.is_not(None), table.verdict.in_(TIMED), table.problem.is_not(None)


def _shown(row: Any) -> TimedAttempt:
    return TimedAttempt(**{column.name: getattr(row, column.name) for column in _SHOWN} | {"target": row.target or ""})


def _best(row: Any) -> BestOfUser:
    answer = read_record(row.record).answer
    span = answer.get("modelled_us") or {}
    speedup = Interval.model_validate(answer.get("speedup") or {})
    return BestOfUser(_shown(row), row.tried, speedup, span.get("low"), span.get("high"))
