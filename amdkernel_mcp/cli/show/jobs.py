"""What `amdkernel jobs` and `amdkernel job` show."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.escape import visible
from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.cli.show.benchmark import show_benchmark
from amdkernel_mcp.cli.show.check import show_check
from amdkernel_mcp.cli.show.compile import show_compile
from amdkernel_mcp.cli.show.profile import show_profile
from amdkernel_mcp.cli.show.tuning import show_tuning
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.jobs import JobList, JobResult

_KERNEL = KernelSource("", "kernel.hip")  # the server has its text, and this machine may not


def show_jobs(console: Console, result: JobList) -> None:
    """One line for each job."""
    if not result.jobs:
        console.print(Text("no jobs", "dim"))
        return
    table = parts.table("job", "verb", "status", "")
    for each in result.jobs:
        place = f"place {each.queue_place}" if each.queue_place else ""
        now = each.progress if each.status == "running" else place  # the last step of one that ended says nothing
        table.add_row(Text(each.job_id, "cyan"), each.verb, each.status, Text(now or "", "dim"))
    console.print(table)


def show_job(console: Console, result: JobResult) -> None:
    """The report of the job's verb, or what became of the job."""
    if result.compile:
        show_compile(console, result.compile, _KERNEL)
    elif result.check:
        show_check(console, result.check, _KERNEL)
    elif result.benchmark:
        show_benchmark(console, result.benchmark, _KERNEL)
    elif result.profile:
        show_profile(console, result.profile, _KERNEL, all_in="--json has all")
    elif result.tune:
        show_tuning(console, result.tune, _KERNEL)
    else:
        whose = f", a job of {visible(result.owner.removeprefix('user:'))}," if result.owner else ""
        console.print(Text(f"{result.job_id}{whose} is {result.status}"))
