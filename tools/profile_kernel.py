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
    """Find out why a kernel is slow: counters, derived metrics, the bound resource, hot source lines, what to try.

    Each metric states its evidence: `measured` on a GPU, `emulated` (exact counts of the emulator), `modelled` or
    `static`. Each diagnosis has its figures and queries for search_docs.

    Before: check_kernel returns `correct`. Next: search_docs with a diagnosis' `docs`, change the kernel, check_kernel.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    folder = session.problem(problem)
    return await session.long(
        ctx,
        ProfileResult,
        lambda progress: session.engine.profile(
            folder, kernel.source, file_name=kernel.file_name, target=target, on_progress=progress
        ),
        wait_s=wait_s,
    )
