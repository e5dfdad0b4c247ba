"""What get_job returns."""

from amdkernel_mcp.results.job_answer import JobStatus
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.quantity import Result


class JobResult(Result):
    """A job, and its answer once it has one: exactly one of the four is set when status is `done`."""

    job_id: str
    status: JobStatus
    progress: str | None = None
    error: str | None = None
    compile: CompileResult | None = None
    check: CheckResult | None = None
    benchmark: BenchmarkResult | None = None
    profile: ProfileResult | None = None
