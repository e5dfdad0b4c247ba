"""What get_job returns."""

from pydantic import Field, SerializeAsAny

from amdkernel_mcp.results.job_answer import JobStatus
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.quantity import Result
from amdkernel_mcp.results.tuning import TuneResult

EXIT_CODE_KEY = "amdkernel/exit_code"
"""In `_meta` of an error of a tool: what the command line exits with."""


class JobResult(Result):
    """A job, and its answer once it has one: exactly one of the five is set when the caller's own job is `done`."""

    job_id: str
    owner: str | None = Field(
        default=None, description="Set where an admin asks for the job of another user: then it has no answer"
    )
    status: JobStatus
    next: str | None = None
    progress: str | None = None
    queue_place: int | None = None
    expected_wait_s: float | None = None
    error: str | None = None
    error_code: int | None = Field(
        default=None, description="Of the error, as the command line exits: 2 the input, 3 the infrastructure"
    )
    compile: CompileResult | None = None
    check: SerializeAsAny[CheckResult] | None = None  # of a kernel or of a program
    benchmark: BenchmarkResult | None = None
    profile: ProfileResult | None = None
    tune: TuneResult | None = None


class ListedJob(Result):
    """One job of the caller."""

    job_id: str
    verb: str
    status: JobStatus
    progress: str | None = None
    queue_place: int | None = Field(default=None, description="Of a queued job: 1 is next")


class JobList(Result):
    """The caller's jobs, newest first."""

    jobs: list[ListedJob]
