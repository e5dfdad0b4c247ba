"""Profiles over MCP without empty keys: a model reads every one of them."""

import json

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.profiling.brief import sparse


class SparseProfiles(Middleware):
    """Removes nulls and empty lists from the answers of profile_kernel, also where get_job brings them."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The answer, or of another tool the answer as it is."""
        result = await call_next(context)
        answer, tool = result.structured_content, context.message.name
        if tool == "profile_kernel" and answer:
            kept = sparse(answer)
        elif tool == "get_job" and answer and answer.get("profile"):
            kept = {**answer, "profile": sparse(answer["profile"])}
        else:
            return result
        text = mcp_types.TextContent(type="text", text=json.dumps(kept, separators=(",", ":"), ensure_ascii=False))
        return ToolResult(content=[text], structured_content=kept)
