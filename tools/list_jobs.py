"""Tool: list the caller's jobs."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.jobs import JobList
from amdkernel_mcp.server.session import session_of

from ._parameters import READS


@tool(title="List your jobs", annotations=READS)
async def list_jobs(
    ctx: Context, limit: Annotated[int, Field(ge=1, le=50, description="Newest first")] = 10
) -> JobList:
    """List your jobs.

    Next: get_job.
    """
    return await session_of(ctx).jobs(limit)
