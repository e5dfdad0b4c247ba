"""What `amdkernel jobs` and `amdkernel job` show."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.escape import visible
from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.cli.show.benchmark import show_benchmark
from amdkernel_mcp.cli.show.check import show_check
from amdkernel_mcp.cli.show.compile import show_compile
from amdkernel_mcp.cli.show.profile import show_profile
from amdkernel_mcp.cli.show.top import duration
from amdkernel_mcp.cli.show.tuning import show_tuning
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.host_programs import ProgramCheckResult
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.jobs import JobList, JobResult
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.tuning import TuneResult

_KERNEL = KernelSource("", "kernel.hip")  # the server has its text, and this machine may not

_SHOWN: Mapping[type[JobAnswer], Callable[[Console, Any, KernelSource], None]] = {
    CompileResult: show_compile,
    CheckResult: show_check,
    ProgramCheckResult: show_check,
    BenchmarkResult: show_benchmark,
    ProfileResult: partial(show_profile, all_in="--json has all"),
    TuneResult: show_tuning,
}


def show_jobs(console: Console, result: JobList) -> None:
    """One line for each job."""
    if not result.jobs:
        console.print(Text("no jobs", "dim"))
        return
    table = parts.table("job", "verb", "problem", "target", "age", "status", "")
    for each in result.jobs:
        place = f"place {each.queue_place}" if each.queue_place else ""
        now = each.progress if each.status == "running" else place  # the last step of one that ended says nothing
        state = (each.state or each.status).replace("waits_for_gpu", "waits for a GPU")  # an older server has no state
        status = each.verdict if each.status == "done" and each.verdict else state
        about = (each.verb, visible(each.problem or ""), visible(each.target or ""), duration(each.age_s))
        table.add_row(Text(each.job_id, "cyan"), *about, status, Text(now or "", "dim"))
    console.print(table)


def show_job(console: Console, result: JobResult) -> None:
    """The report of the job's verb, or what became of the job."""
    answer = next(iter(result.answers().values()), None)
    if answer is None:
        whose = f", a job of {visible(result.owner.removeprefix('user:'))}," if result.owner else ""
        waits = result.state == "waits_for_gpu"
        console.print(Text(f"{result.job_id}{whose} {'waits for a GPU' if waits else f'is {result.status}'}"))
    elif show := _SHOWN.get(type(answer)):
        show(console, answer, _KERNEL)
    else:
        console.print(Text(f"{result.job_id} is done; --json has its answer"))
