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
    """Find out why a kernel is slow: counters, derived metrics, the bound resource, hot source lines and what to try.

    Each metric says where it came from: `measured` on a GPU, `emulated` (exact counts of the emulator), `modelled` or
    `static`. Each diagnosis names its figures and a documentation page.

    Before: check_kernel says `correct`. Next: read_doc on a diagnosis' page, change the kernel, check_kernel again.
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
