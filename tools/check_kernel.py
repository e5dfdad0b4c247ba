"""Tool: check a kernel."""

from fastmcp import Context
from fastmcp.tools import tool

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.engine.verbs.check import Check
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
    """Check whether a kernel computes what its problem requires.

    Launch plan in a comment:
    `// amdkernel: launch NAME grid=[ceil_div(n, 256)] block=[256] lds=0` over problem scalars.
    Triton: guide:kernels.

    Next: benchmark_kernel or profile_kernel.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    folder = session.problem(problem)
    asked = Check(
        problem=folder,
        source=kernel.source,
        file_name=kernel.file_name,
        target=target,
        options=CheckOptions(schedules=schedules, order=order),
    )
    return await session.long(ctx, asked, wait_s=wait_s)
