"""Runs the server: for one client over stdin and stdout, or for many over Streamable HTTP."""

from __future__ import annotations

import json
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
from mcp_types import ErrorData, JSONRPCError
from starlette.middleware import Middleware

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.engine import Engine
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.server.app import build_server
from amdkernel_mcp.server.limits import MESSAGE_BYTES, TOO_LONG
from amdkernel_mcp.server.lines import LongLine, read_bounded_lines
from amdkernel_mcp.server.team import TeamTokens
from amdkernel_mcp.server.tokens import require_tokens

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from fastmcp import FastMCP
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def serve_stdio() -> int:
    """Serve one client over stdin and stdout until it closes stdin; the exit code."""
    engines: list[Engine] = []

    def engine(settings: Settings) -> Engine:
        engines.append(Engine(settings))
        return engines[-1]

    def leave(number: int, _: object) -> None:
        """Close the sandboxes and end at once: the read of stdin cannot be interrupted."""
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)  # clients send several, a tenth of a second apart
        for running in engines:
            running.close()
        os._exit(128 + number)

    try:
        server = build_server(load_settings(), local=True, engine=engine)
    except AmdkernelError as error:
        sys.stderr.write(f"{error.message} {error.hint or ''}".rstrip() + "\n")
        return error.exit_code
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)
    anyio.run(_run_stdio, server)
    return 0


class _Stdin:
    """Lines of stdin for the MCP library. A message over the limit is answered with an error instead."""

    def __init__(self) -> None:
        self.refusals: MemoryObjectSendStream[SessionMessage] | None = None
        # As the library does for its own reader: what a tool starts must not read the client's messages.
        own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._lines = read_bounded_lines(own, MESSAGE_BYTES)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await anyio.to_thread.run_sync(next, self._lines, None)) is not None:
            if not isinstance(line, LongLine):
                yield line.decode(errors="replace")
            elif self.refusals is not None:
                error = JSONRPCError(jsonrpc="2.0", id=line.identity, error=ErrorData.model_validate(TOO_LONG))
                await self.refusals.send(SessionMessage(error))


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


def serve_http(settings: Settings, tokens: dict[str, str], *, host: str, port: int, allowed_hosts: list[str]) -> None:
    """Serve many clients over Streamable HTTP at /mcp until interrupted. `tokens`: token and user's name.

    Raises SettingsError for an address that others can reach while no tokens are set.
    """
    require_tokens(host, tokens)
    server = build_server(settings, auth=TeamTokens(tokens) if tokens else None)
    server.run(
        transport="http",
        host=host,
        port=port,
        show_banner=False,
        log_level="warning",
        host_origin_protection=True,
        allowed_hosts=allowed_hosts or None,
        middleware=[Middleware(ExplainTooLong)],
        uvicorn_config={"access_log": False, "timeout_graceful_shutdown": 5},
    )


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
