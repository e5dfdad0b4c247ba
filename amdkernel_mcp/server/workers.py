"""`/worker` of the HTTP server: a WebSocket for each `amdkernel worker`, next to /mcp.

Routes next to /mcp are not behind FastMCP's check of tokens, so this one verifies the token itself. A token of a worker
has the scope `worker` and no other, so that a host that is taken over cannot act as a user.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from amdkernel_mcp import __version__
from amdkernel_mcp.access.audit import AuditLog, Event, Outcome, Repeated
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.workers.connection import Connection
from amdkernel_mcp.workers.hub import WorkerRefused
from amdkernel_mcp.workers.messages import (
    HELLO_S,
    LEASE_S,
    PATH,
    FromServer,
    Hello,
    MessageError,
    Refused,
    Welcome,
    encode,
    from_worker,
)

if TYPE_CHECKING:
    from fastmcp.server.auth import AccessToken, AuthProvider
    from starlette.websockets import WebSocket

    from amdkernel_mcp.workers.hub import WorkerHub

_log = logging.getLogger(__name__)

SEND_S = 60.0
"""For one message to leave; a worker that reads nothing is gone."""
VERIFY_S = 3.0
"""Between two looks at the token of a connected worker; two in a row that find it invalid end the connection."""
_OVER_S = 0.1
"""For a refused connection to end: uvicorn logs an error for one that is open when the application returns."""
_BROKE_THE_RULES, _TRY_LATER, _GOODBYE = 1008, 1013, 1000


def worker_route(
    auth: AuthProvider | None, hub: Callable[[], WorkerHub | None], audit: AuditLog | None
) -> WebSocketRoute:
    """The route of the workers. `hub`: of the running server; None before the start and after the end."""
    return WebSocketRoute(PATH, _Endpoint(auth, hub, audit).enter)


def noted_in(audit: AuditLog | None) -> Callable[[str, str, Outcome, str], None]:
    """Writes what the server does of itself into the audit log."""

    def note(action: str, target: str, outcome: Outcome, reason: str) -> None:
        if audit is not None:
            audit.note(Event(time.time(), "server", None, "", action, target, None, None, outcome, reason))

    return note


def seen_in(audit: AuditLog | None) -> Collection[str] | None:
    """The names of the workers that the audit log has; None where it cannot be read."""
    try:
        return None if audit is None else [*audit.workers()]
    except DatabaseError:
        return None


def _refuse_other_host(hello: Hello, token: AccessToken) -> None:
    """Raises WorkerRefused where the token has not the name of the host. One that the server expects has a key."""
    user = token.client_id
    if hello.key is None and not fnmatchcase(hello.name, user):
        raise WorkerRefused(
            f"this token is that of the host {user}, not of {hello.name}",
            hint=f"start the worker with `--name {user}`, or make a token with the name {hello.name}",
        )


class _Endpoint:
    def __init__(self, auth: AuthProvider | None, hub: Callable[[], WorkerHub | None], audit: AuditLog | None) -> None:
        self._auth = auth
        self._hub = hub
        self._audit = audit
        self._repeated = Repeated()

    async def enter(self, socket: WebSocket) -> None:
        """One connection, from its begin to its end."""
        hub = self._hub()
        token = await self._token(socket)
        status, why = _why_not(self._auth, token, hub, socket)
        if why is not None or hub is None or token is None:
            await self._note_refusal(socket, token, f"{status} {why}")
            headers = {"www-authenticate": "Bearer"} if status == 401 else {}
            await socket.send_denial_response(PlainTextResponse(f"{why}\n", status_code=status, headers=headers))
            await asyncio.sleep(_OVER_S)
            return
        await socket.accept()
        try:
            hello = await self._hello(socket)
            _refuse_other_host(hello, token)
            link = _Link(socket)
            connection = hub.join(hello, link)
        except WorkerRefused as refused:
            await self._note_refusal(socket, token, refused.message)
            answer = Refused(message=refused.message, hint=refused.hint, again=refused.again)
            await socket.send_bytes(encode(answer))
            await socket.close(_TRY_LATER)
            return
        except MessageError as error:
            await self._note_refusal(socket, token, error.message)
            await socket.close(_BROKE_THE_RULES, error.message[:100])
            return
        except WebSocketDisconnect:
            return
        await self._serve(hub, connection, link, socket, token)

    async def _serve(
        self, hub: WorkerHub, connection: Connection, link: _Link, socket: WebSocket, token: AccessToken
    ) -> None:
        name = connection.hello.name
        self._note(socket, token, f"worker {name} connected", "done", None)
        _log.info("the worker of %s is connected", name)
        why: str | None = None
        try:
            await link.deliver(Welcome(server_version=__version__))
            why = await self._received(connection, socket, token)
        except LostWorkerError:
            why = "it does not read"
        finally:
            hub.leave(connection)
            link.end()
            _log.info("the worker of %s has left: %s", name, why or "the connection was closed")
            self._note(socket, token, f"worker {name} left", "failed" if why else "done", why)
        await _closed(socket, _BROKE_THE_RULES if why else _GOODBYE, why)

    async def _token(self, socket: WebSocket) -> AccessToken | None:
        scheme, _, text = socket.headers.get("authorization", "").partition(" ")
        if self._auth is None or scheme.lower() != "bearer" or not text:
            return None
        return await self._auth.verify_token(text)

    async def _received(self, connection: Connection, socket: WebSocket, token: AccessToken) -> str | None:
        """Handle what comes until the end. Why the server ends the connection; None: the worker did."""
        received = asyncio.create_task(_received(connection, socket))
        revoked = asyncio.create_task(self._revoked(token))
        try:
            done, _ = await asyncio.wait({received, revoked}, return_when=asyncio.FIRST_COMPLETED)
            return received.result() if received in done else "its token is not valid any more"
        finally:
            received.cancel()
            revoked.cancel()

    async def _revoked(self, token: AccessToken) -> None:
        """Returns when the token is not valid any more. Twice, because a database that is busy verifies nothing."""
        assert self._auth is not None
        misses = 0
        while misses < 2:
            await asyncio.sleep(VERIFY_S)
            misses = 0 if await self._auth.verify_token(token.token) else misses + 1

    async def _hello(self, socket: WebSocket) -> Hello:
        """Raises MessageError, WebSocketDisconnect."""
        try:
            message = from_worker(await asyncio.wait_for(_frame(socket), HELLO_S))
        except TimeoutError:
            raise MessageError("the worker did not introduce itself") from None
        if not isinstance(message, Hello):
            raise MessageError("the worker did not introduce itself")
        return message

    async def _note_refusal(self, socket: WebSocket, token: AccessToken | None, why: str) -> None:
        event = self._event(socket, token, f"worker {PATH}", "refused", None)
        reason = self._repeated.reason(why, event.user, event.address)
        if self._audit is not None and reason is not None:
            await asyncio.to_thread(self._audit.write, _with_reason(event, reason))

    def _note(self, socket: WebSocket, token: AccessToken, action: str, outcome: Outcome, reason: str | None) -> None:
        if self._audit is not None:
            self._audit.note(self._event(socket, token, action, outcome, reason))

    def _event(
        self, socket: WebSocket, token: AccessToken | None, action: str, outcome: Outcome, reason: str | None
    ) -> Event:
        known = (token.claims or {}).get("token") if token else None
        return Event(
            at=time.time(), user=token.client_id if token else "", token=known if isinstance(known, str) else None,
            address=socket.client.host if socket.client else "", action=action, target=None, job=None, attempt=None,
            outcome=outcome, reason=reason,
        )  # fmt: skip


def _why_not(
    auth: AuthProvider | None, token: AccessToken | None, hub: WorkerHub | None, socket: WebSocket
) -> tuple[int, str | None]:
    """Status and reason of a refusal; no reason where the connection is accepted."""
    if "origin" in socket.headers:
        return 403, "a web page cannot be a worker"
    if auth is None:
        return 403, "a worker needs a token, and this server was started before there was one: start it again"
    if token is None:
        return 401, "a known token is needed"
    if set(token.scopes) != {"worker"}:
        return 403, "a worker needs a token with the scope `worker` and no other"
    return (200, None) if hub is not None else (503, "the server is starting or ending")


async def _received(connection: Connection, socket: WebSocket) -> str | None:
    """Handle what comes until the end. Why the server ends the connection; None: the worker did."""
    while True:
        try:
            frame = await asyncio.wait_for(_frame(socket), LEASE_S)
            connection.receive(from_worker(frame))
        except WebSocketDisconnect:
            return None
        except TimeoutError:
            return f"nothing came for {LEASE_S:.0f} s"
        except MessageError as error:
            return error.message


async def _frame(socket: WebSocket) -> bytes:
    """The next message. Raises MessageError for text, WebSocketDisconnect at the end."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    frame = message.get("bytes")
    if not isinstance(frame, bytes):
        raise MessageError("a message is text, and not binary")
    return frame


