"""Tool: check a kernel."""

from fastmcp import Context
from fastmcp.tools import tool

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, Order, Path, Problem, Schedules, Source, Target, WaitS


@tool(title="Check a kernel", annotations=RUNS_IN_SANDBOX)
async def check_kernel(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    target: Target = None,
    schedules: Schedules = None,
    order: Order = None,
    wait_s: WaitS = 45,
) -> CheckResult:
    """Check whether a kernel computes what its problem requires: `correct`, `incorrect`, `invalid`, `crashed`, ...

    Runs announced and held-out cases against a reference, with guard bands, poisoned outputs and repeats. Returns the
    worst element (got, expected) and findings such as out-of-bounds accesses, with the line of your file; `coverage`
    lists what was checked and what was not.
    The file must have its launch plan in a comment:
    `// amdkernel: launch NAME grid=[ceil_div(n, 256)] block=[256] lds=0` (expressions over the problem's scalars).

    Next: benchmark_kernel or profile_kernel, once the kernel is correct.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    folder = session.problem(problem)
    return await session.long(
        ctx,
        CheckResult,
        lambda progress: session.engine.check(
            folder,
            kernel.source,
            file_name=kernel.file_name,
            target=target,
            options=CheckOptions(schedules=schedules, order=order),
            on_progress=progress,
        ),
        wait_s=wait_s,
    )
