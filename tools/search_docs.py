"""Tool: search the documentation."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.desk import desk_of
from amdkernel_mcp.results import SearchResult

from ._parameters import READS


@tool(title="Search the AMD GPU documentation", annotations=READS)
async def search_docs(
    ctx: Context,
    query: Annotated[
        str,
        Field(
            description="What to find, e.g. `LDS bank conflicts` or `__shfl_down_sync`", min_length=1, max_length=500
        ),
    ],
    limit: Annotated[int, Field(ge=1, le=20, description="Most results")] = 8,
    source: Annotated[
        str | None, Field(description="Only this corpus, as `source` in earlier results, e.g. `hip`", max_length=100)
    ] = None,
) -> SearchResult:
    """Search the ROCm, HIP and LLVM AMDGPU documentation that is indexed on this machine; works offline.

    Finds API names, compiler options, ISA instructions, counters and guides; CUDA names find their HIP counterparts.
    Each result is one section with a snippet.

    Next: read_doc with a result's `ref`.
    """
    desk = desk_of(ctx)
    return await desk.short(lambda: desk.engine.search_docs(query, limit=limit, source=source))
