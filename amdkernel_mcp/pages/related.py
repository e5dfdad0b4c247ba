"""What belongs to an attempt: the profile of its source, its baseline's attempt, the command for a profile."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.history.leaderboard import baseline_among, profile_among
from amdkernel_mcp.pages.findings import sort

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempts import Attempts


@dataclass(frozen=True)
class Related:
    """Ids of attempts of its owner. `baseline`: None where no attempt has that text. `command`: makes a profile.
    `finding`: the first of the profile; None where it has nothing to cure."""

    profile: str | None
    baseline: str | None
    command: str
    finding: str | None = None


def related(attempts: Attempts, attempt: Mapping[str, Any]) -> Related | None:
    """None of an attempt without a problem. Raises DatabaseError."""
    problem, source, baseline = attempt.get("problem") or {}, attempt.get("source"), attempt.get("baseline")
    if not (problem.get("name") and source):
        return None
    texts = [text for text in (source, baseline) if text]
    known = attempts.same_texts(texts, by=attempt["by"], problem=problem["name"])
    is_profile = (attempt.get("verb"), attempt.get("verdict")) == ("profile", "profiled")
    profile = attempt["id"] if is_profile else profile_among(known, source, problem.get("hash"), attempt.get("target"))
    return Related(
        profile,
        baseline_among(known, baseline, attempt["id"]) if baseline else None,
        command(problem["name"], attempt["file_name"], attempt.get("target")),
        _first_finding(attempts.show(profile, by=attempt["by"]).attempt) if profile else None,
    )


def _first_finding(profile: Mapping[str, Any]) -> str | None:
    found = sort((profile.get("answer") or {}).get("diagnosis") or ()).found
    return str(found[0].get("finding", "")) if found else None


def command(problem: str, file_name: str, target: str | None) -> str:
    """What makes a profile of a kernel, at a shell."""
    return shlex.join(["amdkernel", "profile", problem, file_name, *(["--target", target] if target else [])])
