"""Puts a record, its lessons and the names of its files into the database: all of it or nothing.

Text and not expressions: SQLAlchemy compiles an `on conflict` again each time. Postgres gets one statement: each
costs the driver three round trips, and a transaction costs four more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Table, text

from amdkernel_mcp.database.open_database import reading, writing
from amdkernel_mcp.database.tables import artefacts, attempts, lessons

Row = Mapping[str, Any]

# How many times as fast as the same user's attempt before it that timed the same case of the same problem on the same
# target; with the same evidence.
_GAIN = """(
    select case when evidence = :evidence then nullif(time_us, 0) / nullif(cast(:time_us as double precision), 0) end
    from attempts
    where "by" = :by and problem = :problem and target = :target and time_us is not null and verb <> 'tune_row'
        and timed_case = :timed_case and problem_hash = :problem_hash
    order by number desc limit 1)"""


def store_attempt(engine: Engine, attempt: Row, *, files: Sequence[Row], new_lessons: Sequence[Row]) -> None:
    """Store the row of an attempt without its gain, rows of `artefacts` and rows of `lessons`. Raises DatabaseError."""
    files = sorted(files, key=lambda row: str(row["sha256"]))  # one order: no two wait in a circle
    if engine.dialect.name == "postgresql":
        with reading(engine) as connection:  # a statement is a transaction of its own
            connection.execute(_ALL, {**attempt, **_columns("artefacts", files), **_columns("lessons", new_lessons)})
        return
    with writing(engine) as connection:
        connection.execute(_ATTEMPT, attempt)
        if files:
            connection.execute(_ARTEFACTS, files)
        store_lessons(connection, new_lessons)


def store_lessons(connection: Connection, rows: Sequence[Row]) -> None:
    """Store lessons; one that the user has already on this problem, by its `digest`, is kept once."""
    if rows:
        connection.execute(_LESSONS, rows)


def _into(table: Table, *without: str) -> tuple[list[str], str]:
    names = [column.name for column in table.c if column.name not in ("number", *without)]
    return names, f"insert into {table.name} ({', '.join(map(_quoted, names))})"


def _quoted(name: str) -> str:
    return f'"{name}"'  # `by` is a word of SQL


def _rows(table: Table, end: str, *, many: bool) -> str:
    """An insert of one row, or of those in arrays `TABLE_COLUMN`."""
    names, into = _into(table)
    arrays = ", ".join(f"unnest(cast(:{table.name}_{name} as text[]))" for name in names)
    one = ", ".join(f":{name}" for name in names)
    return f"{into} {f'select {arrays}' if many else f'values ({one})'} {end}"


def _columns(table: str, rows: Sequence[Row]) -> dict[str, list[Any]]:
    names, _ = _into({"artefacts": artefacts, "lessons": lessons}[table])
    return {f"{table}_{name}": [row[name] for row in rows] for name in names}


_NAMES, _INTO_ATTEMPTS = _into(attempts, "gain")
_STORED = f"""{_INTO_ATTEMPTS[:-1]}, gain) values ({", ".join(f":{name}" for name in _NAMES)}, {_GAIN})"""
_NAMED = "on conflict (sha256) do update set last_named = excluded.last_named"
_KNOWN = "on conflict (digest) do nothing"
_ATTEMPT = text(_STORED)
_ARTEFACTS = text(_rows(artefacts, _NAMED, many=False))
_LESSONS = text(_rows(lessons, _KNOWN, many=False))
_ALL = text(
    f"with stored as ({_STORED}), named as ({_rows(artefacts, _NAMED, many=True)}) {_rows(lessons, _KNOWN, many=True)}"
)
