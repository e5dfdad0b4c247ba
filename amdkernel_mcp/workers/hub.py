"""The workers of one server: who is connected, who has left, and for which keys one is expected.

Everything is in this process's memory. A server that ends loses it, and its workers come back to the next one; what it
ran for users is repeated from the journal of jobs.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import InputError, SandboxError, TargetError
from amdkernel_mcp.execution.brought_hosts import RECONNECT_S, LostWorkerError, Note, WorkerHost, ago
from amdkernel_mcp.execution.gpus import Gpu
from amdkernel_mcp.work import Served, Work, current_work
from amdkernel_mcp.workers.connection import Connection, Link, lost
from amdkernel_mcp.workers.messages import Hello

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Completed, Sandbox

KEPT_S = 86400.0
"""For which a host is listed after its worker has left."""
MOST_HOSTS = 512
_LOOK_EVERY_S = 0.2


class WorkerRefused(InputError):
    """A worker that is not accepted. `again`: it may be later."""

    def __init__(self, message: str, *, hint: str | None = None, again: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.again = again


class WorkerHub:
    """Implements `Workers`: all of this process. Thread-safe."""

    def __init__(self, taken: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        """`taken`: names of hosts that are reached in another way."""
        self._taken = frozenset((*taken, "emulator", "local"))
        self._clock = clock
        self._lock = threading.Condition()
        self._hosts: dict[str, Connection] = {}
        self._left: dict[str, tuple[Hello, float]] = {}
        self._expected: dict[str, Connection | None] = {}  # by key; None: it has not come yet
        self._opened_s: float | None = None
        self._seen: frozenset[str] | None = None
        self._changes = 0
        self.note: Note = lambda *_: None
        self._resets: dict[str, tuple[float, str]] = {}  # by target: when, and why
        self._fences = itertools.count(time.time_ns() // 1_000_000)  # beyond those of a server before

    def open(self, note: Note = lambda *_: None, seen: Collection[str] | None = None) -> None:
        """From now on workers can come.

        note: writes what is done to their GPUs into the audit log. seen: hosts whose workers were connected to a server
        before this one; None: that is not known.
        """
        self._opened_s = self._clock()
        self._seen = None if seen is None else frozenset(seen)
        self.note = note

    @property
    def is_open(self) -> bool:
        """Whether workers can come: a server listens."""
        return self._opened_s is not None

    def join(self, hello: Hello, link: Link) -> Connection:
        """A worker has introduced itself. Raises WorkerRefused."""
        _refuse_another_version(hello)
        connection = Connection(hello, link, lambda: next(self._fences), self._clock)
        with self._lock:
            if hello.key is not None:
                self._join_once(hello.key, connection)
            else:
                self._join_host(hello.name, connection)
            self._lock.notify_all()
        return connection

    def _join_once(self, key: str, connection: Connection) -> None:
        if key not in self._expected:
            raise WorkerRefused("the server expects no worker with this key", hint="its job may have ended already")
        if self._expected[key] is not None:
            raise WorkerRefused("a worker with this key has come before")
        self._expected[key] = connection

    def _join_host(self, name: str, connection: Connection) -> None:
        if name in self._taken or name.lower() in ("emulator", "local"):
            raise WorkerRefused(f"{name} is a host in the server's settings", hint="choose another --name")
        if name in self._hosts:
            raise WorkerRefused(
                f"another worker is connected as {name}", hint="choose another --name, or end the other one", again=True
            )
        if len(self._hosts) >= MOST_HOSTS:
            raise WorkerRefused(f"the server has {MOST_HOSTS} workers already", again=True)
        self._hosts[name] = connection
        self._changes += 1
        self._left.pop(name, None)

    def leave(self, connection: Connection) -> None:
        """Its connection has ended."""
        connection.end()
        name = connection.hello.name
        with self._lock:
            if self._hosts.get(name) is connection:
                del self._hosts[name]
                self._changes += 1
                self._left[name] = (connection.hello, self._clock())
                while len(self._left) > MOST_HOSTS:
                    del self._left[next(iter(self._left))]
            self._lock.notify_all()

    def hosts(self) -> list[WorkerHost]:
        """Those that are connected, and those that left within a day."""
        with self._lock:
            now_s = self._clock()
            here = [_host(each.hello, None, each.draining) for each in self._hosts.values()]
            gone = [_host(hello, now_s - at_s, False) for hello, at_s in self._left.values() if now_s - at_s < KEPT_S]
        return sorted([*here, *gone], key=lambda host: host.name)

    def find(self, name: str) -> WorkerHost | None:
        """The host of this name. In the first minute of a server its worker may just not be back: that is waited for,
        where one of that name has ever been there.

        None where no worker brought it. Raises LostWorkerError for one of before this server and is not
        back, CancelledWorkError.
        """
        if name in self._taken:
            return None
        may_come = self._seen is None or name in self._seen
        while True:
            found = next((host for host in self.hosts() if host.name == name), None)
            if found or self._opened_s is None or not may_come:
                return found
            if self._clock() - self._opened_s > RECONNECT_S:
                if self._seen is None:
                    return None
                raise lost(name)
            self._wait()

    def reset(self, target: str, name: str, gpu: int, why: str) -> Completed:
        """Let the worker of a host reset a GPU. Raises TargetError where it does not try, SandboxError."""
        from amdkernel_mcp.workers.worker_sandbox import reset_gpu

        done = reset_gpu(self.connection(name), gpu)
        with self._lock:
            self._resets[target] = (self._clock(), why)
            self._changes += 1
        return done

    def last_reset(self, target: str) -> str | None:
        """For a line of `targets`: when the GPU was reset since the start of this server, and why."""
        with self._lock:
            at_s, why = self._resets.get(target, (0.0, ""))
        return f"reset {ago(self._clock() - at_s)} ago: {why}" if why else None

    def away_s(self, name: str) -> float | None:
        """For how long the worker of a host has been away, at most since the start of this server; None while it is
        there, or where none ever brought this host."""
        with self._lock:
            left = self._left.get(name)
            if name in self._hosts:
                return None
        if left is not None:
            return self._clock() - left[1]
        is_missing = self._opened_s is not None and self._seen is not None and name in self._seen
        return self._clock() - self._opened_s if is_missing and self._opened_s is not None else None

    @property
    def seen(self) -> frozenset[str]:
        """Hosts whose workers were connected to a server before this one."""
        return self._seen or frozenset()

    def connection(self, name: str, wait_s: float = RECONNECT_S) -> Connection:
        """The worker of a host, which may come back within `wait_s` after it left. While one drains, the next is
        waited for, except by a job that has begun on the one that drains.

        Raises LostWorkerError, CancelledWorkError.
        """
        job, since_s, said = current_work().served, self._clock(), ""
        while True:
            with self._lock:
                found, left = self._hosts.get(name), self._left.get(name)
            if found is not None and not found.is_silent and found.serves(job):
                if said and job is not None:
                    job.say(f"the worker of {name} is there again")
                return found
            draining = found is not None and found.draining and not found.is_silent
            if left is not None:
                since_s = left[1]
            elif draining:
                since_s = self._clock()  # the time for the next one begins when this one has left
            rest_s = since_s + wait_s - self._clock()
            if rest_s <= 0:
                raise lost(name)
            if job is not None and said != (why := "draining" if draining else "away"):
                job.say(_waiting(name, None if draining else rest_s))
                said = why
            self._wait()

    def await_host(self, name: str) -> None:
        """See `Workers.await_host`."""
        self.connection(name)

    @contextmanager
    def job(self, work: Work) -> Iterator[Work]:
        """The block is a job, the part of `work` that it gets: a worker on which it has begun serves it to its end."""
        mine = Served(work.say)
        try:
            yield replace(work, served=mine)
        finally:
            with self._lock:
                connections = [*self._hosts.values()]
            for each in connections:
                each.job_ended(mine)

    @property
    def changes(self) -> int:
        """A number that differs once a worker has come or left."""
        return self._changes

    def _wait(self) -> None:
        current_work().cancellation.check()
        with self._lock:
            self._lock.wait(_LOOK_EVERY_S)

    def sandbox(self, name: str, gpu: int | None) -> Sandbox:
        """The sandbox of a host that a worker brought. Raises LostWorkerError where it does not come back in time."""
        from amdkernel_mcp.workers.worker_sandbox import WorkerSandbox

        hello = self.connection(name).hello
        if gpu is not None and all(each.index != gpu for each in hello.gpus):
            raise TargetError(f"{name} has no GPU {gpu} any more")

        def again() -> Connection:
            came = self.connection(name)
            if came.hello.image_id != hello.image_id:
                raise LostWorkerError(f"the worker of {name} came back with another sandbox image")
            return came

        return WorkerSandbox(hello, gpu, again, lambda: self._is_connected(hello))

    def _is_connected(self, hello: Hello) -> bool:
        with self._lock:
            found = self._hosts.get(hello.name)
        return found is None or found.hello.image_id == hello.image_id  # one that has left may come back

    @contextmanager
    def expected(self, key: str) -> Iterator[Arrival]:
        """Within the block, the one worker with this key is accepted; after it, that worker ends. `key`: 16 to 200 of
        A-Z a-z 0-9 . _ -, random."""
        with self._lock:
            if key in self._expected:
                raise SandboxError("a worker with this key is expected already")
            self._expected[key] = None
        try:
            yield Arrival(self, key)
        finally:
            with self._lock:
                came = self._expected.pop(key)
            if came is not None:
                came.finish()

    def arrived(self, key: str) -> Connection | None:
        """The worker with this key, once it has come."""
        with self._lock:
            return self._expected.get(key)


class Arrival:
    """A worker with a key: `amdkernel worker --once KEY`. It serves this one session and ends."""

    def __init__(self, hub: WorkerHub, key: str) -> None:
        self._hub = hub
        self._key = key

    def came(self) -> tuple[Sandbox, Gpu | None] | None:
        """The same as `wait` returns, if the worker is there by now."""
        return None if self._hub.arrived(self._key) is None else self.wait(0.0)

    def wait(self, timeout_s: float, still_wanted: Callable[[], None] = lambda: None) -> tuple[Sandbox, Gpu | None]:
        """The sandbox of the worker once it has come, and its GPU.

        `still_wanted` is called now and then, and may raise. Raises SandboxError where none came in time,
        CancelledWorkError.
        """
        from amdkernel_mcp.workers.worker_sandbox import WorkerSandbox

        until_s = time.monotonic() + timeout_s
        while (came := self._hub.arrived(self._key)) is None:
            if time.monotonic() >= until_s:
                raise SandboxError(f"no worker came within {timeout_s:.0f} s")
            still_wanted()
            self._hub._wait()
        connection = came
        gpu = _gpu(connection.hello, 0)

        def same() -> Connection:
            if connection.lost:
                raise lost(connection.hello.name)
            return connection

        index = gpu.index if gpu else None
        return WorkerSandbox(connection.hello, index, same, lambda: not (connection.lost or connection.is_silent)), gpu


def _waiting(name: str, rest_s: float | None) -> str:
    """What a job says that waits. `rest_s`: None while a worker is there that drains."""
    if rest_s is None:
        return f"waiting for the next worker of {name}: this one is draining"
    return f"waiting up to {max(1.0, rest_s):.0f} s for the worker of {name}"


def _refuse_another_version(hello: Hello) -> None:
    if hello.version != __version__:
        raise WorkerRefused(
            f"this worker has version {hello.version} of amdkernel-mcp, and the server has {__version__}",
            hint="install the server's version on the worker's machine, then `amdkernel setup` and start it again",
        )
    if hello.build != build():
        raise WorkerRefused(
            f"this worker's sandbox is built from other files than the server's, though both are version {__version__}",
            hint="install the same package on both machines, then `amdkernel setup` on the worker's",
        )


@cache
def build() -> str:
    """A hash of what a sandbox image of this version is made from, whatever its base is."""
    from functools import reduce

    from amdkernel_mcp.execution.layers import IMAGE_STEPS, step_name

    return reduce(lambda parent, step: step_name(step, parent), IMAGE_STEPS, "any")


def _host(hello: Hello, left_s: float | None, draining: bool) -> WorkerHost:
    gpus = (_gpu(hello, position) for position in range(len(hello.gpus)))
    found = tuple(gpu for gpu in gpus if gpu)
    return WorkerHost(hello.name, found, hello.emulator, left_s, draining, hello.may_reset)


def _gpu(hello: Hello, position: int) -> Gpu | None:
    if position >= len(hello.gpus):
        return None
    offered = hello.gpus[position]
    return Gpu(offered.index, offered.arch, offered.name, offered.render_node, offered.unique_id)
