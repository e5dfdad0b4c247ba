"""Requests that are refused before any tool is named, in the audit log: no token, another host's name, too long."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from amdkernel_mcp.access.audit import AuditLog, Event, Repeated

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_WHY = {401: "no valid token", 403: "forbidden", 413: "too long", 421: "another host's name", 429: "too many requests"}


class AuditRefusals:
    """Notes answers with one of these statuses. An address that repeats itself cannot fill the log.

    Around the whole application: FastMCP checks host names before every middleware.
    """

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._repeated = Repeated()
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}  # until when it is only counted, and how many

    def __call__(self, app: ASGIApp) -> ASGIApp:
        """The same application, noted."""

        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start" and message["status"] in _WHY:
                    event = self._event(scope, message["status"])
                    if event is not None:
                        await asyncio.to_thread(self._audit.write, event)
                await send(message)

            await app(scope, receive, noting)

        return noted

    def _event(self, scope: Scope, status: int) -> Event | None:
        address = scope["client"][0] if scope.get("client") else ""
        reason = self._repeated.reason(f"{status} {_WHY[status]}", address, str(status))
        if reason is None:
            return None
        return Event(
            at=time.time(), user="", token=None, address=address, action=f"{scope['method']} {scope['path']}",
            target=None, job=None, attempt=None, outcome="refused", reason=reason,
        )  # fmt: skip
