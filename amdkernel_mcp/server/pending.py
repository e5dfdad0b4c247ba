"""Answers of calls whose work has not ended: where it stands and the call to make next, and nothing like a verdict."""

import json

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

_KEPT = ("job_id", "owner", "status", "progress", "queue_place", "expected_wait_s")


class PendingAnswers(Middleware):
    """Removes from an answer with status `queued` or `running` all keys that only an answer has."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The answer as it is, or its job."""
        result = await call_next(context)
        answer = result.structured_content or {}
        job_id = answer.get("job_id")
        if not job_id or answer.get("status") not in ("queued", "running"):
            return result
        pending = {key: answer[key] for key in _KEPT if answer.get(key) is not None}
        pending["next"] = f'get_job(job_id="{job_id}")'
        text = mcp_types.TextContent(type="text", text=json.dumps(pending))
        return ToolResult(content=[text], structured_content=pending)
