"""`amdkernel worker`: connects to a server, takes runs until SIGTERM, and comes back when the server does."""

from __future__ import annotations

import logging
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import InfrastructureError, InputError, SettingsError
from amdkernel_mcp.workers.messages import (
    FRAME_BYTES,
    HELLO_S,
    PATH,
    RENEW_S,
    Cancel,
    Draining,
    End,
    Files,
    FromWorker,
    MessageError,
    Refused,
    Release,
    Renew,
    Reset,
    Start,
    Stdin,
    Welcome,
    encode,
    from_server,
)
from amdkernel_mcp.workers.taken_runs import TakenRuns

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

    from amdkernel_mcp.workers.messages import Hello
    from amdkernel_mcp.workers.offer import Offer

_log = logging.getLogger(__name__)

CONNECT_S = 10.0
PING_S, PONG_S = 5.0, 10.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 15.0
ENDING_S = 90.0
"""For the containers of runs that are over to end: a program on a GPU has 60 s."""
DRAIN_S = 600.0
"""For jobs of several runs that have begun here to end; then only the runs that it has are finished."""
_LOOK_S = 0.5


_DRAINING = (
    f"draining: takes no new job, and finishes those that have begun here, for {DRAIN_S / 60:.0f} min at most; "
    "a second signal ends them"
)


class _TryAgain(InfrastructureError):
    """The server is not there, or does not take this worker now."""


