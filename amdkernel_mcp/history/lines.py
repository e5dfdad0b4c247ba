"""The line of an attempt in a list: what was tried, what it brought, what changed since its parent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.history.attempt import read_record

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt

REASON_CHARS = 500
COMPARED_BYTES = 1 << 18
"""Larger kernel files are not compared while an attempt is recorded."""


@dataclass(frozen=True)
class ListedAttempt:
    """One line of a list. `speedup`, `time_us` (microseconds): null where there is none; `evidence` is theirs.

    `timed_case`, `problem_hash`: what the time is the time of."""

    id: str
    created: str
    by: str
    verb: str
    parent: str | None
    problem: str | None
    file_name: str
    source: str
    target: str | None
    verdict: str
    reason: str
    speedup: float | None
    time_us: float | None
    evidence: str
    changed: str | None
    gain: float | None
    note: str | None
    timed_case: str | None
    problem_hash: str | None
    speedup_low: float | None = None
    speedup_high: float | None = None


def columns_of(attempt: Attempt) -> dict[str, Any]:
    """What the table repeats of a record."""
    answer = attempt.answer
    time_us, evidence = _time(answer)
    return {
        "id": attempt.id,
        "created": attempt.created,
        "by": attempt.by,
        "verb": attempt.verb,
        "parent": attempt.parent,
        "problem": attempt.problem.name if attempt.problem else None,
        "file_name": column_text(attempt.file_name),
        "source": attempt.source,
        "target": attempt.target,
        "verdict": attempt.verdict,
        "reason": begun(column_text(str(answer.get("reason", ""))), REASON_CHARS),
        "speedup": (answer.get("speedup") or {}).get("value"),
        "time_us": time_us,
        "evidence": evidence,
        "timed_case": None if time_us is None else column_text(str(answer.get("case") or "")),
        "problem_hash": attempt.problem.hash if attempt.problem else None,
    }


def speedup_ends(record: bytes) -> tuple[float | None, float | None]:
    """Both ends of the speed-up's interval in the bytes of a record."""
    found = read_record(record).answer.get("speedup") or {}
    return found.get("low"), found.get("high")


def column_text(text: str) -> str:
    """A text without the NUL that Postgres refuses."""
    return text.replace("\0", "\ufffd")


def begun(text: str, most: int) -> str:
    """At most this many characters, cut behind a word: half a number would be another one."""
    if len(text) <= most:
        return text
    whole = text[: most - 1].rpartition(" ")[0] or text[: most - 2]
    return f"{whole.rstrip(' ,;:')} …"


def changed_lines(before: bytes, after: bytes) -> str:
    """How many lines came and went, as `+3 -1`. Moved lines do not count: a diff shows them."""
    old, new = Counter(before.splitlines()), Counter(after.splitlines())
    return f"+{(new - old).total()} -{(old - new).total()}"


def _time(answer: Mapping[str, Any]) -> tuple[float | None, str]:
    quantity = answer.get("time_us") or {}
    return quantity.get("value"), quantity.get("evidence") or answer.get("evidence") or "not_measured"
