"""Tool: search the documentation."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.documentation import SearchResult
from amdkernel_mcp.search.query.filters import SearchFilters
from amdkernel_mcp.server.session import owner, session_of

from ._parameters import READS


@tool(title="Search the AMD GPU documentation", annotations=READS)
async def search_docs(
    ctx: Context,
    query: Annotated[
        str,
        Field(
            description="A question with the identifiers you know: `hipMemcpyAsync`, `v_mfma_*_f16`",
            min_length=1,
            max_length=500,
        ),
    ],
    also: Annotated[
        list[Annotated[str, Field(max_length=500)]],
        Field(description="The same in other words: API names, plain English", max_length=3),
    ] = [],  # noqa: B006 - never changed, and a schema with a plain default
    limit: Annotated[int, Field(ge=1, le=20, description="Most results")] = 5,
    source: Annotated[str | None, Field(description="Only of this corpus", max_length=100)] = None,
    arch: Annotated[str | None, Field(description="Prefer it", max_length=50)] = None,
    rocm_version: Annotated[str | None, Field(description="Prefer it", max_length=20)] = None,
) -> SearchResult:
    """Search ROCm, HIP and LLVM AMDGPU documentation, problems, guides and your lessons.

    Exact names come first: APIs, instructions, counters, error codes, GPUs.

    Next: read_doc with a `ref`.
    """
    session, by = session_of(ctx), owner()
    return await session.short(
        lambda: session.engine.search(
            query, also=also, by=by, limit=limit, filters=SearchFilters.of(source, arch, rocm_version)
        )
    )
