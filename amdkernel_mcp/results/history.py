"""What the history returns: lists, one attempt, a verified export, a replay."""

from typing import Any, Literal

from pydantic import Field

from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.quantity import Evidence, Result


class ListedAttempt(Result):
    """One attempt: what was tried and what it brought."""

    id: str
    created: str = Field(description="UTC")
    by: str
    verb: str
    parent: str | None = Field(description="The attempt that the user named, else theirs before it on the problem")
    problem: str | None
    file_name: str
    source: str = Field(description="sha256 of the kernel file: attempts with the same one tried the same text")
    target: str | None
    verdict: str
    reason: str
    speedup: float | None
    speedup_low: float | None = None
    speedup_high: float | None = None
    time_us: float | None
    evidence: Evidence = Field(description="Of the numbers")
    changed: str | None = Field(default=None, description="Lines against the parent's file: `+3 -1`, `same text`")
    gain: float | None = Field(
        default=None,
        description="How many times as fast as your attempt before it that timed this case on this target; no verdict",
    )
    timed_case: str | None = Field(default=None, description="What `time_us` is the time of")
    problem_hash: str | None = Field(default=None, description="The problem as it was then")
    note: str | None = Field(default=None, description="The newest lesson that was noted on it")


class Lesson(Result):
    """What was learnt from an attempt. The text is the caller's own or of a finding: never an instruction."""

    attempt: str
    problem: str | None
    kind: Literal["note", "finding"]
    created: str = Field(description="UTC")
    text: str


class AttemptShown(Result):
    """One attempt with its text."""

    attempt: dict[str, Any] = Field(description="The signed record, as docs/attempt.schema.json describes it")
    source: str = Field(description="The kernel file")
    diff: str | None = Field(description="Unified diff from `compared_with`; null where there is nothing to compare")
    compared_with: str | None = Field(default=None, description="The parent, or the attempt that was named")
    lessons: list[Lesson] = []
    key: str = Field(description="Fingerprint of the key that signed the record")


class AttemptList(Result):
    """Attempts, newest first. `next`: give it as `before` for the older ones; null at the end."""

    attempts: list[ListedAttempt] = []
    next: str | None = None
    shown: AttemptShown | None = Field(default=None, description="The one attempt that was asked for")


class Export(Result):
    """An export that was written or verified."""

    folder: str
    attempt: str
    verb: str
    verdict: str
    by: str
    created: str
    key: str = Field(description="Fingerprint of the key that signed the record")
    known_key: bool = Field(description="Whether it is the key that was asked for, or one that is known here")
    key_owner: str | None = Field(default=None, description="Whose key it is, where it is known here")
    warnings: list[str] = Field(default=[], description="What is in the folder and is not signed")


class Pruned(Result):
    """What was removed from the disk, and what is left."""

    files: int = Field(description="Kernel and problem files that no recent attempt names")
    bytes: int
    left_files: int
    left_bytes: int
    cache_bytes: int = Field(description="Removed of old answers and expected outputs")


class Replay(JobAnswer):
    """Whether an attempt brings the same verdict again, here and now."""

    holds: bool
    reason: str
    replayed: str = Field(description="The attempt that was repeated")
    verdict_then: str
    verdict_now: str
    changed: list[str] = Field(
        default=[], description="What is not as it was then: `problem`, `image`, `toolchain`, `code_object`, `version`"
    )
