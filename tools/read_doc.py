"""Tool: read a page of the documentation."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.documentation import ReadResult
from amdkernel_mcp.server.session import owner, session_of, with_address

from ._parameters import READS


@tool(title="Read a page of the documentation", annotations=READS)
async def read_doc(
    ctx: Context,
    ref: Annotated[
        str,
        Field(
            description="A `ref`; `problem:NAME`, `guide:kernel|problem|errors|softmax` and others, `api:`, `isa:`, "
            "`counter:`, `error:`, `arch:`, `attempt:`, `artefact:`",
            min_length=1,
            max_length=1000,
        ),
    ],
    section: Annotated[str | None, Field(description="Heading", max_length=500)] = None,
    start: Annotated[int, Field(ge=0, description="`next_start` of the part before")] = 0,
    max_chars: Annotated[int, Field(ge=200, le=7000, description="Most characters")] = 5000,
    find: Annotated[str | None, Field(description="Only lines with these words", max_length=200)] = None,
) -> ReadResult:
    """Read a page, a card, a problem with a kernel to start from, a guide, an attempt.

    Before: search_docs. Next: again with `start` = `next_start`.
    """
    session, by = session_of(ctx), owner()
    return await session.short(
        lambda: with_address(
            session.engine.read(ref, by=by, section=section, start=start, max_chars=max_chars, find=find)
        )
    )
