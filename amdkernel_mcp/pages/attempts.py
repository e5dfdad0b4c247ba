"""A user's attempts as the page shows them: in groups by problem, each with its parent, and the best times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.errors import AmdkernelError, InputError

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.results.history import ListedAttempt

SHOWN = 60
_WIDTH, _HEIGHT, _MARGIN = 120, 24, 3


@dataclass(frozen=True)
class Row:
    """An attempt. `joined`: the line below it is its parent."""

    it: ListedAttempt
    joined: bool


@dataclass(frozen=True)
class Group:
    """The attempts on one problem, newest first. `points`: their times as a polyline, oldest first; empty without."""

    problem: str | None
    rows: Sequence[Row]
    points: str = ""
    first: float | None = None
    last: float | None = None
    end: tuple[float, float] = (0, 0)
    evidence: str = "not_measured"


def attempts_of(engine: Engine, user: str, before: str | None = None) -> dict[str, Any]:
    """What the templates need. A history that cannot be read is a notice, without a path of this server.

    Raises InputError for `before` that names none of this user's attempts.
    """
    try:
        listed = engine.attempts.list(by=user, before=before, limit=SHOWN)
        best = engine.attempts.best(by=user)
    except InputError:
        raise
    except AmdkernelError:
        return {"groups": [], "best": [], "older": None, "problem_reading": "The history cannot be read at the moment."}
    return {"groups": group(listed.attempts), "best": best, "older": listed.next, "problem_reading": None}


def group(listed: Sequence[ListedAttempt]) -> list[Group]:
    """The groups, the one with the newest attempt first."""
    of: dict[str | None, list[ListedAttempt]] = {}
    for each in listed:
        of.setdefault(each.problem, []).append(each)
    return [_with_times(problem, rows) for problem, rows in of.items()]


def _with_times(problem: str | None, attempts: Sequence[ListedAttempt]) -> Group:
    below = [*(each.id for each in attempts[1:]), None]
    rows = [
        Row(each, each.parent is not None and each.parent == next_) for each, next_ in zip(attempts, below, strict=True)
    ]
    timed = [each for each in reversed(attempts) if each.time_us and each.time_us > 0]
    comparable = [each.time_us or 0.0 for each in timed if _way(each) == _way(timed[-1])]
    if len(comparable) < 2:
        return Group(problem, rows)
    points = _polyline(comparable)
    text = " ".join(f"{x:g},{y:g}" for x, y in points)
    return Group(problem, rows, text, comparable[0], comparable[-1], points[-1], timed[-1].evidence)


def _way(attempt: ListedAttempt) -> tuple[str | None, ...]:
    """Times of another target, another kind of evidence, another case or problem are on another scale."""
    return attempt.target, attempt.evidence, attempt.timed_case, attempt.problem_hash


def _polyline(times: Sequence[float]) -> list[tuple[float, float]]:
    """Slower is higher, so that progress falls. Equal factors are equal steps."""
    times = [math.log(time) for time in times]
    low, high = min(times), max(times)
    span = high - low or 1.0
    inner = _HEIGHT - 2 * _MARGIN
    step = (_WIDTH - 2 * _MARGIN) / (len(times) - 1)
    return [
        (round(_MARGIN + step * at, 1), round(_MARGIN + inner * (1 - (time - low) / span), 1))
        for at, time in enumerate(times)
    ]
