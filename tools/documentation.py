"""Resources: all that read_doc opens, for clients that attach it to a prompt."""

from fastmcp import Context
from fastmcp.resources import resource

from amdkernel_mcp.server.session import owner, session_of

_PAGE_CHARS = 100_000


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


@resource(
    "amdkernel://problem/{name}",
    name="problem_page",
    title="What a kernel must compute: parameters, cases, tolerance, a kernel to start from",
    mime_type="text/markdown",
)
async def problem_page(name: str, ctx: Context) -> str:
    """A problem, bundled or yours; list_problems names them."""
    return await _page(ctx, f"problem:{name}")


@resource(
    "amdkernel://guide/{name}",
    name="guide_page",
    title="A guide: kernel, problem, profile, errors, tuning, or of the cookbook",
    mime_type="text/markdown",
)
async def guide_page(name: str, ctx: Context) -> str:
    """How kernels and problems are written, and what profiles and verdicts mean."""
    return await _page(ctx, f"guide:{name}")


@resource("amdkernel://attempt/{attempt}", name="attempt_page", title="An attempt of yours", mime_type="text/markdown")
async def attempt_page(attempt: str, ctx: Context) -> str:
    """What an attempt tried and brought; list_attempts names them."""
    return await _page(ctx, f"attempt:{attempt}")


@resource(
    "amdkernel://artefact/{sha256}",
    name="artefact_page",
    title="The whole of an answer that a tool cut",
    mime_type="application/json",
)
async def artefact_page(sha256: str, ctx: Context) -> str:
    """The JSON of an answer, all of it, by the `sha256` of the artefact that the answer names."""
    session, by = session_of(ctx), owner()

    def whole() -> str:
        parts: list[str] = []
        start: int | None = 0
        while start is not None:
            read = session.engine.read(f"artefact:{sha256}", by=by, start=start, max_chars=_PAGE_CHARS)
            parts.append(read.text)
            start = read.next_start
        return "".join(parts)

    return await session.text(whole)


async def _page(ctx: Context, ref: str) -> str:
    session, by = session_of(ctx), owner()
    return await session.text(lambda: session.engine.read(ref, by=by, max_chars=_PAGE_CHARS).text)
