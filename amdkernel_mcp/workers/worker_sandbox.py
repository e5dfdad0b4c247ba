"""The sandbox of a host that reaches out: each run is taken by the worker of that host."""

from __future__ import annotations

import base64
import os
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty
from typing import TYPE_CHECKING

from amdkernel_mcp.cancellation import CancelledWorkError
from amdkernel_mcp.errors import InfrastructureError, SandboxError, TargetError, ToolchainError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.docker.archive import pack, unpack
from amdkernel_mcp.execution.sandbox import Completed, SandboxKind
from amdkernel_mcp.work import current_work
from amdkernel_mcp.workers.connection import Connection, HeldRun, lost
from amdkernel_mcp.workers.messages import (
    LEASE_S,
    Done,
    Failed,
    Files,
    Hello,
    Lines,
    Reset,
    Start,
    Stdin,
    pieces,
)

if TYPE_CHECKING:
    from amdkernel_mcp.execution.stdin_stream import StdinStream
    from amdkernel_mcp.results.job_answer import Isolation

PLACE_S = 3600.0
"""For a place among the runs of a worker."""
ALLOWANCE_S = 300.0
"""For files on the network, a GPU's grace and a restart of Docker, besides twice the time limit of a run."""
RESET_PLACE_S, RESET_ANSWER_S = 10.0, 180.0
"""For a place among the runs, and for an answer: the worker gives AMD's tool two minutes."""
_LOOK_S = 0.5
_ERRORS: Mapping[str, type[InfrastructureError]] = {
    "sandbox": SandboxError,
    "toolchain": ToolchainError,
    "target": TargetError,
}


class WorkerSandbox:
    """Implements `Sandbox` on a worker. Thread-safe."""

    def __init__(
        self, hello: Hello, gpu: int | None, connection: Callable[[], Connection], is_connected: Callable[[], bool]
    ) -> None:
        """`connection`: waits for the worker of this host; raises LostWorkerError."""
        self.isolation: Isolation = hello.isolation
        self.image_id = hello.image_id
        self._name = hello.name
        self._gpu = gpu
        self._connection = connection
        self._is_connected = is_connected
        self._closed = False

    def run(
        self,
        kind: SandboxKind,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        timeout_s: float,
        output_limit_bytes: int = 256 << 20,
        on_stderr: Callable[[str], None] | None = None,
        stdin_stream: StdinStream | None = None,
    ) -> Completed:
        """See `Sandbox.run`. A run whose worker was lost is taken once more, where nothing was read from its stdin."""
        archive = pack(files)
        begun = 0

        def run() -> Completed:
            nonlocal begun
            if self._closed:
                raise SandboxError("the sandbox is closed")
            connection = self._connection()
            held = connection.begin(output_limit_bytes, PLACE_S)
            begun += 1
            start = Start(
                fence=held.fence,
                gpu=self._gpu,
                kind=kind,
                command=list(command),
                timeout_s=timeout_s,
                output_limit_bytes=output_limit_bytes,
                wants_lines=on_stderr is not None,
                has_stdin=stdin_stream is not None,
                archive_bytes=len(archive),
            )
            return _Turn(self._name, connection, held).do(start, archive, on_stderr, stdin_stream)

        try:
            try:
                return run()
            except LostWorkerError:
                if stdin_stream is not None:
                    raise
            return run()
        except LostWorkerError as error:
            error.begun = begun
            raise

    def is_connected(self) -> bool:
        """See `Sandbox.is_connected`. True also while a lost worker may come back."""
        return self._is_connected()

    def close(self) -> None:
        """Send nothing more to the worker, which removes its containers itself."""
        self._closed = True


def reset_gpu(connection: Connection, gpu: int) -> Completed:
    """Let a worker reset one of its GPUs. Raises TargetError with the reason where it does not try, SandboxError."""
    held = connection.begin(0, RESET_PLACE_S)
    answered = False
    try:
        connection.link.send(Reset(fence=held.fence, gpu=gpu))
        answer = _Turn(connection.hello.name, connection, held).answer(time.monotonic() + RESET_ANSWER_S)
        answered = True
    finally:
        if not answered:
            connection.forget(held, cancel=True)
    if isinstance(answer, Failed):
        raise TargetError(answer.message)
    return Completed(
        answer.exit_code, {}, answer.stderr, answer.timed_out, answer.out_of_memory, answer.truncated, answer.seconds
    )


