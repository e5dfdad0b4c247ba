"""Tool: list the problems."""

from fastmcp import Context
from fastmcp.tools import tool

from amdkernel_mcp.results.problems import ProblemList
from amdkernel_mcp.server.session import owner, session_of

from ._parameters import READS


@tool(title="List the problems", annotations=READS)
async def list_problems(ctx: Context) -> ProblemList:
    """List the problems: yours, shared and bundled ones.

    Next: read_doc("problem:NAME").
    """
    session, by = session_of(ctx), owner()
    return await session.short(lambda: session.engine.list_problems(by=by))
