"""Attempts as the page shows them: in groups by problem and user, each with its parent, and the best of the team."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.errors import AmdkernelError, InputError
from amdkernel_mcp.pages.leaderboard import current

if TYPE_CHECKING:
    from amdkernel_mcp.pages.asked import Asked
    from amdkernel_mcp.pages.leaderboard import Boards
    from amdkernel_mcp.pages.sign_in import Viewer
    from amdkernel_mcp.pages.status import Running
    from amdkernel_mcp.results.history import ListedAttempt

SHOWN = 60
VERDICTS = (
    *(
        "correct",
        "incorrect",
        "unverified",
        "faster",
        "slower",
        "inconclusive",
        "compiled",
        "compile_error",
        "profiled",
    ),
    *("not_emulated", "invalid"),
)
"""What the filter offers; an address may name any."""
_WIDTH, _HEIGHT, _MARGIN = 120, 24, 3


@dataclass(frozen=True)
class Row:
    """An attempt. `joined`: the line below it is its parent."""

    it: ListedAttempt
    joined: bool


@dataclass(frozen=True)
class Group:
    """The attempts of one user on one problem, newest first. `points`: their times as a polyline, oldest first; empty
    without."""

    problem: str | None
    rows: Sequence[Row]
    points: str = ""
    first: float | None = None
    last: float | None = None
    end: tuple[float, float] = (0, 0)
    evidence: str = "not_measured"
    by: str = ""


def attempts_of(running: Running, viewer: Viewer, asked: Asked, boards: Boards) -> dict[str, Any]:
    """What the templates need. A history that cannot be read is a notice, without a path of this server.

    Raises InputError for `before` that names none of the attempts that this viewer may open.
    """
    empty: dict[str, Any] = {
        "groups": [],
        "boards": [],
        "linked": frozenset(),
        "older": None,
        "asked": asked,
        "viewer": viewer,
        "verdicts": VERDICTS,
    }
    attempts = running.engine.attempts
    filters = {"verdict": asked.verdict, "target": asked.target, "whose": asked.owner}
    try:
        listed = attempts.list(by=viewer.by, before=asked.before, limit=SHOWN, problem=asked.problem, **filters)
        seen = boards.seen_by(running, viewer)
    except InputError:
        raise
    except AmdkernelError:
        return empty | {"problem_reading": "The history cannot be read at the moment."}
    older = asked.link(listed.next) if listed.next else None
    rows = group(listed.attempts)
    found = {"boards": current(seen), "linked": {each.problem for each in seen}}
    return empty | found | {"groups": rows, "older": older, "problem_reading": None}


def group(listed: Sequence[ListedAttempt]) -> list[Group]:
    """The groups, each of a problem and a user, the one with the newest attempt first."""
    of: dict[tuple[str | None, str], list[ListedAttempt]] = {}
    for each in listed:
        of.setdefault((each.problem, each.by), []).append(each)
    return [replace(_with_times(problem, rows), by=by) for (problem, by), rows in of.items()]


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
