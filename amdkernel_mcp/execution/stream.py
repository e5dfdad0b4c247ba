"""The attached stdin, stdout and stderr of a container: one socket, spoken to directly, with deadline and byte limits.

docker-py can open such a socket but neither gives it a time-out nor bounds what comes back.
Source of the framing: Docker Engine API, "Attach to a container", "Stream format".
"""

import contextlib
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_STDOUT, _STDERR = 1, 2
_CHUNK = 1 << 20


@dataclass
class Received:
    """What has come back so far. `ended`: the container closed its side."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: "HeadAndTail" = field(default_factory=lambda: HeadAndTail())
    ended: bool = False
    late: bool = False
    too_much: bool = False


class HeadAndTail:
    """Bounded text: keeps the beginning and the end of what is added, and hands each whole line on as it comes."""

    def __init__(self, on_line: Callable[[str], None] | None = None, *, keep_bytes: int = 128 << 10) -> None:
        self.total = 0
        self._keep = keep_bytes
        self._head, self._tail, self._line = bytearray(), bytearray(), bytearray()
        self._on_line = on_line

    def add(self, data: bytes) -> None:
        """Take a piece, of any length."""
        self.total += len(data)
        room = self._keep - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        if len(self._tail) > 2 * self._keep:
            del self._tail[: -self._keep]
        if self._on_line:
            self._lines(data)

    def text(self) -> str:
        """All of it, or head and tail with a remark between them."""
        tail = self._tail[-self._keep :]
        left_out = self.total - len(self._head) - len(tail)
        gap = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out else b""
        return (bytes(self._head) + gap + bytes(tail)).decode(errors="replace")

    @property
    def cut(self) -> bool:
        """Whether something was left out."""
        return self.total > 2 * self._keep

    def _lines(self, data: bytes) -> None:
        assert self._on_line is not None
        *whole, rest = (bytes(self._line) + data).split(b"\n")
        self._line[:] = rest[-4096:]
        for line in whole:
            self._on_line(line[:4096].decode(errors="replace"))


class Stream:
    """One attached container. Used by one thread, once."""

    def __init__(self, connection: socket.socket, already_read: bytes = b"") -> None:
        self._socket = connection
        self._pending = bytearray(already_read)
        connection.setblocking(False)

    def is_alive(self) -> bool:
        """Whether the container still waits: a waiting one neither writes nor closes."""
        return not self._pending and not select.select([self._socket], [], [], 0)[0]

    def exchange(
        self,
        request: bytes,
        *,
        deadline: float,
        stdout_limit: int,
        stderr_limit: int,
        finished: Callable[[bytearray], bool],
        on_line: Callable[[str], None] | None = None,
    ) -> Received:
        """Send `request` while reading, until `finished(stdout)`, the end, `deadline` (time.monotonic) or a limit."""
        received = Received(stderr=HeadAndTail(on_line))
        to_send = memoryview(request)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                received.late = True
                return received
            readable, writable, _ = select.select([self._socket], [self._socket] if to_send else [], [], left)
            if writable:
                to_send = self._send(to_send)
            if readable:
                received.ended = not self._receive()
                self._demultiplex(received)
            if received.ended or (readable and finished(received.stdout)):
                return received
            if len(received.stdout) > stdout_limit or received.stderr.total > stderr_limit:
                received.too_much = True
                return received

    def close(self) -> None:
        """Hang up: the container sees the end of its stdin and ends."""
        self._socket.close()

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
