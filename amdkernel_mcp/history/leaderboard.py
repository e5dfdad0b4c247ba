"""The fastest correct kernels of all users: for each problem as it was judged, target, kind of evidence and case."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, select

from amdkernel_mcp.database.tables import attempts
from amdkernel_mcp.history.attempt import ROW, read_record
from amdkernel_mcp.history.best import TIMED
from amdkernel_mcp.results.quantity import Interval

_SHOWN = (
    *(attempts.c.id, attempts.c.created, attempts.c.by, attempts.c.problem, attempts.c.problem_hash),
    *(attempts.c.target, attempts.c.evidence, attempts.c.timed_case, attempts.c.time_us, attempts.c.verdict),
    *(attempts.c.file_name, attempts.c.source),
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
    source: str


@dataclass(frozen=True)
class SameText:
    """An attempt on a kernel text. `source`: its sha256."""

    id: str
    by: str
    problem: str | None
    problem_hash: str | None
    verb: str
    verdict: str
    source: str
    target: str | None


@dataclass(frozen=True)
class BestOfUser:
    """The fastest of one user. `low_us`, `high_us`: around its time; None where the record has no such interval.

    `baseline`: the sha256 of what it was timed against; None without. `baseline_attempt`, `profile`: the user's attempt
    on the problem with that text, and a profile of this one.
    """

    it: TimedAttempt
    tried: int
    speedup: Interval
    low_us: float | None
    high_us: float | None
    baseline: str | None = None
    baseline_attempt: str | None = None
    profile: str | None = None

    @property
    def is_decided(self) -> bool:
        """False where it was compared with a baseline and the result is inconclusive."""
        return self.it.verdict != "inconclusive" or self.speedup.value is None


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
    found = [_best(row) for row in rows]
    texts = {each.it.source for each in found} | {each.baseline for each in found if each.baseline}
    known = same_texts(connection, texts) if found else []
    return [_with_attempts(each, known) for each in found]


def same_texts(
    connection: Connection, sources: Collection[str], *, by: str | None = None, problem: str | None = None
) -> Sequence[SameText]:
    """The attempts on kernel texts of these sha256, newest first, without the rows of sweeps."""
    columns = [attempts.c[name] for name in SameText.__dataclass_fields__]
    wanted = select(*columns).where(attempts.c.source.in_(sources), attempts.c.verb != ROW)
    for column, value in ((attempts.c.by, by), (attempts.c.problem, problem)):
        if value is not None:
            wanted = wanted.where(column == value)
    return [SameText(**row._mapping) for row in connection.execute(wanted.order_by(attempts.c.number.desc()))]


def profile_among(known: Sequence[SameText], source: str, problem_hash: str | None, target: str | None) -> str | None:
    """The newest profile of a text on the problem as it was judged, rather on this target."""
    fit = [
        each
        for each in known
        if (each.verb, each.verdict, each.source, each.problem_hash) == ("profile", "profiled", source, problem_hash)
    ]
    return next((each.id for each in sorted(fit, key=lambda one: one.target != target)), None)


def baseline_among(known: Sequence[SameText], source: str | None, but: str) -> str | None:
    """The newest attempt on a baseline's text, rather one that timed it; never the attempt `but` itself."""
    fit = [each for each in known if each.source == source and each.id != but]
    return next((each.id for each in sorted(fit, key=lambda one: one.verb != "benchmark")), None)


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
    record = read_record(row.record)
    answer = record.answer
    span = answer.get("modelled_us") or {}
    speedup = Interval.model_validate(answer.get("speedup") or {})
    return BestOfUser(_shown(row), row.tried, speedup, span.get("low"), span.get("high"), record.baseline)


def _with_attempts(best: BestOfUser, known: Sequence[SameText]) -> BestOfUser:
    it = best.it
    theirs = [each for each in known if (each.by, each.problem) == (it.by, it.problem)]
    return replace(
        best,
        baseline_attempt=baseline_among(theirs, best.baseline, it.id) if best.baseline else None,
        profile=profile_among(theirs, it.source, it.problem_hash, it.target),
    )
