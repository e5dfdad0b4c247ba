"""The history of a data folder: records go in, lists and single records come out.

data_dir/history.sqlite3   the records (or the database that the setting `database` names)
data_dir/artefacts/        sources and problems, by sha256
data_dir/signing_key.pem   the key that signs records
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, select, text

from amdkernel_mcp.database.open_database import reading, writing
from amdkernel_mcp.database.schema import open_tables
from amdkernel_mcp.database.storing import store_attempt
from amdkernel_mcp.database.tables import attempts
from amdkernel_mcp.database.tables import lessons as lesson_table
from amdkernel_mcp.errors import DatabaseError, HistoryError
from amdkernel_mcp.history import lessons as lesson_rows
from amdkernel_mcp.history import retention
from amdkernel_mcp.history.artefacts import Artefacts
from amdkernel_mcp.history.attempt import ALPHABET, ID_LENGTH, ROW, Attempt, canonical, files_of, read_record
from amdkernel_mcp.history.best import best_rows, best_time
from amdkernel_mcp.history.leaderboard import (
    BestOfUser,
    SameText,
    TimedAttempt,
    best_of_users,
    newest_number,
    same_texts,
    timed_attempts,
)
from amdkernel_mcp.history.lessons import Lesson
from amdkernel_mcp.history.lines import COMPARED_BYTES, ListedAttempt, changed_lines, columns_of, speedup_ends
from amdkernel_mcp.history.signing import SigningKey
from amdkernel_mcp.history.written_today import WrittenToday

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.results.server import BestTime

_SECRET = ("record", "signature", "public_key", "number")
_LISTED = tuple(column for column in attempts.c if column.name not in _SECRET)
_ANY_ID = re.compile(rf"[{ALPHABET}]{{1,{ID_LENGTH}}}")


@dataclass(frozen=True)
class StoredRecord:
    """A record as it was signed."""

    attempt: Attempt
    record: bytes
    signature: bytes
    public_key: bytes


@dataclass(frozen=True)
class Parent:
    """The attempt before another one, and the sha256 of its kernel file."""

    id: str
    source: str


class History:
    """All attempts of one data folder. Thread-safe. Methods raise DatabaseError."""

    def __init__(self, settings: Settings) -> None:
        self.artefacts = Artefacts(settings.data_dir / "artefacts")
        self._settings = settings
        try:
            self._key = SigningKey(settings.data_dir / "signing_key.pem")
        except OSError as error:
            raise DatabaseError(f"the history in {settings.data_dir} cannot be used: {error.strerror}") from None
        self._engine: Engine = open_tables(settings, "the history")
        self.written = WrittenToday(settings, self._engine, self.artefacts.size)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @property
    def public_pem(self) -> bytes:
        """The key that verifies what this server signs."""
        return self._key.public_pem

    def add(self, attempt: Attempt, *, parent_source: str | None = None) -> None:
        """Sign and store a record, with its lessons. `parent_source`: the sha256 of the parent's kernel file."""
        record = canonical(attempt)
        row = columns_of(attempt) | {
            "record": record,
            "signature": self._key.sign(record),
            "public_key": self._key.public_pem,
            "changed": parent_source and self._changed(parent_source, attempt.source),
        }
        files = [{"sha256": name, "last_named": attempt.created} for name in files_of(attempt)]
        lessons = lesson_rows.rows_of(lesson_rows.lessons_of(attempt))
        store_attempt(self._engine, row, files=files, new_lessons=lessons)
        sizes = {name: self.artefacts.size(name) for name in files_of(attempt)}
        self.written.add(attempt.by, len(record), sizes)

    def parent(self, by: str, problem: str | None, named: str | None = None) -> Parent | None:
        """The attempt `named`, else a user's last one on a problem, never the row of a sweep."""
        wanted = select(attempts.c.id, attempts.c.source)
        if named is not None:
            wanted = wanted.where(attempts.c.id == named)
        else:
            same = (attempts.c.by == by, attempts.c.problem == problem, attempts.c.verb != ROW)
            wanted = wanted.where(*same).order_by(attempts.c.number.desc()).limit(1)
        with reading(self._engine) as connection:
            found = connection.execute(wanted).first()
        return Parent(found.id, found.source) if found else None

    def list(
        self,
        *,
        by: str | None = None,
        problem: str | None = None,
        before: str | None = None,
        limit: int = 20,
        verdict: str | None = None,
        target: str | None = None,
        whose: str | None = None,
    ) -> Sequence[ListedAttempt]:
        """The last attempts, newest first; of one user, on one problem, with one verdict, older than `before`.

        by: whose attempts may be seen; whose: of those, one user's.

        The rows of a sweep are left out: its own line stands for them, and its record names them.
        """
        wanted = select(*_LISTED, _NOTE).where(attempts.c.verb != ROW).order_by(attempts.c.number.desc()).limit(limit)
        for column, value in (
            *((attempts.c.by, by), (attempts.c.by, whose), (attempts.c.problem, problem)),
            *((attempts.c.verdict, verdict), (attempts.c.target, target)),
        ):
            if value is not None:
                wanted = wanted.where(column == value)
        with reading(self._engine) as connection:
            if before is not None:
                wanted = wanted.where(attempts.c.number < _the_one(connection, before, by).number)
            listed = [ListedAttempt(**row._mapping) for row in connection.execute(wanted)]
            compared = [each.id for each in listed if each.speedup is not None]
            records = connection.execute(select(attempts.c.id, attempts.c.record).where(attempts.c.id.in_(compared)))
            ends = {row.id: speedup_ends(row.record) for row in records} if compared else {}
        spans = [ends.get(each.id, (None, None)) for each in listed]
        return [
            replace(each, speedup_low=low, speedup_high=high) for each, (low, high) in zip(listed, spans, strict=True)
        ]

    def best(self, by: str, most: int) -> Sequence[BestTime]:
        """The fastest timed attempts of one user: one for each problem, target and kind of evidence."""
        with reading(self._engine) as connection:
            return [best_time(row) for row in best_rows(connection, by, most)]

    def newest(self) -> int:
        """Another number once an attempt was recorded."""
        with reading(self._engine) as connection:
            return newest_number(connection)

    def best_of_users(self, most: int) -> Sequence[BestOfUser]:
        """See `leaderboard.best_of_users`."""
        with reading(self._engine) as connection:
            return best_of_users(connection, most)

    def timed(self, problem: str, most: int) -> Sequence[TimedAttempt]:
        """See `leaderboard.timed_attempts`."""
        with reading(self._engine) as connection:
            return timed_attempts(connection, problem, most)

    def same_texts(self, sources: Sequence[str], *, by: str, problem: str) -> Sequence[SameText]:
        """See `leaderboard.same_texts`."""
        with reading(self._engine) as connection:
            return same_texts(connection, sources, by=by, problem=problem)

    def find(self, name: str, *, by: str | None = None) -> StoredRecord:
        """The record of an attempt; the beginning of its id is enough. Raises HistoryError when none or many fit."""
        with reading(self._engine) as connection:
            row = _the_one(connection, name, by)
        return StoredRecord(read_record(row.record), row.record, row.signature, row.public_key)

    def note(self, name: str, text: str, *, by: str | None = None) -> Lesson:
        """Store what was learnt from an attempt. Raises HistoryError."""
        attempt = self.find(name, by=by).attempt
        with writing(self._engine) as connection:
            return lesson_rows.note(connection, attempt, text)

    def lessons(self, attempt: str) -> Sequence[Lesson]:
        """The lessons of the attempt with this id, oldest first."""
        with reading(self._engine) as connection:
            return lesson_rows.lessons_about(connection, attempt)

    def search_lessons(self, query: str, *, by: str, limit: int) -> Sequence[tuple[Lesson, str]]:
        """The lessons of one user that answer a query best, each with the verdict of its attempt."""
        with reading(self._engine) as connection:
            return lesson_rows.search(connection, query, by=by, limit=limit)

    def prune(self) -> retention.Pruned:
        """Remove the files that no recent attempt names, as the settings say."""
        with writing(self._engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("lock table artefacts in share row exclusive mode"))
            keep_bytes = self._settings.keep_mib << 20
            return retention.prune(
                connection, self.artefacts, keep_days=self._settings.keep_days, keep_bytes=keep_bytes
            )

    def prune_daily(self) -> bool:
        """Prune, unless that was done within a day. Returns whether it was done."""
        stamp = self._settings.data_dir / "artefacts" / ".pruned"
        with contextlib.suppress(FileNotFoundError):
            if time.time() - stamp.stat().st_mtime < retention.DAY_S:
                return False
        for folder in (self._settings.data_dir, stamp.parent):  # `parents` would ignore the mode
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stamp.touch(mode=0o600)
        self.prune()
        return True

    def _changed(self, before: str, after: str) -> str | None:
        """Which lines changed between two kernel files; null where one cannot be read."""
        if before == after:
            return "same text"
        try:
            texts = [self.artefacts.read(name, most=COMPARED_BYTES) for name in (before, after)]
        except HistoryError:
            return None
        return changed_lines(*texts)


def _the_one(connection: Connection, name: str, by: str | None) -> Any:
    """The row whose id begins with `name`."""
    end = name + "\x7f"  # after every letter of an id
    wanted = select(attempts).where(attempts.c.id >= name, attempts.c.id < end).limit(2)
    if by is not None:
        wanted = wanted.where(attempts.c.by == by)
    rows = connection.execute(wanted).all() if _ANY_ID.fullmatch(name) else []
    if not rows:
        raise HistoryError(
            f"there is no attempt {name[:100]!r}", hint="`amdkernel history` or list_attempts lists them"
        )
    if len(rows) > 1:
        raise HistoryError(f"{name!r} is the beginning of several attempts", hint="give more of its letters")
    return rows[0]


_NOTE = (
    select(lesson_table.c.text)
    .where(lesson_table.c.attempt == attempts.c.id, lesson_table.c.kind == "note")
    .order_by(lesson_table.c.number.desc())
    .limit(1)
    .scalar_subquery()
    .label("note")
)