class Agent:
    """One worker. `note`: shows a sentence to whoever started it."""

    def __init__(
        self, url: str, token: Callable[[], str | None], offer: Offer, hello: Hello, note: Callable[[str], None]
    ) -> None:
        self._url = worker_url(url)
        self._shown_url = url
        self._token = token
        self._offer = offer
        self._hello = hello
        self._note = note
        self._draining = threading.Event()
        self._ending = threading.Event()
        self._was_welcome = False

    def work(self) -> None:
        """Serve until SIGTERM, or with a key until the server ends its session.

        Raises SettingsError for a token that the server refuses, InfrastructureError where it refuses this worker.
        """
        wait_s, silent = FIRST_WAIT_S, ""
        with self._signals():
            while not self._draining.is_set():
                try:
                    if self._connected():
                        return
                    wait_s, silent = FIRST_WAIT_S, ""
                except _TryAgain as error:
                    pause_s = random.uniform(0.5, 1.0) * wait_s
                    if error.message != silent:  # once, not with each try
                        self._note(f"{error.message}; trying again")
                    silent = error.message
                    wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                    self._draining.wait(pause_s)

    def _connected(self) -> bool:
        """One connection, from its begin to its end. Whether the work is over."""
        with self._open() as socket:
            self._introduce(socket)
            session = _Session(socket, self._offer, self._note, is_released=self._hello.key is not None)
            try:
                return session.serve(self._draining, self._ending)
            finally:
                session.close()

    def _introduce(self, socket: ClientConnection) -> None:
        import websockets.exceptions

        try:
            socket.send(encode(self._hello))
            answer = from_server(_bytes(socket.recv(HELLO_S)))
        except (TimeoutError, websockets.exceptions.WebSocketException, MessageError):
            raise _TryAgain(f"{self._shown_url} did not answer as a server does") from None
        if isinstance(answer, Refused):
            if answer.again:
                raise _TryAgain(answer.message)
            raise InfrastructureError(f"the server refuses this worker: {answer.message}", hint=answer.hint)
        if not isinstance(answer, Welcome):
            raise _TryAgain(f"{self._shown_url} did not answer as a server does")
        self._was_welcome = True
        self._note(f"connected to {self._shown_url} as {self._hello.name}")

    @contextmanager
    def _open(self) -> Iterator[ClientConnection]:
        import websockets.exceptions
        from websockets.sync.client import connect

        token = self._token()
        try:
            socket = connect(
                self._url,
                additional_headers={"Authorization": f"Bearer {token}"} if token else {},
                user_agent_header=f"amdkernel-worker/{__version__}",
                compression=None,
                open_timeout=CONNECT_S,
                ping_interval=PING_S,
                ping_timeout=PONG_S,
                close_timeout=1,
                max_size=FRAME_BYTES,
            )
        except websockets.exceptions.InvalidURI:
            raise InputError(f"{self._shown_url} is not a URL such as https://server.example.com") from None
        except websockets.exceptions.InvalidStatus as error:
            raise self._refused(error.response.status_code, error.response.body or b"") from None
        except (OSError, TimeoutError, websockets.exceptions.WebSocketException) as error:
            raise _TryAgain(f"{self._shown_url} does not answer: {_reason(error)}") from None
        with socket:
            yield socket

    def _refused(self, status: int, body: bytes | bytearray) -> Exception:
        said = " ".join(body[:500].decode(errors="replace").split()) or f"status {status}"
        if status in (401, 403) and not self._was_welcome:
            return SettingsError(
                f"{self._shown_url} refuses the token: {said}",
                hint="`amdkernel admin tokens add NAME --scope worker` on the server makes one for a worker",
            )
        if status == 404:
            return InputError(f"{self._shown_url} takes no workers: {said}", hint="is it an `amdkernel serve`?")
        return _TryAgain(f"{self._shown_url} refuses this worker: {said}")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT drain; a second one ends at once."""

        def begin(*_: object) -> None:
            if self._draining.is_set():
                self._ending.set()
            self._draining.set()

        before = {number: signal.signal(number, begin) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Session:
    """One connection that the server has accepted."""

    def __init__(
        self, socket: ClientConnection, offer: Offer, note: Callable[[str], None], *, is_released: bool
    ) -> None:
        """`is_released`: it goes after the runs that it has, whatever the server still wants of it."""
        self._socket = socket
        self._note = note
        self._is_released = is_released
        self._runs = TakenRuns(offer.sandbox, self._send, offer.reset)
        self._over = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name="renew", daemon=True)
        self._renewer.start()

    def serve(self, draining: threading.Event, ending: threading.Event) -> bool:
        """Take runs until the end of the connection. Whether the work is over: drained, or the session was ended."""
        import websockets.exceptions

        until_s: float | None = None
        try:
            while True:
                if draining.is_set() and until_s is None:
                    until_s = time.monotonic() + DRAIN_S
                    self._send(Draining())
                    self._note(_DRAINING)
                if until_s is not None and (ending.is_set() or self._may_go(until_s)):
                    return True
                try:
                    frame = self._socket.recv(_LOOK_S)
                except TimeoutError:
                    continue
                if self._receive(from_server(_bytes(frame))):
                    return True
        except (websockets.exceptions.ConnectionClosed, ConnectionError):
            return False
        except MessageError as error:
            raise _TryAgain(f"the server sent {error.message}") from None

    def _may_go(self, until_s: float) -> bool:
        return (self._is_released or time.monotonic() > until_s) and not self._runs.fences()

    def close(self) -> None:
        """End what still runs: its answers would not be accepted. The connection's end has lost their leases."""
        self._over.set()
        self._runs.cancel_all()
        if not self._runs.wait_until_none(ENDING_S):
            _log.warning("containers have not ended within %.0f s; the reaper removes them", ENDING_S)

    def _receive(self, message: Any) -> bool:
        """Whether the session is over."""
        if isinstance(message, Start):
            self._runs.start(message)
        elif isinstance(message, Reset):
            self._runs.reset(message)
        elif isinstance(message, Files | Stdin):
            self._runs.receive(message)
        elif isinstance(message, Cancel):
            self._runs.cancel(message.fence)
        elif isinstance(message, Release):
            self._is_released = True
        return isinstance(message, End)

    def _send(self, message: FromWorker) -> None:
        import websockets.exceptions

        try:
            self._socket.send(encode(message))
        except websockets.exceptions.ConnectionClosed:
            raise ConnectionError("the server is gone") from None

    def _renew(self) -> None:
        while not self._over.wait(RENEW_S):
            try:
                self._send(Renew(fences=self._runs.fences()))
            except ConnectionError:
                return


def worker_url(url: str) -> str:
    """The WebSocket's address of a server whose address users give to editors. Raises InputError."""
    try:
        parts = urlsplit(url)
        scheme = {"http": "ws", "https": "wss"}.get(parts.scheme)
        _ = parts.port
    except ValueError:
        scheme = None
    if scheme is None or not parts.hostname:
        raise InputError(f"{url} is not a URL such as https://server.example.com:8080")
    return f"{scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/mcp')}{PATH}"


def _bytes(frame: str | bytes) -> bytes:
    return frame if isinstance(frame, bytes) else b""


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_S:.0f} s"
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
