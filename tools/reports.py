"""Resources: the page of a profile or of a comparison, for clients that show one next to an answer (MCP Apps)."""

from fastmcp import Context
from fastmcp.resources import resource

from amdkernel_mcp.pages.app import report, shell
from amdkernel_mcp.server.session import owner, session_of

MIME = "text/html;profile=mcp-app"


@resource("ui://amdkernel/report", name="report", title="A report", mime_type=MIME)
async def report_app() -> str:
    """The page before it has an answer."""
    return shell()


@resource("ui://amdkernel/report/{attempt}", name="profile_report", title="A profile", mime_type=MIME)
async def profile_report(attempt: str, ctx: Context) -> str:
    """The page of an attempt's profile."""
    session, by = session_of(ctx), owner()
    return await session.text(lambda: report(session.engine, [attempt], by))


@resource("ui://amdkernel/report/{first}/{second}", name="comparison_report", title="A comparison", mime_type=MIME)
async def comparison_report(first: str, second: str, ctx: Context) -> str:
    """The page that compares two attempts."""
    session, by = session_of(ctx), owner()
    return await session.text(lambda: report(session.engine, [first, second], by))
