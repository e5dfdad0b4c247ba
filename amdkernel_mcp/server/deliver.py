"""How an answer goes over the wire: a job that has not ended with nothing like a verdict, a profile without empty keys.

What is longer than an answer may be is left out before, in `truncate.py`; what a tool raises gets its exit code in
`exit_codes.py`.
"""

import json
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.profiling.brief import sparse

_OF_A_JOB = ("job_id", "owner", "status", "progress", "queue_place", "expected_wait_s")


class Delivery(Middleware):
    """Each answer of a tool as a model reads it, in its text and as structured content alike."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The result with its answer as it is delivered, or as it is."""
        result = await call_next(context)
        answer = result.structured_content
        if not answer:
            return result
        shown = delivered(context.message.name, answer)
        if shown is answer:
            return result
        text = mcp_types.TextContent(type="text", text=json.dumps(shown, separators=(",", ":"), ensure_ascii=False))
        return ToolResult(content=[text], structured_content=shown)


def delivered(tool: str, answer: dict[str, Any]) -> dict[str, Any]:
    """What the caller of a tool gets: the answer itself, or a shorter one.

    Of work that has not ended only where it stands and the call to make next; nulls and empty lists are removed from
    the answers of profile_kernel, also where get_job brings them.
    """
    if answer.get("job_id") and answer.get("status") in ("queued", "running"):
        kept = {key: answer[key] for key in _OF_A_JOB if answer.get(key) is not None}
        return kept | {"next": f'get_job(job_id="{answer["job_id"]}")'}
    if tool == "profile_kernel":
        profile: dict[str, Any] = sparse(answer)
        return profile
    if tool == "get_job" and answer.get("profile"):
        return {**answer, "profile": sparse(answer["profile"])}
    return answer
