"""Tool: list the places where kernels can run."""

from fastmcp import Context
from fastmcp.tools import tool

from amdkernel_mcp.results.machine import TargetsResult
from amdkernel_mcp.server.session import session_of

from ._parameters import READS


@tool(title="List the targets", annotations=READS)
async def list_targets(ctx: Context) -> TargetsResult:
    """List where kernels run: emulated, real GPUs; any: a free one.

    Next: check_kernel with a `target`.
    """
    session = session_of(ctx)
    return await session.short(lambda: session.engine.machine.targets())
