"""Warm containers: started ahead of their job, given out once, refilled and destroyed in the background.

A pool is refilled from its second job on: most processes at a shell have one job of a kind, and a container costs a
fifth of a second of CPU.
"""

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.reaper import remove
from amdkernel_mcp.execution.docker.stream import Stream

if TYPE_CHECKING:
    from docker.models.containers import Container

# Much younger than the deadline on its label, so that no job outlives its container's.
MAX_IDLE_S = 1800.0


@dataclass(frozen=True)
class WarmContainer:
    """A container that waits for its job, and the streams that the job comes through."""

    container: "Container"
    stream: Stream
    can_be_removed: Callable[[], bool]  # false once the tunnel to its daemon has ended; then the reaper removes it
    started: float = field(default_factory=time.monotonic)

    def is_usable(self) -> bool:
        """Whether it is young enough and still waits."""
        return time.monotonic() - self.started < MAX_IDLE_S and self.stream.is_alive()

    def end(self, grace_s: float) -> None:
        """End the job in it. With a `grace_s` it is asked to end first: a GPU may hang when its process is killed."""
        import docker.errors

        with contextlib.suppress(docker.errors.APIError):  # it has ended already
            if grace_s >= 1:
                self.container.stop(timeout=int(grace_s))
            else:
                self.container.kill()

    def destroy(self) -> None:
        """Remove it and whatever still runs in it."""
        self.stream.close()
        if self.can_be_removed():
            remove(self.container)


class Background:
    """A few daemon threads for work that no job waits for: starting and destroying containers.

    Not a ThreadPoolExecutor: Python joins its threads at exit, and a daemon that hangs would keep the process alive.
    """

    def __init__(self, threads: int = 2) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._loop, daemon=True, name="sandbox") for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], None]) -> None:
        """Do it soon. A SandboxError is dropped: the next job meets the same error and reports it."""
        self._work.put(work)

    def close(self) -> None:
        """Finish what was submitted, then end."""
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join(timeout=60)

    def _loop(self) -> None:
        while (work := self._work.get()) is not None:
            with contextlib.suppress(SandboxError):
                work()


class WarmPool:
    """Waiting containers of one kind. Thread-safe."""

    def __init__(self, start: Callable[[], WarmContainer], background: Background, *, size: int) -> None:
        self._start = start
        self._background = background
        self._size = size
        self._waiting: deque[WarmContainer] = deque()
        self._on_their_way = 0
        self._had_a_job = False
        self._lock = threading.Lock()
        self._closed = False

    def take(self) -> WarmContainer:
        """A container for one job; the caller gives it to `destroy` afterwards. Raises SandboxError."""
        while True:
            with self._lock:
                warm = self._waiting.popleft() if self._waiting else None
            if warm is None:
                warm = self._start()
                break
            if warm.is_usable():
                break
            self.destroy(warm)
        if self._had_a_job:
            self.fill()
        self._had_a_job = True
        return warm

    def fill(self) -> None:
        """Start in the background what is missing."""
        with self._lock:
            missing = 0 if self._closed else self._size - len(self._waiting) - self._on_their_way
            self._on_their_way += max(0, missing)
        for _ in range(missing):
            self._background.submit(self._add_one)

    def destroy(self, warm: WarmContainer) -> None:
        """Remove a container, and whatever still runs in it, in the background."""
        self._background.submit(warm.destroy)

    def close(self) -> None:
        """Destroy all that wait."""
        with self._lock:
            self._closed = True
            waiting = list(self._waiting)
            self._waiting.clear()
        for warm in waiting:
            self.destroy(warm)

    def _add_one(self) -> None:
        try:
            warm = None if self._closed else self._start()
        finally:
            with self._lock:
                self._on_their_way -= 1
        if warm is None:
            return
        with self._lock:
            if not self._closed:
                self._waiting.append(warm)
                return
        warm.destroy()
