"""The server's side of one connected worker: the runs that it holds, each with a fence, and what came back of them.

Messages are received in the thread of the event loop and handled without waiting; the threads of the jobs send, and
wait for what comes back.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.sandbox import MAX_MEMBERS
from amdkernel_mcp.work import Served
from amdkernel_mcp.workers.messages import (
    LEASE_S,
    Cancel,
    Done,
    Draining,
    End,
    Failed,
    FromServer,
    FromWorker,
    Hello,
    Lines,
    MessageError,
    Output,
    Release,
    Renew,
    Took,
)

_log = logging.getLogger(__name__)

STDERR_LIMIT_BYTES = 32 << 20
"""Of the lines of one run; a sandbox ends a job far before."""
_TAR_BYTES = 2048 * MAX_MEMBERS
"""Headers, long names and padding of as many members as a sandbox returns."""


class Link(Protocol):
    """The way to a worker. Thread-safe."""

    def send(self, message: FromServer) -> None:
        """Send it, and wait while the network is behind. Not for the event loop. Raises LostWorkerError."""
        ...

    def post(self, message: FromServer) -> None:
        """Send it soon; raises nothing and does not wait."""
        ...


Event = Lines | Took | Done | Failed
"""What a run's thread waits for; None: the worker is gone."""


@dataclass(eq=False)
class HeldRun:
    """A run that a worker holds. `renewed_s`: when its lease was last renewed, by time.monotonic."""

    fence: int
    output_limit_bytes: int
    renewed_s: float
    events: queue.SimpleQueue[Event | None] = field(default_factory=queue.SimpleQueue)
    archive: bytearray = field(default_factory=bytearray)
    stderr_bytes: int = 0

    def take(self, message: Lines | Took | Output | Done | Failed) -> None:
        """Note what the worker says of it. Raises MessageError for more than a run may return."""
        if isinstance(message, Output):
            if len(self.archive) + len(message.data) > self.output_limit_bytes + _TAR_BYTES:
                raise MessageError("a run returned more than was asked for")
            self.archive += message.data
            return
        if isinstance(message, Lines):
            self.stderr_bytes += len(message.text)
            if self.stderr_bytes > STDERR_LIMIT_BYTES:
                raise MessageError("a run printed more than a sandbox lets through")
        if isinstance(message, Done) and message.output_bytes != len(self.archive):
            raise MessageError("the output files of a run did not come whole")
        self.events.put(message)


class Connection:
    """One connected worker. Thread-safe."""

    def __init__(
        self, hello: Hello, link: Link, next_fence: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.hello = hello
        self.draining = False
        self.link = link
        self._next_fence = next_fence
        self._clock = clock
        self._lock = threading.Condition()
        self._runs: dict[int, HeldRun] = {}
        self._jobs: set[Served] = set()  # that have begun here, and are not over
        self._lost = False
        self._heard_s = clock()

    @property
    def lost(self) -> bool:
        """Whether it has ended."""
        return self._lost

    @property
    def is_silent(self) -> bool:
        """Whether nothing came for so long that it is probably about to be lost."""
        return self._clock() - self._heard_s > LEASE_S / 2

    def serves(self, job: Served | None) -> bool:
        """Whether a run of this job may begin: on a worker that drains only one of a job that has begun there."""
        with self._lock:
            if job is not None and not self.draining:
                self._jobs.add(job)
            return not self.draining or job in self._jobs

    def job_ended(self, job: Served) -> None:
        """It sends no more runs."""
        with self._lock:
            if job in self._jobs:
                self._jobs.remove(job)
                self._release_if_unused()

    def _drain(self) -> None:
        with self._lock:
            self.draining = True
            self._release_if_unused()

    def _release_if_unused(self) -> None:
        """Called under the lock."""
        if self.draining and not self._jobs:
            self.link.post(Release())

    def begin(self, output_limit_bytes: int, wait_s: float) -> HeldRun:
        """A place for one more run of this worker. Raises LostWorkerError, SandboxError when none was free in time."""
        with self._lock:
            free = self._lock.wait_for(lambda: self._lost or len(self._runs) < self.hello.slots, wait_s)
            if self._lost:
                raise lost(self.hello.name)
            if not free:
                raise SandboxError(f"the worker of {self.hello.name} had no place for a run within {wait_s:.0f} s")
            run = HeldRun(self._next_fence(), output_limit_bytes, self._clock())
            self._runs[run.fence] = run
            return run

    def forget(self, run: HeldRun, *, cancel: bool) -> None:
        """It is over for the server: what its worker still says of it is refused."""
        with self._lock:
            held = self._runs.pop(run.fence, None) is not None
            self._lock.notify_all()
        if held and cancel:
            self.link.post(Cancel(fence=run.fence))
            run.events.put(None)

    def receive(self, message: FromWorker) -> None:
        """Handle a message; does not wait. Raises MessageError for what a worker must not say."""
        self._heard_s = self._clock()
        if isinstance(message, Hello):
            raise MessageError("a worker introduces itself once")
        if isinstance(message, Draining):
            self._drain()
        elif isinstance(message, Renew):
            self._renew(message.fences)
        else:
            self._answer(message)

    def _renew(self, fences: Iterable[int]) -> None:
        with self._lock:
            known = [self._runs.get(fence) for fence in fences]
            now_s = self._clock()
            for run in known:
                if run is not None:
                    run.renewed_s = now_s
        for fence, run in zip(fences, known, strict=True):
            if run is None:
                self.link.post(Cancel(fence=fence))

    def _answer(self, message: Lines | Took | Output | Done | Failed) -> None:
        last = isinstance(message, Done | Failed)
        with self._lock:
            run = self._runs.get(message.fence)
            if run is not None:
                run.take(message)  # before another answer with this fence is refused
            if last:
                self._runs.pop(message.fence, None)
                self._lock.notify_all()
        if run is None and last:
            _log.warning(
                "refused: the worker of %s answers run %d, which it does not hold any more",
                self.hello.name, message.fence,
            )  # fmt: skip

    def end(self) -> None:
        """The connection is closed, or nothing has come for too long: its runs are lost."""
        with self._lock:
            self._lost = True
            runs = [*self._runs.values()]
            self._runs.clear()
            self._lock.notify_all()
        for run in runs:
            run.events.put(None)

    def finish(self) -> None:
        """Tell the worker that nothing more comes for its key."""
        self.link.post(End())


def lost(name: str) -> LostWorkerError:
    """The error of a run whose worker is gone."""
    return LostWorkerError(
        f"the worker of {name} is not connected, so what was to run there has no answer",
        hint=f"is `amdkernel worker` running on {name}, and does its machine reach this server?",
    )
