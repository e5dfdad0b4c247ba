"""Tool: note what an attempt taught."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.history import Lesson
from amdkernel_mcp.server.session import owner, session_of

from ._parameters import NOTES


@tool(title="Note a lesson", annotations=NOTES)
async def note_lesson(
    ctx: Context,
    attempt: Annotated[str, Field(description="Id of your attempt", min_length=1, max_length=40)],
    lesson: Annotated[str, Field(description="One sentence", min_length=1, max_length=500)],
) -> Lesson:
    """Note what an attempt taught beyond its findings, for later sessions.

    Next: search_docs shows it.
    """
    session, by = session_of(ctx), owner()
    return await session.short(lambda: session.engine.attempts.note(attempt, lesson, by=by))
