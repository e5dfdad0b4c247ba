"""The attached stdin, stdout and stderr of a container: one socket, spoken to directly, with deadline and byte limits.

By hand, because docker-py can open such a socket but neither gives it a time-out nor bounds what comes back.
Source of the framing: Docker Engine API, "Attach to a container", "Stream format".
"""

import contextlib
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from amdkernel_mcp.execution.head_and_tail import HeadAndTail
from amdkernel_mcp.execution.stdin_stream import StdinStream

_STDOUT, _STDERR = 1, 2
_CHUNK = 1 << 20


@dataclass
class Received:
    """What has come back so far. `ended`: the container closed its side."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: HeadAndTail = field(default_factory=HeadAndTail)
    ended: bool = False
    late: bool = False
    too_much: bool = False


class Stream:
    """One attached container. Used by one thread, once."""

    def __init__(self, connection: socket.socket, already_read: bytes = b"") -> None:
        self._socket = connection
        self._pending = bytearray(already_read)
        connection.setblocking(False)

    def is_alive(self) -> bool:
        """Whether the container still waits for its job: then it neither writes nor closes."""
        return not self._pending and not self._ready(write=False, seconds=0)[0]

    def exchange(
        self,
        request: bytes,
        *,
        deadline: float,
        stdout_limit: int,
        stderr_limit: int,
        finished: Callable[[bytearray], bool],
        stderr_mark: bytes,
        on_line: Callable[[str], None] | None = None,
        stdin_stream: StdinStream | None = None,
    ) -> Received:
        """Send `request` and then `stdin_stream` while reading, until the end, `deadline` (time.monotonic) or a limit.

        The end is reached when the container closes its side, or when `finished(stdout)` is true and stderr has its
        mark: Docker carries the two in separate pipes, and either can be the slower one.
        """
        received = Received(stderr=HeadAndTail(on_line, end_mark=stderr_mark))
        try:
            self._exchange(
                received, memoryview(request), deadline, (stdout_limit, stderr_limit), finished, stdin_stream
            )
        finally:
            received.stderr.finish()
        return received

    def _exchange(
        self,
        received: Received,
        to_send: memoryview,
        deadline: float,
        limits: tuple[int, int],
        finished: Callable[[bytearray], bool],
        stdin_stream: StdinStream | None,
    ) -> None:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                received.late = True
                return
            more = stdin_stream.descriptor if stdin_stream and not to_send else None
            readable, writable, stdin_ready = self._ready(write=bool(to_send), seconds=left, more=more)
            if writable:
                to_send = self._send(to_send)
            if stdin_ready and stdin_stream:
                to_send = memoryview(stdin_stream.take())
            if readable:
                received.ended = not self._receive()
                self._demultiplex(received)
            if received.ended or (received.stderr.ended and finished(received.stdout)):
                return
            if len(received.stdout) > limits[0] or received.stderr.total > limits[1]:
                received.too_much = True
                return

    def close(self) -> None:
        """Hang up: the container sees the end of its stdin and ends."""
        self._socket.close()

    def _ready(self, *, write: bool, seconds: float, more: int | None = None) -> tuple[bool, bool, bool]:
        """Whether the container can be read, can be written to, and whether `more` can be read."""
        poll = select.poll()  # select() fails from the 1024th open file on
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if write else 0))
        if more is not None:
            poll.register(more, select.POLLIN)
        found = dict(poll.poll(seconds * 1000))
        events = found.get(self._socket.fileno(), 0)
        return bool(events & ~select.POLLOUT), bool(events & select.POLLOUT), more in found

    def _send(self, data: memoryview) -> memoryview:
        try:
            return data[self._socket.send(data[:_CHUNK]) :]
        except BlockingIOError:
            return data
        except OSError:  # the container ended without reading all: what it wrote is still to be read
            return data[len(data) :]

    def _receive(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            try:
                data = self._socket.recv(_CHUNK)
            except ConnectionError:
                return False
            self._pending += data
            return bool(data)
        return True

    def _demultiplex(self, received: Received) -> None:
        position = 0
        while len(self._pending) - position >= 8:
            size = int.from_bytes(self._pending[position + 4 : position + 8], "big")
            end = position + 8 + size
            if len(self._pending) < end:
                break
            payload = bytes(self._pending[position + 8 : end])
            if self._pending[position] == _STDOUT:
                received.stdout += payload
            elif self._pending[position] == _STDERR:
                received.stderr.add(payload)
            position = end
        del self._pending[:position]
