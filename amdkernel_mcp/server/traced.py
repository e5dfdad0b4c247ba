"""Each call of a tool is a span, below the one that the client's `traceparent` header names."""

from __future__ import annotations

from typing import Any

from fastmcp.server.dependencies import get_http_headers
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from amdkernel_mcp import tracing


class Traced(Middleware):
    """Around all that a call does."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """A span with the name of the tool."""
        parent = tracing.parent_of(get_http_headers(include={"traceparent"}).get("traceparent"))
        with tracing.below(parent), tracing.span("request", tool=str(context.message.name)[:64]):
            return await call_next(context)