class _Turn:
    """One try of a run with one worker."""

    def __init__(self, name: str, connection: Connection, held: HeldRun) -> None:
        self._name = name
        self._connection = connection
        self._held = held
        self._stdin: _StdinPump | None = None

    def do(
        self,
        start: Start,
        archive: bytes,
        on_stderr: Callable[[str], None] | None,
        stdin_stream: StdinStream | None,
    ) -> Completed:
        """Raises LostWorkerError, CancelledWorkError, and what the worker's own sandbox raised."""
        answered = False
        cancellation = current_work().cancellation
        try:
            with cancellation.ending_with(lambda: self._connection.forget(self._held, cancel=True)):
                self._connection.link.send(start)
                for piece in pieces(archive):
                    cancellation.check()
                    self._connection.link.send(Files(fence=start.fence, data=piece))
                if stdin_stream is not None:
                    self._stdin = _StdinPump(self._connection, start.fence, stdin_stream)
                deadline_s = time.monotonic() + 2 * start.timeout_s + ALLOWANCE_S
                answer = self.answer(deadline_s, on_stderr or (lambda _: None))
                answered = True
            return self._completed(answer)
        finally:
            if self._stdin is not None:
                self._stdin.end()
            if not answered:
                self._connection.forget(self._held, cancel=True)

    def answer(self, deadline_s: float, on_stderr: Callable[[str], None] = lambda _: None) -> Done | Failed:
        """What the worker answers in time, while it renews the lease of the run."""
        while True:
            try:
                event = self._held.events.get(timeout=_LOOK_S)
            except Empty:
                self._check(deadline_s)
                continue
            if event is None:
                raise lost(self._name)
            if isinstance(event, Done | Failed):
                return event
            if isinstance(event, Lines):
                for line in event.text.splitlines():
                    on_stderr(line)
            elif self._stdin is not None:
                self._stdin.took()
            self._check(deadline_s)

    def _check(self, deadline_s: float) -> None:
        current_work().cancellation.check()
        now_s = time.monotonic()
        if now_s - self._held.renewed_s > LEASE_S:
            raise lost(self._name)
        if now_s > deadline_s:
            raise SandboxError(f"the worker of {self._name} did not answer a run in time")

    def _completed(self, answer: Done | Failed) -> Completed:
        if isinstance(answer, Failed):
            raise _ERRORS[answer.error](f"{answer.message} (on {self._name})", hint=answer.hint)
        contents = unpack(self._held.archive)
        if not contents.complete:
            raise SandboxError(f"the output files of a run on {self._name} came damaged")
        return Completed(
            exit_code=answer.exit_code,
            files=contents.files,
            stderr=answer.stderr,
            timed_out=answer.timed_out,
            out_of_memory=answer.out_of_memory,
            truncated=answer.truncated,
            seconds=answer.seconds,
            stderr_cut=answer.stderr_cut,
        )


class _StdinPump:
    """Sends the stdin of a run as it comes, one piece after the other."""

    def __init__(self, connection: Connection, fence: int, stream: StdinStream) -> None:
        self._connection = connection
        self._fence = fence
        self._stream = stream
        self._free = threading.Semaphore(1)
        self._ended = False
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._pump, name="stdin", daemon=True)
        self._thread.start()

    def took(self) -> None:
        """The job has the last piece."""
        self._free.release()

    def end(self) -> None:
        """The run is over."""
        self._ended = True
        os.write(self._wake_write, b".")
        self._free.release()
        self._thread.join()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _pump(self) -> None:
        try:
            known = bytes(self._stream.seen)
            for piece in pieces(known):
                self._send(piece, end=False)
            while (descriptor := self._stream.descriptor) is not None and not self._ended:
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                poll.register(self._wake_read, select.POLLIN)
                if descriptor in dict(poll.poll()):
                    line = self._stream.take()
                    if self._stream.descriptor is not None:
                        self._send(base64.b64decode(line), end=False)
            if not self._ended:
                self._send(b"", end=True)
        except (LostWorkerError, CancelledWorkError):
            return  # the run's own thread finds out as well

    def _send(self, data: bytes, *, end: bool) -> None:
        self._free.acquire()
        if not self._ended:
            self._connection.link.send(Stdin(fence=self._fence, data=data, end=end))
