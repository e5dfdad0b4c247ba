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

_OF_A_CHECK = ("status", "verdict", "reason", "notes", "target", "evidence", "attempt", "next")
_ELSEWHERE = "cases, seeds, hashes, coverage: in the structured content"
_OF_NO_VERDICT = ("counters", "hashes", "code_object", "baseline_code_object")
_OF_A_JOB = ("job_id", "owner", "status", "progress", "queue_place", "expected_wait_s")


class Delivery(Middleware):
    """Each answer of a tool as a model reads it: structured content, and a text that may say less."""

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
        said = said_of(context.message.name, shown)
        if said is answer:
            return result
        text = mcp_types.TextContent(type="text", text=json.dumps(said, separators=(",", ":"), ensure_ascii=False))
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


def said_of(tool: str, shown: dict[str, Any]) -> dict[str, Any]:
    """What the text says: of a correct check and of a benchmark what counts, also where get_job brings it."""
    if tool == "check_kernel" and _says_nothing_more(shown):
        return _brief(shown)
    if tool == "benchmark_kernel" and shown.get("verdict"):
        return _without_counters(shown)
    if tool == "get_job" and (shown.get("benchmark") or {}).get("verdict"):
        return {**shown, "benchmark": _without_counters(shown["benchmark"])}
    if tool == "get_job" and _says_nothing_more(shown.get("check") or {}):
        return {**shown, "check": _brief(shown["check"])}
    return shown


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