async def _closed(socket: WebSocket, code: int, why: str | None) -> None:
    try:
        await asyncio.wait_for(socket.close(code, (why or "")[:100]), HELLO_S)
    except (RuntimeError, WebSocketDisconnect, TimeoutError):
        return  # closed already, or it does not read


def _with_reason(event: Event, reason: str) -> Event:
    from dataclasses import replace

    return replace(event, reason=reason)


class _Link:
    """Implements `Link` on a WebSocket of this event loop."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False

    async def deliver(self, message: FromServer) -> None:
        """Send it. Raises LostWorkerError."""
        if self._ended:
            raise LostWorkerError("the worker is gone")
        try:
            async with asyncio.timeout(SEND_S), self._one_at_a_time:
                await self._socket.send_bytes(encode(message))
        except (TimeoutError, RuntimeError, WebSocketDisconnect, OSError):
            self._ended = True
            raise LostWorkerError("the worker is gone") from None

    def send(self, message: FromServer) -> None:
        """See `Link.send`."""
        try:
            asyncio.run_coroutine_threadsafe(self.deliver(message), self._loop).result(2 * SEND_S)
        except (RuntimeError, TimeoutError, asyncio.CancelledError):  # the server ends
            raise LostWorkerError("the worker is gone") from None

    def post(self, message: FromServer) -> None:
        """See `Link.post`."""
        try:
            self._loop.call_soon_threadsafe(self._post, message)
        except RuntimeError:
            return  # the loop is closed

    def end(self) -> None:
        """Send nothing more."""
        self._ended = True

    def _post(self, message: FromServer) -> None:
        async def deliver() -> None:
            try:
                await self.deliver(message)
            except LostWorkerError:
                return

        task = self._loop.create_task(deliver())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
