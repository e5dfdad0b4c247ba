"""Tool: profile a kernel."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.results.kernels import Focus, ProfileResult
from amdkernel_mcp.server.session import session_of

from ._parameters import MEASURES, SHOWN_AS_REPORT, Case, Path, Problem, Source, Target, WaitS


@tool(title="Profile a kernel", annotations=MEASURES, meta=SHOWN_AS_REPORT)
async def profile_kernel(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    target: Target = None,
    focus: Annotated[Focus | None, Field(description="Topic")] = None,
    compare_to: Annotated[str | None, Field(description="attempt:ID or text", max_length=1 << 20)] = None,
    case: Case = None,
    wait_s: WaitS = 45,
) -> ProfileResult:
    """Find out why a kernel is slow, what to try, and what a change did.

    Next: read_doc of `docs`, check_kernel.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    folder = session.problem(problem)
    asked = Profile(
        problem=folder,
        source=kernel.source,
        file_name=kernel.file_name,
        target=target,
        options=session.compared(focus, compare_to, case),
    )
    return await session.long(ctx, asked, wait_s=wait_s)
