"""Tool: list what was tried."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.history import AttemptList
from amdkernel_mcp.server.session import owner, session_of

from ._parameters import READS, SHOWN_AS_REPORT


@tool(title="List attempts", annotations=READS, meta=SHOWN_AS_REPORT)
async def list_attempts(
    ctx: Context,
    problem: Annotated[str | None, Field(description="Only on this problem", max_length=200)] = None,
    attempt: Annotated[
        str | None,
        Field(description="Show this one, and its diff", max_length=40),
    ] = None,
    other: Annotated[str | None, Field(description="Compare with this one", max_length=40)] = None,
    before: Annotated[str | None, Field(description="Only older ones", max_length=40)] = None,
    limit: Annotated[int, Field(ge=1, le=200, description="Most")] = 20,
) -> AttemptList:
    """List your attempts, newest first: what was tried, its verdict, its gain and why.

    Next: read_doc("attempt:ID").
    """
    session, by = session_of(ctx), owner()
    attempts = session.engine.attempts
    if attempt is not None:
        return await session.short(lambda: AttemptList(shown=attempts.show(attempt, other=other, by=by)))
    return await session.short(lambda: attempts.list(by=by, problem=problem, before=before, limit=limit))
