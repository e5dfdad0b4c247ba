"""The runs that a worker has taken: each in a thread, in the sandbox of its GPU, with a way to cancel it."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.errors import AmdkernelError, TargetError, ToolchainError
from amdkernel_mcp.execution.docker.archive import pack, unpack
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.work import cancelled_by
from amdkernel_mcp.workers.messages import (
    PIECE_BYTES,
    Done,
    Failed,
    Files,
    FromWorker,
    Lines,
    MessageError,
    Output,
    Reset,
    Start,
    Stdin,
    Took,
    pieces,
)

_log = logging.getLogger(__name__)
_LINES_BYTES = PIECE_BYTES // 4
_UNKNOWN = "the worker met an error that it does not know; its log has it"
Send = Callable[[FromWorker], None]
"""Waits while the network is behind. Raises ConnectionError once the server is gone."""


class TakenRuns:
    """All runs of one connection. Thread-safe."""

    def __init__(
        self, sandbox: Callable[[int | None], Sandbox], send: Send, reset: Callable[[int], tuple[int, str]]
    ) -> None:
        """`reset`: of a GPU; its exit code and what was printed."""
        self._sandbox = sandbox
        self._send = send
        self._reset = reset
        self._lock = threading.Condition()
        self._runs: dict[int, _TakenRun | None] = {}  # by fence; None: a reset, which nothing ends

    def start(self, start: Start) -> None:
        """Take a run, whose files follow."""
        run = _TakenRun(start, self._sandbox, self._send, self._ended)
        with self._lock:
            self._runs[start.fence] = run
        if start.archive_bytes == 0:
            raise MessageError("a run without an archive")

    def reset(self, message: Reset) -> None:
        """Reset a GPU, and answer it as a run."""
        with self._lock:
            self._runs[message.fence] = None
        threading.Thread(target=self._work_on, args=(message,), name=f"reset {message.gpu}", daemon=True).start()

    def _work_on(self, message: Reset) -> None:
        began_s = time.monotonic()
        answer: Done | Failed
        try:
            exit_code, said = self._reset(message.gpu)
            answer = Done(
                fence=message.fence, exit_code=exit_code, stderr=said, timed_out=exit_code == 124, out_of_memory=False,
                truncated=False, stderr_cut=False, seconds=time.monotonic() - began_s, output_bytes=0,
            )  # fmt: skip
        except TargetError as error:
            answer = Failed(fence=message.fence, error="target", message=error.message[:2000], hint=None)
        except Exception:
            _log.exception("the reset of GPU %d failed", message.gpu)
            answer = Failed(fence=message.fence, error="target", message=_UNKNOWN, hint=None)
        with suppress(ConnectionError):
            self._send(answer)
        self._ended(message.fence)

    def receive(self, message: Files | Stdin) -> None:
        """A part of a run; of one that is over it is dropped."""
        with self._lock:
            run = self._runs.get(message.fence)
        if run is None:
            return
        if isinstance(message, Files):
            run.add_files(message.data)
        else:
            run.stdin.put(message)

    def cancel(self, fence: int) -> None:
        """End the container of a run."""
        with self._lock:
            run = self._runs.get(fence)
        if run is not None:
            run.cancel()

    def cancel_all(self) -> None:
        """End all containers."""
        for fence in self.fences():
            self.cancel(fence)

    def fences(self) -> list[int]:
        """Those that are not over."""
        with self._lock:
            return [*self._runs]

    def wait_until_none(self, timeout_s: float) -> bool:
        """Whether all were over in time."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._runs, timeout_s)

    def _ended(self, fence: int) -> None:
        with self._lock:
            self._runs.pop(fence, None)
            self._lock.notify_all()


