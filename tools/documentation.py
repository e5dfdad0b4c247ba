"""Resources: pages of the documentation and cards of architectures, for clients that attach them to a prompt."""

from fastmcp import Context
from fastmcp.resources import resource

from amdkernel_mcp.server.session import session_of


@resource(
    "amdkernel://docs/{source}/{path*}",
    name="documentation_page",
    title="A page of the AMD GPU documentation",
    mime_type="text/markdown",
)
async def documentation_page(source: str, path: str, ctx: Context) -> str:
    """A page of the indexed documentation, quoted; `source` and `path` as in results of search_docs."""
    session = session_of(ctx)
    return await session.text(lambda: session.engine.docs.page(source, path))


@resource(
    "amdkernel://arch/{gfx}",
    name="architecture_card",
    title="Limits, caches, peaks and matrix instructions of an AMD GPU architecture",
    mime_type="text/markdown",
)
async def architecture_card(gfx: str, ctx: Context) -> str:
    """The card of an architecture: gfx90a, gfx942, gfx950, gfx1100 or gfx1201, or a name such as MI300X."""
    session = session_of(ctx)
    return await session.text(lambda: session.engine.docs.architecture(gfx))
