"""Connections that cannot stop the server: how many there are, and how long a request may take to arrive.

uvicorn ends only a connection that is idle after an answer (`timeout_keep_alive`); it waits for ever for the first
request, for the rest of a header and for the rest of a body, and its `limit_concurrency` refuses requests but keeps
connections. So 300 half-sent requests once used up the process's files, and each further connection wrote a traceback.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from amdkernel_mcp.server.admission.limits import BODY_S, HEADER_S, MOST_CONNECTIONS

WANTED_FILES = 65536
LOG_LINES_PER_MINUTE = 20

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_Phase = Literal["header", "body", "kept", "served", "closing"]
_DEADLINES: dict[_Phase, float] = {"header": HEADER_S, "body": BODY_S, "closing": HEADER_S}


class Connections:
    """The open connections of a server, by address. Used by the event loop's thread alone."""

    def __init__(self, *, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._open: dict[BoundedProtocol, None] = {}  # in the order of their age

    def admit(self, new: BoundedProtocol) -> bool:
        """Count a new connection. Where there are too many, the oldest that sends nothing useful is closed for it.

        False when all the others are being served: then the new one is refused.
        """
        same = [each for each in self._open if each.address == new.address]
        full = same if len(same) >= self._most_per_address else [*self._open] if len(self._open) >= self._most else None
        if full is not None:
            waiting = next((each for each in full if each.phase != "served"), None)
            if waiting is None:
                return False
            waiting.drop()
        self._open[new] = None
        return True

    def forget(self, old: BoundedProtocol) -> None:
        """A connection has ended."""
        self._open.pop(old, None)


class BoundedProtocol(H11Protocol):
    """A connection of uvicorn whose requests must arrive in time. `bounded` gives a class its `limits`."""

    limits: Connections
    around: Callable[[ASGIApp], ASGIApp]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.app = type(self).around(self.app)
        self.phase: _Phase = "kept"
        self.address = ""
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Raises nothing; a connection too many is closed at once."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if not self.limits.admit(self):
            transport.abort()
            return
        self._enter("header")

    def connection_lost(self, exc: Exception | None) -> None:
        """Its place is free again."""
        self._enter("kept")
        self.limits.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Find out after each piece how much of the request is here."""
        super().data_received(data)
        self._look(idle="header")

    def on_response_complete(self) -> None:
        """uvicorn's own deadline follows, for the next request to begin."""
        super().on_response_complete()
        self._look(idle="kept")

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Raises nothing. uvicorn hands the connection to another class, so its end is heard of there."""
        self._enter("served")
        super().handle_websocket_upgrade(event)
        upgraded = cast("asyncio.Protocol", self.transport.get_protocol())
        its_end = upgraded.connection_lost

        def connection_lost(exc: Exception | None) -> None:
            self.limits.forget(self)
            its_end(exc)

        upgraded.connection_lost = connection_lost  # type: ignore[method-assign]

    def drop(self) -> None:
        """Close it without a word: it may not be reading either."""
        self._enter("kept")
        self.limits.forget(self)
        if self.transport is not None:
            self.transport.abort()

    def _look(self, *, idle: _Phase) -> None:
        if self.transport.get_protocol() is not self:
            return  # it is a WebSocket now
        if self.transport.is_closing():
            self._enter("closing")  # it ends once the client has read the rest, which it may never do
            return
        state = self.conn.their_state
        answered = self.cycle is None or self.cycle.response_complete
        if state is h11.IDLE:
            self._enter(idle)
        elif state is h11.SEND_BODY:
            self._enter("body")
        else:
            self._enter("kept" if answered else "served")

    def _enter(self, phase: _Phase) -> None:
        if phase == self.phase and phase != "kept":
            return  # its deadline stays
        self.phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        seconds = _DEADLINES.get(phase)
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self.drop)


def bounded(most_per_address: int, around: Callable[[ASGIApp], ASGIApp]) -> type[BoundedProtocol]:
    """The class of one server's connections, for uvicorn's setting `http`; `around` wraps the whole application."""
    files = raise_file_limit()
    counted = Connections(most=min(MOST_CONNECTIONS, max(16, files // 2)), most_per_address=most_per_address)
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": counted, "around": staticmethod(around)})


def raise_file_limit() -> int:
    """How many files this process may open, now that it asked for more."""
    try:
        import resource
    except ImportError:  # Windows, whose C library has this limit
        return 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinite = resource.RLIM_INFINITY
    wanted = WANTED_FILES if hard == infinite else min(WANTED_FILES, hard)
    if soft != infinite and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return WANTED_FILES if soft == infinite else soft


class FewLines(logging.Filter):
    """Lets 20 lines a minute through, so that no client can fill the disk with complaints about it."""

    def __init__(self) -> None:
        super().__init__()
        self._minute = 0
        self._lines = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is printed; the first one of the next minute says how many were not."""
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            left_out = max(0, self._lines - LOG_LINES_PER_MINUTE)
            self._minute, self._lines = minute, 0
            if left_out:
                record.msg, record.args = f"{record.getMessage()} ({left_out} lines were left out before)", ()
        self._lines += 1
        return self._lines <= LOG_LINES_PER_MINUTE


_FEW_LINES = FewLines()


def bound_log() -> None:
    """Bound what uvicorn and the event loop write about connections."""
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(_FEW_LINES)
