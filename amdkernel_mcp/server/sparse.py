"""Answers over MCP without what a model need not read: nulls, and what only a later replay needs."""

import json
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.profiling.brief import sparse

_OF_A_CHECK = ("status", "verdict", "reason", "notes", "target", "evidence", "attempt", "next")
_ELSEWHERE = "cases, seeds, hashes, coverage: in the structured content"
_OF_NO_VERDICT = ("counters", "hashes", "code_object", "baseline_code_object")


class SparseAnswers(Middleware):
    """Removes nulls and empty lists from the answers of profile_kernel, also where get_job brings them.

    The text of a correct check and of a benchmark says what counts; the structured content has the whole.
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
        elif tool == "benchmark_kernel" and answer and answer.get("verdict"):
            kept, said = answer, _without_counters(answer)
        elif tool == "get_job" and answer and (answer.get("benchmark") or {}).get("verdict"):
            kept, said = answer, {**answer, "benchmark": _without_counters(answer["benchmark"])}
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


def _without_counters(benchmark: dict[str, Any]) -> dict[str, Any]:
    """A profile says what counters mean."""
    said = {name: value for name, value in benchmark.items() if value and name not in _OF_NO_VERDICT}
    left_out = [*(benchmark.get("left_out") or []), "counters, hashes: in the structured content"]
    return {**said, "left_out": left_out}
