"""Lessons: what a user noted about an attempt, and what its findings say. Kept for each user, searched by words.

Lessons are text of others: whoever shows them quotes them (`quoting.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, func, select

from amdkernel_mcp.database.storing import store_lessons
from amdkernel_mcp.database.tables import attempts, lessons
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.attempt import now
from amdkernel_mcp.history.lines import column_text

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt

MOST_CHARS = 500
MOST_NOTES = 20
"""Of one attempt."""
MOST_SEARCHED = 2000
"""Of one user's lessons, the newest ones."""
_MOST_FINDINGS = 3
_WORTH_A_LESSON = frozenset({"faster", "slower"})

Kind = Literal["note", "finding"]


@dataclass(frozen=True)
class Lesson:
    """One lesson. `note`: the user's own words; `finding`: what we found."""

    attempt: str
    by: str
    problem: str | None
    created: str
    kind: Kind
    text: str


def lessons_of(attempt: Attempt) -> list[Lesson]:
    """What the answer of an attempt teaches: its first findings, or how a benchmark ended."""
    problem = attempt.problem.name if attempt.problem else None
    found = [_sentence(each) for each in attempt.answer.get("findings") or []]
    if attempt.verdict in _WORTH_A_LESSON and attempt.verb != "tune_row":  # the sweep has it
        found.append(f"{attempt.verdict}: {attempt.answer.get('reason', '')}")
    return [
        Lesson(attempt.id, attempt.by, problem, attempt.created, "finding", column_text(text)[:MOST_CHARS])
        for text in found[:_MOST_FINDINGS]
    ]


def note(connection: Connection, attempt: Attempt, text: str) -> Lesson:
    """Store a note of the attempt's user. Raises HistoryError for one that is empty, too long or one too many."""
    text = column_text(" ".join(text.encode(errors="replace").decode().split()))
    if not 0 < len(text) <= MOST_CHARS:
        raise HistoryError(f"a lesson has 1 to {MOST_CHARS} characters, and this one has {len(text)}")
    of_attempt = (lessons.c.attempt == attempt.id, lessons.c.kind == "note")
    if connection.execute(select(func.count()).where(*of_attempt)).scalar_one() >= MOST_NOTES:
        raise HistoryError(f"attempt {attempt.id} has {MOST_NOTES} lessons already", hint="note it on another attempt")
    problem = attempt.problem.name if attempt.problem else None
    made = Lesson(attempt.id, attempt.by, problem, now(), "note", text)
    store_lessons(connection, rows_of([made]))
    return made


def rows_of(new: Sequence[Lesson]) -> list[dict[str, Any]]:
    """The rows of lessons in the database."""
    return [vars(each) | {"digest": _digest(each)} for each in new]


def lessons_about(connection: Connection, attempt: str) -> list[Lesson]:
    """The lessons of an attempt, oldest first."""
    wanted = select(*_COLUMNS).where(lessons.c.attempt == attempt).order_by(lessons.c.number)
    return [Lesson(**row._mapping) for row in connection.execute(wanted)]


def search(connection: Connection, query: str, *, by: str, limit: int) -> list[tuple[Lesson, str]]:
    """The lessons of one user that answer a query best, each with the verdict of its attempt."""
    wanted = (
        select(*_COLUMNS, attempts.c.verdict)
        .join(attempts, attempts.c.id == lessons.c.attempt)
        .where(lessons.c.by == by)
        .order_by(lessons.c.number.desc())
        .limit(MOST_SEARCHED)
    )
    found = [dict(row._mapping) for row in connection.execute(wanted)]
    verdicts = [each.pop("verdict") for each in found]
    known = [Lesson(**each) for each in found]
    ranked = _ranked(query, [f"{each.problem or ''} {each.text}" for each in known])
    return [(known[at], verdicts[at]) for at in ranked[:limit]]


def _ranked(query: str, texts: Sequence[str]) -> list[int]:
    """Places of the texts that share words with the query; rare words count more, then the newer text wins."""
    from amdkernel_mcp.search.index.tokens import tokens

    wanted = set(tokens(query))
    held = [wanted.intersection(tokens(text)) for text in texts]
    texts_with = Counter(token for each in held for token in each)
    weight = {token: math.log(1 + len(texts) / count) for token, count in texts_with.items()}
    scores = [sum(weight[token] for token in each) for each in held]
    return sorted((at for at, score in enumerate(scores) if score), key=lambda at: (-scores[at], at))


def _sentence(finding: dict[str, Any]) -> str:
    line = f" (line {finding['line']})" if finding.get("line") else ""
    return f"{finding.get('kind', '')}: {finding.get('message', '')}{line}"


def _digest(lesson: Lesson) -> str:
    owner = lesson.attempt if lesson.kind == "note" else ""
    return hashlib.sha256(json.dumps([lesson.by, lesson.problem, owner, lesson.text]).encode()).hexdigest()


_COLUMNS = tuple(column for column in lessons.c if column.name not in ("number", "digest"))
