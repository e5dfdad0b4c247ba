"""Tool: profile a kernel."""

from fastmcp import Context
from fastmcp.tools import tool

from amdkernel_mcp.results.kernels import ProfileResult
from amdkernel_mcp.server.session import session_of

from ._parameters import MEASURES, Path, Problem, Source, Target, WaitS


@tool(title="Profile a kernel", annotations=MEASURES)
async def profile_kernel(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    target: Target = None,
    wait_s: WaitS = 45,
) -> ProfileResult:
    """Find out why a kernel is slow: counters, metrics, the bound, hot lines, what to try.

    Next: search_docs with a diagnosis' `docs`, one change, check_kernel.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    folder = session.problem(problem)
    arguments = {
        "problem": folder,
        "source": kernel.source,
        "file_name": kernel.file_name,
        "target": target,
    }
    return await session.long(ctx, ProfileResult, "profile", arguments, wait_s=wait_s)
