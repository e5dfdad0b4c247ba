"""The keys of answers that may take longer than a caller waits."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Result

Isolation = Literal["docker", "none"]


JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]


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
    progress: str | None = Field(default=None, description="The current step")
    isolation: Isolation | None = Field(default=None, description="`none`: the code ran without a container")
    target: str | None = None
    not_cached: list[str] = Field(default=[], description="What could not be kept for the next call, and why")
    artefacts: list[Artefact] = []
    left_out: list[str] = Field(default=[], description="What did not fit; the artefact `whole answer` contains it")
