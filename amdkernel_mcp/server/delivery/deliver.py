"""How what a tool answers or raises goes over the wire.

A job that has not ended has nothing like a verdict, a profile no empty keys, an error its exit code. What is longer
than an answer may be was left out before, in `truncate.py`.
"""

import json
import logging
from collections.abc import Collection, Mapping
from typing import Any

import mcp_types
from fastmcp.exceptions import ResourceError, ToolError, ValidationError
from fastmcp.resources import ResourceResult
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from pydantic import ValidationError as PydanticValidationError

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import AmdkernelError, wrong_path
from amdkernel_mcp.profiling.brief import sparse
from amdkernel_mcp.results.jobs import EXIT_CODE_KEY
from amdkernel_mcp.server.delivery.errors import (
    INTERNAL,
    describe,
    describe_arguments,
    exit_code_of,
    for_other_machines,
)

_OF_A_CHECK = ("status", "verdict", "reason", "notes", "target", "evidence", "attempt", "next")
_WRONG = 2  # cases that the text has: the others say the same
_NOT_SAID = ("cases", "seeds", "hashes", "coverage", "code_object", "seconds", "isolation", "left_out")
_ELSEWHERE = "correct cases, seeds, hashes, coverage: in the structured content"
_ELSEWHERE_OF_NONE = "hashes: in the structured content"
_OF_NO_VERDICT = ("counters", "hashes", "code_object", "baseline_code_object")
_OF_A_JOB = ("job_id", "owner", "status", "state", "created", "progress", "queue_place", "expected_wait_s")


class ExitCodes(Middleware):
    """The outermost middleware: the others see the error."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The answer, or the error with its exit code in `_meta`."""
        try:
            return await call_next(context)
        except ToolError as error:
            code = exit_code_of(error)
            text = mcp_types.TextContent(type="text", text=str(error))
            return ToolResult(content=[text], is_error=True, meta={EXIT_CODE_KEY: code})


class Delivery(Middleware):
    """Each answer of a tool as a model reads it: structured content, and a text that may say less. Each exception as an
    error that the model can act on."""

    def __init__(self, folders: Mapping[str, str] | None = None) -> None:
        """`folders`: what callers do not read, see `for_other_machines`."""
        self._folders = folders or {}

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The result with its answer as it is delivered, or as it is. Raises ToolError."""
        try:
            result = await call_next(context)
        except ValidationError as error:
            if isinstance(error.__cause__, PydanticValidationError):
                known = await _arguments_of_tool(context)
                raise ToolError(describe_arguments(error.__cause__, known), log_level=logging.DEBUG) from None
            raise
        except ToolError as error:  # FastMCP has wrapped what the tool raised
            cause = wrong_path(error.__cause__) or error.__cause__
            if isinstance(cause, AmdkernelError):
                raise ToolError(for_other_machines(describe(cause), self._folders), log_level=logging.DEBUG) from None
            raise ToolError(INTERNAL) from None
        answer = result.structured_content
        if not answer:
            return result
        shown = delivered(context.message.name, answer)
        said = said_of(context.message.name, shown)
        if said is answer:
            return result
        text = mcp_types.TextContent(type="text", text=json.dumps(said, separators=(",", ":"), ensure_ascii=False))
        return ToolResult(content=[text], structured_content=shown)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, ResourceResult],
    ) -> ResourceResult:
        """The resource. Raises ResourceError."""
        try:
            return await call_next(context)
        except ResourceError as error:
            cause = error.__cause__
            if isinstance(cause, AmdkernelError):
                raise ResourceError(
                    for_other_machines(describe(cause), self._folders), log_level=logging.DEBUG
                ) from None
            raise


async def _arguments_of_tool(context: MiddlewareContext[mcp_types.CallToolRequestParams]) -> Collection[str]:
    if context.fastmcp_context is None:
        return ()
    tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
    return tool.parameters.get("properties", {}) if tool else ()


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
    """What the text says: of a check and of a benchmark what counts, also where get_job brings it."""
    if tool == "check_kernel" and shown.get("verdict"):
        return _brief(shown)
    if tool == "benchmark_kernel" and shown.get("verdict"):
        return _without_counters(shown)
    if tool != "get_job":
        return shown
    brought = {name: value for name, value in shown.items() if value is not None}
    if brought.get("benchmark", {}).get("verdict"):
        brought["benchmark"] = _without_counters(brought["benchmark"])
    if brought.get("check", {}).get("verdict"):
        brought["check"] = _brief(brought["check"])
    return brought


def _brief(check: dict[str, Any]) -> dict[str, Any]:
    """The verdict and what was found first, then the cases that are wrong: those that are correct are all alike."""
    said = {name: check[name] for name in _OF_A_CHECK if check.get(name)}
    if findings := check.get("findings"):
        said["findings"] = sparse(findings)
    wrong = [each for each in check.get("cases") or () if each.get("verdict") != "correct"]
    if wrong:
        told = check.get("reason") or ""
        shown = [{**each, "reason": "" if each.get("reason") in told else each["reason"]} for each in wrong[:_WRONG]]
        said["cases"] = sparse(shown)
    rest = {name: value for name, value in check.items() if value and name not in (*said, *_NOT_SAID)}
    more = [counted(len(wrong) - _WRONG, "more wrong case")] if len(wrong) > _WRONG else []
    left_out = [*(check.get("left_out") or []), *more, _ELSEWHERE if check.get("cases") else _ELSEWHERE_OF_NONE]
    return {**said, **rest, "left_out": left_out}


def _without_counters(benchmark: dict[str, Any]) -> dict[str, Any]:
    """A profile says what counters mean."""
    said = {name: value for name, value in benchmark.items() if value and name not in _OF_NO_VERDICT}
    left_out = [*(benchmark.get("left_out") or []), "counters, hashes: in the structured content"]
    return {**said, "left_out": left_out}
