"""Tool: search the documentation."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.documentation import SearchResult
from amdkernel_mcp.search.query.filters import SearchFilters
from amdkernel_mcp.server.session import session_of

from ._parameters import READS


@tool(title="Search the AMD GPU documentation", annotations=READS)
async def search_docs(
    ctx: Context,
    query: Annotated[
        str,
        Field(
            description="A question or an exact name: `LDS bank conflicts`, `hipMemcpyAsync`, `v_mfma_*_f16`, `701`",
            min_length=1,
            max_length=500,
        ),
    ],
    limit: Annotated[int, Field(ge=1, le=20, description="Maximum number of results")] = 5,
    source: Annotated[
        str | None, Field(description="Only this corpus: a `source` of earlier results, e.g. `hip`", max_length=100)
    ] = None,
    arch: Annotated[
        str | None, Field(description="Prefer pages of this GPU, e.g. `gfx950` or `MI300X`", max_length=50)
    ] = None,
    rocm_version: Annotated[
        str | None, Field(description="Prefer pages of this version of ROCm, e.g. `7.0`", max_length=20)
    ] = None,
) -> SearchResult:
    """Search the ROCm, HIP and LLVM AMDGPU documentation that is indexed on this machine; works offline.

    An exact name comes first, as a card in `exact`: HIP APIs (CUDA names too) with signature and errors, instructions
    with MFMA/WMMA layout and cycles, rocprof counters, error codes with causes, architectures (gfx942, MI300X).
    `results` are sections with the lines that match; `note` reports versions that differ from this machine's.

    Next: read_doc with a `ref`.
    """
    session = session_of(ctx)
    return await session.short(
        lambda: session.engine.docs.search(query, limit=limit, filters=SearchFilters.of(source, arch, rocm_version))
    )
