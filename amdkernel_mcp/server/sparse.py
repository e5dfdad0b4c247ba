"""Answers over MCP without what a model need not read: nulls of a profile, ceremony of a correct check."""

import json
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.profiling.brief import sparse

_OF_A_CHECK = ("status", "verdict", "reason", "notes", "target", "evidence", "attempt", "next")
_ELSEWHERE = "cases, seeds, hashes, coverage: in the structured content"


class SparseAnswers(Middleware):
    """Removes nulls and empty lists from the answers of profile_kernel, also where get_job brings them.

    The text of a correct check says what counts; the structured content has the whole.
    """

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The answer, or of another tool the answer as it is."""
        result = await call_next(context)
        answer, tool = result.structured_content, context.message.name
        if tool == "profile_kernel" and answer:
            kept = said = sparse(answer)
        elif tool == "get_job" and answer and answer.get("profile"):
            kept = said = {**answer, "profile": sparse(answer["profile"])}
        elif tool == "check_kernel" and answer and _says_nothing_more(answer):
            kept, said = answer, _brief(answer)
        elif tool == "get_job" and answer and _says_nothing_more(answer.get("check") or {}):
            kept, said = answer, {**answer, "check": _brief(answer["check"])}
        else:
            return result
        text = mcp_types.TextContent(type="text", text=json.dumps(said, separators=(",", ":"), ensure_ascii=False))
        return ToolResult(content=[text], structured_content=kept)


def _says_nothing_more(check: dict[str, Any]) -> bool:
    """Whether a kernel is correct, and all that was found is in the reason and the notes."""
    more = ("findings", "diagnostics", "not_cached", "not_recorded")
    return check.get("verdict") == "correct" and not any(check.get(name) for name in more)


def _brief(check: dict[str, Any]) -> dict[str, Any]:
    return {**{name: check[name] for name in _OF_A_CHECK if check.get(name)}, "left_out": [_ELSEWHERE]}
