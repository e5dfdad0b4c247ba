"""A process between a client and its stdio server that answers the opening requests while the server still imports.

The first request that the server receives binds it to one era of the protocol, and it refuses the other era from then
on. So a request that is answered here is not passed on, and a client that asks `server/discover` and then falls back to
`initialize` still finds a server that serves it. Only `initialize` is both answered and passed on, since the server
needs it; the server's own answer is dropped. From the server's first line on this is a pipe.
A server that dies before its first line is explained to the client: each request is answered with an error that
carries the last lines of the server's stderr.
By hand, because importing an MCP library takes longer than a client waits for its tools.
"""

import collections
import json
import os
import signal
import threading
from typing import Any

from amdkernel_mcp.server.admission.limits import MESSAGE_BYTES, TOO_LONG
from amdkernel_mcp.server.lines import LongLine, read_bounded_lines, read_lines
from amdkernel_mcp.stdio.handshake import Era, Handshake, era_of

STDERR_LINES = 12
GRACE_S = 5.0  # for a server whose client has gone, before it is terminated, and again before it is killed
WAITING_BYTES = 4 * MESSAGE_BYTES  # messages held for a server that does not read; then the client is not read either


class Relay:
    """Relays one session between this process's stdin and stdout and the server `command`."""

    def __init__(self, command: list[str], handshake: Handshake | None) -> None:
        self._command = command
        self._handshake = handshake
        self._lock = threading.Lock()  # guards the five fields below and keeps lines on stdout whole
        self._ready = False
        self._era: Era | None = None  # of the first request that was passed on
        self._answered: set[Any] = set()
        self._pending: list[Any] = []
        self._death: dict[str, Any] | None = None
        self._to_server = _Waiting()
        self._stderr: collections.deque[str] = collections.deque(maxlen=STDERR_LINES)
        self._gone = threading.Event()

    def run(self) -> int:
        """Relay until the server has gone; its exit code, 128 + n when signal n ended it."""
        self._server, stdin, stdout, stderr = _spawn(self._command)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._forward)
        client = threading.Thread(target=self._from_client, daemon=True)
        client.start()
        threading.Thread(target=self._feed_server, args=(stdin,), daemon=True).start()
        errors = threading.Thread(target=self._copy_stderr, args=(stderr,), daemon=True)
        errors.start()
        for line in read_lines(stdout):
            self._from_server(line)
        code = os.waitstatus_to_exitcode(os.waitpid(self._server, 0)[1])
        self._gone.set()
        errors.join(timeout=1)
        if not self._ready and code >= 0:
            self._explain(code)
            client.join()
        return code if code >= 0 else 128 - code

    def _forward(self, number: int, _frame: object) -> None:
        if self._gone.is_set():
            os._exit(128 + number)
        os.kill(self._server, number)

    def _from_client(self) -> None:
        for line in read_bounded_lines(0, MESSAGE_BYTES):
            if isinstance(line, LongLine):
                with self._lock:
                    self._send({"id": line.identity, "error": TOO_LONG})
            # Reading `_ready` without the lock is safe: it turns true once, and then no request is looked at any more.
            elif self._ready or self._open(line):
                self._to_server.put(line)
        self._to_server.put(None)

    def _open(self, line: bytes) -> bool:
        """Answer a request of the time before the server is ready; whether the line must go to the server."""
        request = _parse(line)
        identity = request.get("id")
        if not isinstance(identity, int | str) or "method" not in request:
            return True
        with self._lock:
            if self._ready:
                return True
            if self._death is not None:
                self._send({"id": identity, "error": self._death})
                return False
            answer = self._handshake.answer(request, self._era) if self._handshake else None
            if answer is not None:
                self._send({"id": identity, **answer})
                if request["method"] != "initialize":
                    return False
                self._answered.add(identity)
            else:
                self._pending.append(identity)
            self._era = self._era or era_of(request)
            return True

    def _from_server(self, line: bytes) -> None:
        with self._lock:
            self._ready = True
            if self._answered:
                message = _parse(line)
                if "method" not in message and message.get("id") in self._answered:
                    self._answered.discard(message["id"])
                    return
            self._write_out(line)

    def _explain(self, code: int) -> None:
        """Answer all waiting and all later requests with the reason why there is no server."""
        with self._lock:
            last = list(self._stderr)
            reason = next((line for line in reversed(last) if line.strip()), "it printed nothing")
            message = f"amdkernel-mcp could not start (exit code {code}): {reason.strip()}"
            self._death = {"code": -32603, "message": message, "data": {"stderr": last}}
            for identity in self._pending:
                self._send({"id": identity, "error": self._death})

    def _send(self, message: dict[str, Any]) -> None:
        self._write_out(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _write_out(self, line: bytes) -> None:
        try:
            _write(1, line)
        except BrokenPipeError:  # the client has gone without closing stdin
            if not self._gone.is_set():
                os.kill(self._server, signal.SIGTERM)

    def _feed_server(self, stdin: int) -> None:
        """Write to the server from a separate thread: a long message must not delay the answers to later ones."""
        try:
            while (line := self._to_server.get()) is not None:
                _write(stdin, line)
        except BrokenPipeError:
            self._to_server.drop()
            return
        os.close(stdin)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._gone.wait(GRACE_S):
                return
            os.kill(self._server, number)

    def _copy_stderr(self, stderr: int) -> None:
        for line in read_lines(stderr):
            self._stderr.append(line.decode(errors="replace").rstrip("\n"))
            _write(2, line)


class _Waiting:
    """Lines for the server, in order; `put` blocks while more than WAITING_BYTES wait."""

    def __init__(self) -> None:
        self._lines: collections.deque[bytes | None] = collections.deque()
        self._bytes = 0
        self._dropped = False
        self._changed = threading.Condition()

    def put(self, line: bytes | None) -> None:
        """Append `line`; None ends the queue."""
        with self._changed:
            self._changed.wait_for(lambda: self._bytes <= WAITING_BYTES or self._dropped)
            if not self._dropped:
                self._lines.append(line)
                self._bytes += len(line or b"")
                self._changed.notify_all()

    def get(self) -> bytes | None:
        """The next line; blocks until there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines)
            line = self._lines.popleft()
            self._bytes -= len(line or b"")
            self._changed.notify_all()
            return line

    def drop(self) -> None:
        """Forget all lines, and all that come: the server does not read any more."""
        with self._changed:
            self._dropped = True
            self._lines.clear()
            self._changed.notify_all()


def _spawn(command: list[str]) -> tuple[int, int, int, int]:
    """Start `command`; its process id and our ends of its stdin, stdout and stderr.

    posix_spawn and not subprocess, whose import alone takes as long as everything else here. A separate process
    group, so that a Ctrl-C in a terminal reaches the server once, through us.
    """
    pipes = [os.pipe() for _ in range(3)]
    (in_server, in_us), (out_us, out_server), (err_us, err_server) = pipes
    actions = [(os.POSIX_SPAWN_DUP2, end, fd) for fd, end in enumerate((in_server, out_server, err_server))]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions, setpgroup=0)
    for end in (in_server, out_server, err_server):
        os.close(end)
    return process, in_us, out_us, err_us


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _parse(line: bytes) -> dict[str, Any]:
    """The JSON object of `line`; empty for anything else, which is left to the server."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
