"""What get_job returns."""

from collections.abc import Callable
from typing import Self

from pydantic import Field

from amdkernel_mcp.results.job_answer import JobAnswer, JobState, JobStatus
from amdkernel_mcp.results.quantity import Result

EXIT_CODE_KEY = "amdkernel/exit_code"
"""In `_meta` of an error of a tool: what the command line exits with."""


class JobResult(Result):
    """A job. `engine/verbs/table.py` adds the keys of answers; one is set once the caller's own job is `done`."""

    job_id: str
    owner: str | None = Field(
        default=None, description="Set where an admin asks for the job of another user: then it has no answer"
    )
    status: JobStatus
    state: JobState | None = Field(default=None, description="`status`, or `waits_for_gpu` while others hold its GPU")
    created: str | None = Field(default=None, description="UTC")
    next: str | None = None
    progress: str | None = None
    queue_place: int | None = None
    expected_wait_s: float | None = None
    error: str | None = None
    error_code: int | None = Field(
        default=None, description="Of the error, as the command line exits: 2 the input, 3 the infrastructure"
    )

    def answers(self) -> dict[str, JobAnswer]:
        """The answer by its key, of whichever verb it is; empty where there is none."""
        return {key: found for key, found in self if isinstance(found, JobAnswer)}

    def with_answer(self, change: Callable[[JobAnswer], JobAnswer]) -> Self:
        """The same with its answer changed."""
        return self.model_copy(update={key: change(answer) for key, answer in self.answers().items()})


class ListedJob(Result):
    """One job of the caller."""

    job_id: str
    verb: str
    status: JobStatus
    state: JobState | None = None
    progress: str | None = None
    queue_place: int | None = Field(default=None, description="Of a queued job: 1 is next")
    problem: str | None = None
    target: str | None = None
    verdict: str | None = None
    age_s: float = Field(default=0.0, description="Since it was accepted")


class JobList(Result):
    """The caller's jobs, newest first."""

    jobs: list[ListedJob]
