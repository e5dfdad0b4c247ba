"""The tasks extension of the protocol over our jobs: a task is a job, and its id the job's.

Only where a request names the extension among its client's capabilities: then a call whose job has not ended within
BEFORE_A_TASK_S is answered by a task, which `tasks/get` follows and `tasks/cancel` ends. Each of these is a call
of get_job, so that rights, quotas, the audit log and the journal are those of jobs. Nothing here asks a client back, so
no task ever waits for input.

Source: https://github.com/modelcontextprotocol/ext-tasks, specification/draft/tasks.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from fastmcp.server.extensions import ServerExtension, read_client_extension_settings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from amdkernel_mcp.engine.verbs.table import VERBS
from amdkernel_mcp.jobs.journal import KEPT_DAYS
from amdkernel_mcp.results.jobs import EXIT_CODE_KEY
from amdkernel_mcp.server.delivery.deliver import said_of

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    Context = ServerRequestContext[Any, Any]

EXTENSION: Final = "io.modelcontextprotocol/tasks"
BEFORE_A_TASK_S = 5.0
"""What ends within it has its answer at once, and no client polls for it."""
POLL_MS = 2000
_TTL_MS = KEPT_DAYS * 86_400_000
_TOOLS = {verb.tool for verb in VERBS}
_METHODS = ("tasks/get", "tasks/cancel", "tasks/update")
_UNFINISHED = ("queued", "running")


class TasksExtension(ServerExtension):
    """Says to clients that calls may be answered by tasks; `as_tasks` does it."""

    identifier = EXTENSION


async def as_tasks(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware of the protocol's server, around all that reads and writes results of calls.

    Raises MCPError for a task that the caller does not have, and for a client that did not name the extension.
    """
    params = ctx.params or {}
    if ctx.request_id is None or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return await call_next(ctx)
    opted_in = read_client_extension_settings(ctx, EXTENSION) is not None
    if ctx.method in _METHODS:
        if not opted_in:
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"{ctx.method} needs the extension {EXTENSION}", needed)
        job = await _job(ctx, call_next, params.get("taskId"), cancel=ctx.method == "tasks/cancel")
        return _detailed(job) if ctx.method == "tasks/get" else {"resultType": "complete"}
    if not opted_in or ctx.method != "tools/call" or params.get("name") not in _TOOLS:
        return await call_next(ctx)
    result = _dumped(await call_next(replace(ctx, params=_sooner(params))))
    answer = result.get("structuredContent") or {}
    if not (answer.get("job_id") and answer.get("status") in _UNFINISHED):
        return result
    # The job is asked for, so that its task is known before its client is.
    return {"resultType": "task"} | _task(await _job(ctx, call_next, answer["job_id"]))


def _sooner(params: Mapping[str, Any]) -> dict[str, Any]:
    """The same call with a shorter wait."""
    arguments = params.get("arguments")
    if not isinstance(arguments, Mapping):
        return dict(params)
    wait_s = arguments.get("wait_s")
    if isinstance(wait_s, int | float) and wait_s < BEFORE_A_TASK_S:
        return dict(params)
    return {**params, "arguments": {**arguments, "wait_s": BEFORE_A_TASK_S}}


async def _job(ctx: Context, call_next: CallNext, job_id: object, *, cancel: bool = False) -> dict[str, Any]:
    """What get_job says to this caller. Raises MCPError where it refuses, and for the job of another user."""
    arguments = {"job_id": job_id, "wait_s": 0, "cancel": cancel}
    params = {**(ctx.params or {}), "name": "get_job", "arguments": arguments}
    params.pop("taskId", None)
    result = _dumped(await call_next(replace(ctx, method="tools/call", params=params)))
    job: dict[str, Any] = result.get("structuredContent") or {}
    if result.get("isError") or "job_id" not in job:
        said = [part.get("text", "") for part in result.get("content") or ()]
        raise MCPError(INVALID_PARAMS, "\n".join(said) or f"there is no task {job_id!r}")
    if job.get("owner") and not cancel:  # an admin ends the jobs of others, and sees nothing of them
        raise MCPError(INVALID_PARAMS, f"there is no task {job_id!r}")
    return job


def _task(job: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of each task."""
    status = "cancelled" if job["status"] == "cancelled" else "working" if job["status"] in _UNFINISHED else "completed"
    fields = {
        "taskId": job["job_id"],
        "status": status,
        "createdAt": job["created"],
        "lastUpdatedAt": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "ttlMs": _TTL_MS,
        "pollIntervalMs": POLL_MS,
    }
    said = job.get("progress") if status == "working" else None
    return fields | ({"statusMessage": said} if said else {})


def _detailed(job: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of `tasks/get`. What a tool would have raised is the result of a task that completed."""
    task = {"resultType": "complete"} | _task(job)
    if task["status"] != "completed":
        return task
    if job["status"] == "failed":
        text = str(job.get("error") or "the job failed")
        failed = {"content": [_text(text)], "isError": True, "_meta": {EXIT_CODE_KEY: job.get("error_code")}}
        return task | {"result": failed}
    verb, answer = next((verb, job[verb.key]) for verb in VERBS if job.get(verb.key))
    said = json.dumps(said_of(verb.tool, answer), separators=(",", ":"), ensure_ascii=False)
    return task | {"result": {"content": [_text(said)], "structuredContent": answer, "isError": False}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _dumped(result: HandlerResult) -> dict[str, Any]:
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dict(result or {})
