"""Runs the server: for one client over stdin and stdout, or for many over Streamable HTTP."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.middleware import Middleware

from amdkernel_mcp import tracing
from amdkernel_mcp.access.audit import AuditLog
from amdkernel_mcp.access.listed import user_list
from amdkernel_mcp.access.opened import open_access
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.server.admission.connections import bound_log, bounded
from amdkernel_mcp.server.admission.draining import DrainOnSigterm, exit_in_order
from amdkernel_mcp.server.admission.identity_provider import IdentityProvider
from amdkernel_mcp.server.admission.limits import HEADER_BYTES, KEPT_S, MESSAGE_BYTES, TOO_LONG
from amdkernel_mcp.server.admission.refusals import AuditRefusals
from amdkernel_mcp.server.admission.team import TeamTokens
from amdkernel_mcp.server.admission.tokens import ListedTokens, Users, read_tokens, require_users
from amdkernel_mcp.server.app import build_server
from amdkernel_mcp.server.json_log import log_as_json
from amdkernel_mcp.server.lines import LongLine, find_identity, read_bounded_lines
from amdkernel_mcp.workers.messages import FRAME_BYTES

_log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from fastmcp import FastMCP
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from amdkernel_mcp.jobs.store import JobStore
    from amdkernel_mcp.results.access import UserList

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]  # not on Windows


def serve_stdio() -> int:
    """Serve one client over stdin and stdout until it closes stdin; the exit code."""
    engines: list[Engine] = []

    def engine(settings: Settings) -> Engine:
        engines.append(Engine(settings))
        return engines[-1]

    def leave(number: int, _: object) -> None:
        """Close the sandboxes and end at once: the read of stdin cannot be interrupted."""
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)  # clients send several, a tenth of a second apart
        for running in engines:
            running.close()
        os._exit(128 + number)

    try:
        server = build_server(load_settings(), local=True, engine=engine)
    except AmdkernelError as error:
        sys.stderr.write(f"{error.message} {error.hint or ''}".rstrip() + "\n")
        return error.exit_code
    for number in _ENDING:
        signal.signal(number, leave)
    anyio.run(_run_stdio, server)
    return 0


class _Stdin:
    """Lines of stdin for the MCP library. A line that it would drop, or that is too long, is answered with an error."""

    def __init__(self) -> None:
        self.refusals: MemoryObjectSendStream[SessionMessage] | None = None
        # As the library does for its own reader: what a tool starts must not read the client's messages.
        own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._lines = read_bounded_lines(own, MESSAGE_BYTES)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await anyio.to_thread.run_sync(next, self._lines, None)) is not None:
            if isinstance(line, LongLine):
                await self._refuse(line.identity, TOO_LONG)
            elif problem := _not_a_message(line):
                await self._refuse(find_identity(line, line), problem)
            else:
                yield line.decode(errors="replace")

    async def _refuse(self, identity: int | str | None, error: dict[str, Any]) -> None:
        if self.refusals is not None:
            answer = JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData.model_validate(error))
            await self.refusals.send(SessionMessage(answer))


def _not_a_message(line: bytes) -> dict[str, Any] | None:
    """The JSON-RPC error for a line that the MCP library cannot parse: no JSON, nested too deep, no message."""
    if not line.strip():
        return None
    try:
        jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return {"code": PARSE_ERROR, "message": first["msg"]}
        return {"code": INVALID_REQUEST, "message": "this is not a JSON-RPC message"}
    return None


async def _run_stdio(server: FastMCP) -> None:
    """As `FastMCP.run_stdio_async`, which bounds no message."""
    token = set_transport("stdio")
    stdin = _Stdin()
    try:
        async with (
            server._lifespan_manager(),
            stdio_server(stdin=cast("anyio.AsyncFile[str]", stdin)) as (received, sent),
        ):
            stdin.refusals = cast("MemoryObjectSendStream[SessionMessage]", sent)
            wire = server._mcp_server
            await wire.run(received, sent, wire.create_initialization_options())
    finally:
        reset_transport(token)


def serve_http(
    settings: Settings,
    users: Users,
    *,
    host: str,
    port: int,
    allowed_hosts: list[str],
    began: str,
    json_log: bool = False,
) -> None:
    """Serve many clients over Streamable HTTP at /mcp until interrupted; SIGTERM drains it.

    `began`: what its log says first; `json_log`: in lines of JSON. `users`: who has a token now. With any, every
    request needs one, also later when no token is left. Raises SettingsError for an address that others can reach while
    no user has one, DatabaseError.
    """
    require_users(host, users)
    bound_log()
    tracing.start_where_configured()
    exit_in_order()
    jobs: list[JobStore] = []
    ended = contextlib.ExitStack()
    database = open_access(settings)
    audit = AuditLog(database, keep_days=settings.audit_days)
    try:
        auth = None
        if users:
            provider = IdentityProvider(settings) if users.oidc else None
            auth = TeamTokens(ListedTokens(settings), TokenStore(database), provider)

        def listed() -> UserList:
            return user_list(TokenStore(database).list(), set(read_tokens(settings).values()))

        server = build_server(settings, auth=auth, audit=audit, on_start=jobs.append, users=listed)
        if json_log:
            ended.callback(log_as_json())
        _log.info(began)
        server.run(
            transport="http",
            host=host,
            port=port,
            show_banner=False,
            host_origin_protection=True,
            allowed_hosts=allowed_hosts or None,
            middleware=[Middleware(ExplainTooLong), Middleware(DrainOnSigterm, jobs=jobs, grace_s=settings.drain_s)],
            uvicorn_config={
                "access_log": False,
                "log_level": "warning",
                **({"log_config": None} if json_log else {}),
                "timeout_graceful_shutdown": 5,
                "timeout_keep_alive": KEPT_S,
                "h11_max_incomplete_event_size": HEADER_BYTES,
                "http": bounded(settings.max_connections_per_address, AuditRefusals(audit)),
                "ws": "websockets-sansio",
                "ws_max_size": FRAME_BYTES,
                "ws_per_message_deflate": False,
                "ws_ping_interval": None,  # a worker renews its leases, and is gone when it does not
            },
        )
    finally:
        audit.close()
        database.dispose()
        ended.close()


class ExplainTooLong:
    """Gives the answer to a body over MESSAGE_BYTES, which the MCP library refuses, the form of a JSON-RPC error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; only an answer of status 413 is changed."""
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": TOO_LONG}).encode()
        refused = False

        async def explain(message: Message) -> None:
            nonlocal refused
            refused = refused or message.get("status") == 413
            if not refused:
                await send(message)
            elif message["type"] == "http.response.start":
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await send({**message, "headers": headers})
            elif not message.get("more_body"):
                await send({**message, "body": body})

        await self._app(scope, receive, cast("Any", explain))