class _TakenRun:
    def __init__(
        self, start: Start, sandbox: Callable[[int | None], Sandbox], send: Send, ended: Callable[[int], None]
    ) -> None:
        self.stdin: queue.SimpleQueue[Stdin | None] = queue.SimpleQueue()
        self._start = start
        self._sandbox = sandbox
        self._send = send
        self._ended = ended
        self._archive = bytearray()
        self._cancellation = Cancellation()
        self._thread: threading.Thread | None = None

    def add_files(self, piece: bytes) -> None:
        """Once the files are whole, the work begins."""
        self._archive += piece
        if self._thread is None and len(self._archive) >= self._start.archive_bytes:
            self._thread = threading.Thread(target=self._work, name=f"run {self._start.fence}", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """End it; one that has not begun is over at once."""
        # In a thread: a program on a GPU is asked to end first, and may take a minute.
        threading.Thread(target=self._cancellation.cancel, name="cancel", daemon=True).start()
        if self._thread is None:
            self._ended(self._start.fence)

    def _work(self) -> None:
        fence = self._start.fence
        try:
            answer = self._answer()
            if answer is not None:
                self._send(answer)
        except CancelledWorkError:
            _log.info("run %d was cancelled", fence)
        except ConnectionError:
            _log.info("run %d has ended, and the server is not there", fence)
        finally:
            self._ended(fence)

    def _answer(self) -> Done | Failed:
        try:
            with cancelled_by(self._cancellation):
                return self._sent(self._run())
        except (CancelledWorkError, ConnectionError):
            raise
        except AmdkernelError as error:
            kind = "toolchain" if isinstance(error, ToolchainError) else "sandbox"
            return Failed(
                fence=self._start.fence,
                error="target" if isinstance(error, TargetError) else kind,  # type: ignore[arg-type]
                message=error.message[:2000],
                hint=error.hint[:2000] if error.hint else None,
            )
        except Exception:
            _log.exception("run %d failed", self._start.fence)
            return Failed(fence=self._start.fence, error="sandbox", message=_UNKNOWN, hint=None)

    def _run(self) -> Completed:
        start = self._start
        contents = unpack(self._archive)
        if not contents.complete:
            raise MessageError("the files of the run did not come whole")
        lines = _LineSender(start.fence, self._send) if start.wants_lines else None
        stream = _StdinPipe(start.fence, self.stdin, self._send) if start.has_stdin else None
        try:
            return self._sandbox(start.gpu).run(
                start.kind,
                start.command,
                contents.files,
                timeout_s=start.timeout_s,
                output_limit_bytes=start.output_limit_bytes,
                on_stderr=lines.add if lines else None,
                stdin_stream=stream.stream if stream else None,
            )
        finally:
            if lines:
                lines.end()
            if stream:
                stream.end()

    def _sent(self, done: Completed) -> Done:
        """The last message, once the output files are sent."""
        archive = pack(done.files)
        for piece in pieces(archive):
            self._cancellation.check()
            self._send(Output(fence=self._start.fence, data=piece))
        return Done(
            fence=self._start.fence,
            exit_code=done.exit_code,
            stderr=done.stderr,
            timed_out=done.timed_out,
            out_of_memory=done.out_of_memory,
            truncated=done.truncated,
            stderr_cut=done.stderr_cut,
            seconds=done.seconds,
            output_bytes=len(archive),
        )


class _LineSender:
    """Sends lines at once; those that come while it sends go together, so that a flood is few messages."""

    def __init__(self, fence: int, send: Send) -> None:
        self._fence = fence
        self._send = send
        self._lock = threading.Condition()
        self._waiting: list[str] = []
        self._bytes = 0
        self._ended = False
        self._thread = threading.Thread(target=self._loop, name="stderr", daemon=True)
        self._thread.start()

    def add(self, line: str) -> None:
        """Send it. Waits while too much waits, and with it the job."""
        with self._lock:
            self._lock.wait_for(lambda: self._bytes < _LINES_BYTES or self._ended)
            self._waiting.append(line + "\n")
            self._bytes += len(line) + 1
            self._lock.notify_all()

    def end(self) -> None:
        """Send what waits, and end."""
        with self._lock:
            self._ended = True
            self._lock.notify_all()
        self._thread.join()

    def _loop(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._waiting or self._ended)
                text = "".join(self._waiting)
                self._waiting.clear()
                self._bytes = 0
                self._lock.notify_all()
            if not text:
                return
            try:
                self._send(Lines(fence=self._fence, text=text))
            except ConnectionError:
                with self._lock:
                    self._ended = True
                    self._lock.notify_all()
                return


class _StdinPipe:
    """What the server sends as stdin, as a descriptor that a sandbox reads."""

    def __init__(self, fence: int, pieces_of_it: queue.SimpleQueue[Stdin | None], send: Send) -> None:
        self._fence = fence
        self._pieces = pieces_of_it
        self._send = send
        self._read, self._write = os.pipe()
        self.stream = StdinStream(self._read)
        self._thread = threading.Thread(target=self._copy, name="stdin", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The job is over. A piece that the pipe has no room for is dropped."""
        os.close(self._read)
        self._pieces.put(None)
        self._thread.join()

    def _copy(self) -> None:
        with suppress(OSError):  # the job ended without reading all, or the server is gone
            while (piece := self._pieces.get()) is not None and not piece.end:
                rest = memoryview(piece.data)
                while rest:
                    rest = rest[os.write(self._write, rest) :]
                self._send(Took(fence=self._fence))
        os.close(self._write)
