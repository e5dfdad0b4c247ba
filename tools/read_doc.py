"""Tool: read a page of the documentation."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.documentation import ReadResult
from amdkernel_mcp.server.session import session_of

from ._parameters import READS


@tool(title="Read a page of the documentation", annotations=READS)
async def read_doc(
    ctx: Context,
    ref: Annotated[
        str,
        Field(
            description="`ref` of a result, card or section, or a name: `api:hipMalloc`, `isa:v_pk_fma_f32`, "
            "`counter:SQ_WAVES`, `error:hipErrorInvalidValue`, `arch:gfx942`",
            min_length=1,
            max_length=1000,
        ),
    ],
    section: Annotated[str | None, Field(description="Only the section with this heading", max_length=500)] = None,
    start: Annotated[int, Field(ge=0, description="First character; `next_start` of the previous part")] = 0,
    max_chars: Annotated[int, Field(ge=200, le=7000, description="Maximum characters of text")] = 5000,
    find: Annotated[str | None, Field(description="Only lines with all of these words", max_length=200)] = None,
) -> ReadResult:
    """Read a part of a documentation page as text, with the list of its sections, or the card of an exact name.

    Long pages come in parts: continue with `start` = `next_start` until it is null, or name a `section`.

    Before: search_docs returns the `ref`.
    """
    session = session_of(ctx)
    return await session.short(
        lambda: session.engine.docs.read(ref, section=section, start=start, max_chars=max_chars, find=find)
    )
