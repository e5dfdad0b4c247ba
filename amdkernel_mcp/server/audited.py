"""Checks every call of a tool or resource over HTTP against the scopes of its token, and writes the audit log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types
from fastmcp.exceptions import ResourceError, ToolError
from fastmcp.resources import ResourceResult
from fastmcp.server.dependencies import get_access_token, get_http_request
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.middleware.rate_limiting import RateLimitError
from fastmcp.tools import ToolResult

from amdkernel_mcp.access.audit import AuditLog, Event, Outcome, Repeated
from amdkernel_mcp.access.scopes import SCOPES, Scope
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.server.admission.permissions import needed, refuse_without
from amdkernel_mcp.server.delivery.errors import describe, why_failed

if TYPE_CHECKING:
    from starlette.requests import Request

    from amdkernel_mcp.pages.routes import Note
    from amdkernel_mcp.pages.sign_in import Viewer

_R = TypeVar("_R")


class Audited(Middleware):
    """Refuses what the token's scopes do not cover, and notes every call. Around what does anything."""

    def __init__(self, *, with_tokens: bool, default_target: str, audit: AuditLog | None) -> None:
        self._with_tokens = with_tokens
        self._default_target = default_target
        self._audit = audit
        self._repeated = Repeated()

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Raises ToolError that names the missing scope."""
        tool, arguments = context.message.name, context.message.arguments or {}
        target = arguments.get("target")
        scopes = needed(tool, target, default_target=self._default_target)
        what = f"{tool} on {target or self._default_target}" if scopes == {"gpu:time"} else tool
        try:
            await self._refuse(scopes, tool, what, target)
        except InputError as error:
            raise ToolError(describe(error), log_level=logging.DEBUG) from None
        job = arguments.get("job_id")
        action = f"{tool}: cancel" if tool == "get_job" and arguments.get("cancel") else tool
        return await self._noted(action, target, job, lambda: call_next(context))

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, ResourceResult],
    ) -> ResourceResult:
        """Raises ResourceError that names the missing scope."""
        try:
            await self._refuse(frozenset({"docs"}), "resource", "a resource", None)
        except InputError as error:
            raise ResourceError(describe(error), log_level=logging.DEBUG) from None
        return await self._noted("resource", None, None, lambda: call_next(context))

    async def _refuse(self, scopes: frozenset[Scope], action: str, what: str, target: object) -> None:
        try:
            refuse_without(scopes, self._held(), what[:200])
        except InputError as error:
            await self._note_refusal(action, target, error.message)
            raise

    async def _note_refusal(self, action: str, target: object, why: str) -> None:
        """Before the caller reads of it."""
        event = self._event(action, target, None, "refused")
        reason = self._repeated.reason(why, event.user, action)
        if self._audit is not None and reason is not None:
            await asyncio.to_thread(self._audit.write, replace(event, reason=reason))

    def _held(self) -> frozenset[str]:
        """The scopes of this request. Without a token all, on a server that needs none, else nothing."""
        token = get_access_token()
        if token is not None:
            return frozenset(token.scopes)
        return frozenset() if self._with_tokens else frozenset(SCOPES)

    async def _noted(self, action: str, target: object, job: object, call: Callable[[], Awaitable[_R]]) -> _R:
        outcome: Outcome = "failed"
        why: str | None = None
        answer: _R | None = None
        try:
            answer = await call()
            outcome = "done"
            return answer
        except RateLimitError:
            outcome = "refused"
            await self._note_refusal(action, target, "too many requests")
            raise
        except asyncio.CancelledError:
            why = "the caller cancelled the call or left"
            raise
        except Exception as error:
            why = why_failed(error)
            raise
        finally:
            if self._audit is not None and outcome != "refused":
                said = getattr(answer, "structured_content", None)
                event = self._event(action, target, job, outcome, said=said)
                self._audit.note(event if why is None else replace(event, reason=why))

    def _event(
        self,
        action: str,
        target: object,
        job: object,
        outcome: Outcome,
        *,
        said: Mapping[str, Any] | None = None,
    ) -> Event:
        token = get_access_token()
        said = said or {}
        return Event(
            at=time.time(),
            user=token.client_id if token else "local",
            token=_text(token.claims.get("token")) if token else None,
            address=caller_address(),
            action=action,
            target=_text(target),
            job=_text(said.get("job_id") or job),
            attempt=_text(said.get("attempt")),
            outcome=outcome,
            reason=whose_job(said.get("owner")) if action.startswith("get_job") else None,
        )


def whose_job(owner: object) -> str | None:
    """For a line about the job of another user."""
    return f"a job of {owner.removeprefix('user:')}" if isinstance(owner, str) else None


def noting(audit: AuditLog | None) -> Note:
    """What writes down the actions of pages; the same refusal of an address once a minute."""
    repeated = Repeated()

    def note(
        request: Request, viewer: Viewer | None, action: str, job: str | None, outcome: Outcome, owner: str | None
    ) -> None:
        if audit is None:
            return
        user = viewer.user.removeprefix("user:") if viewer else ""
        address = request.client.host if request.client else ""
        reason = whose_job(owner)
        if outcome == "refused":
            reason = repeated.reason("no valid token or scope", address, user, action)
        if outcome != "refused" or reason is not None:
            audit.note(Event(time.time(), user, None, address, action, None, job, None, outcome, reason))

    return note


def caller_address() -> str:
    """Where this request came from; behind a proxy on this machine, what the proxy says."""
    try:
        client = get_http_request().client
    except RuntimeError:
        return ""
    return client.host if client else ""


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
