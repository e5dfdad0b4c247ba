"""The keys of answers that may take longer than a caller waits."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Result

Isolation = Literal["docker", "none"]


JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
JobState = Literal["queued", "waits_for_gpu", "running", "done", "failed", "cancelled"]
"""What a person wants to know: `waits_for_gpu` has begun, so its status is `running`, and others hold its GPU now."""


class Artefact(Result):
    """A file too long for an answer: where it is on the server's disk, and what it holds."""

    name: str
    path: str
    sha256: str
    bytes: int


class JobAnswer(Result):
    """Base of answers that may take longer than a caller waits."""

    status: JobStatus = Field(default="done", description="`running`: call get_job with job_id")
    job_id: str | None = None
    next: str | None = Field(default=None, description="The call that brings the rest")
    progress: str | None = Field(default=None, description="The current step")
    queue_place: int | None = Field(default=None, description="Of a queued job: 1 is next")
    expected_wait_s: float | None = Field(default=None, description="Of a queued job")
    isolation: Isolation | None = Field(default=None, description="`none`: the code ran without a container")
    target: str | None = None
    attempt: str | None = Field(default=None, description="The record of this call; `amdkernel replay` repeats it")
    not_recorded: str | None = Field(default=None, description="Why there is no record of this call")
    not_cached: list[str] = Field(default=[], description="What could not be kept for the next call, and why")
    artefacts: list[Artefact] = []
    left_out: list[str] = Field(default=[], description="What did not fit; the artefact `whole answer` contains it")
