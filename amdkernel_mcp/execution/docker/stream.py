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

from amdkernel_mcp.execution.stdin_stream import StdinStream

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
    """Bounded text: keeps the beginning and the end of what is added, and hands each whole line on as it comes.

    With an `end_mark` the text ends where that stands; the mark and what follows is no part of it.
    """

    def __init__(
        self,
        on_line: Callable[[str], None] | None = None,
        *,
        end_mark: bytes = b"",
        keep_bytes: int = 128 << 10,
    ) -> None:
        self.total = 0
        self.ended = False
        self._mark, self._held = end_mark, b""
        self._keep = keep_bytes
        self._head, self._tail, self._line = bytearray(), bytearray(), bytearray()
        self._on_line = on_line

    def add(self, data: bytes) -> None:
        """Take a piece, of any length."""
        if self._mark:
            data = self._before_mark(data)
        self._keep_bounded(data)

    def finish(self) -> None:
        """Nothing more comes: what looked like the beginning of the mark was none."""
        held, self._held = self._held, b""
        self._keep_bounded(held)

    def _before_mark(self, data: bytes) -> bytes:
        if self.ended:
            return b""
        data = self._held + data
        before, found, _ = data.partition(self._mark)
        self.ended = bool(found)
        held = 0 if found else _overlap(data, self._mark)
        self._held = data[len(data) - held :]
        return before[: len(before) - held]

    def _keep_bounded(self, data: bytes) -> None:
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


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end of `data` may be the beginning of `mark`."""
    return next((n for n in range(min(len(mark) - 1, len(data)), 0, -1) if data.endswith(mark[:n])), 0)


class Stream:
    """One attached container. Used by one thread, once."""

    def __init__(self, connection: socket.socket, already_read: bytes = b"") -> None:
        self._socket = connection
        self._pending = bytearray(already_read)
        connection.setblocking(False)

    def is_alive(self) -> bool:
        """Whether the container still waits: a waiting one neither writes nor closes."""
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
        feed: StdinStream | None = None,
    ) -> Received:
        """Send `request`, then what `feed` brings, while reading, to the end, `deadline` (time.monotonic) or a limit.

        The end is where the container says so, or where `finished(stdout)` is true and stderr has brought its mark:
        Docker carries the two in separate pipes, so the one can be through while the other is still on its way.
        """
        received = Received(stderr=HeadAndTail(on_line, end_mark=stderr_mark))
        try:
            self._exchange(received, memoryview(request), deadline, (stdout_limit, stderr_limit), finished, feed)
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
        feed: StdinStream | None,
    ) -> None:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                received.late = True
                return
            more = feed.descriptor if feed and not to_send else None
            readable, writable, fed = self._ready(write=bool(to_send), seconds=left, more=more)
            if writable:
                to_send = self._send(to_send)
            if fed and feed:
                to_send = memoryview(feed.take())
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
