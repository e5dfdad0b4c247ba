"""The sandboxes of one configuration, each opened on first use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.added_hosts import added_host
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target

if TYPE_CHECKING:
    from amdkernel_mcp.execution.workers.hub import WorkerHub


class Sandboxes:
    """One sandbox per machine and GPU; `close` ends them all. Thread-safe."""

    def __init__(self, settings: Settings, workers: WorkerHub | None = None, *, compiles: bool = True) -> None:
        """`workers`: of the hosts that reach out; None where none can. `compiles`: see `open_sandbox`."""
        self._settings = settings
        self._compiles = compiles
        self.workers = workers
        self._lock = threading.Lock()
        self._opened: dict[tuple[str | None, int | None], Sandbox] = {}

    def of(self, target: Target) -> Sandbox:
        """The sandbox for work on `target`. Raises SandboxError, ToolchainError, TargetError, CancelledWorkError."""
        if target.host is not None and (workers := self._workers_of(target)) is not None:
            workers.connection(target.host)  # not under the lock: it may take a minute to come back
        key = (target.host, target.index)
        with self._lock:
            lost = self._opened.get(key)
            if lost and not lost.is_connected():  # the machine was restarted, or the network failed
                del self._opened[key]
                lost.close()
            if key not in self._opened:
                self._opened[key] = self._open(target)
            return self._opened[key]

    def _workers_of(self, target: Target) -> WorkerHub | None:
        """What reaches the host of a target, if a worker brought it."""
        if target.host is None or target.host in self._settings.hosts or added_host(target.host, self._settings):
            return None
        return self.workers

    def _open(self, target: Target) -> Sandbox:
        from amdkernel_mcp.execution.open_sandbox import open_sandbox

        if target.host is not None and (workers := self._workers_of(target)) is not None:
            return workers.sandbox(target.host, target.index)
        if (added := added_host(target.host, self._settings)) is not None:
            return added.open(target)
        return open_sandbox(self._settings, host=target.host, gpu=target.index, compiles=self._compiles)

    def without_gpu(self) -> Sandbox:
        """The sandbox of this machine for work that needs no GPU."""
        from amdkernel_mcp.execution.targets import find_target

        return self.of(find_target("emulator:gfx942", self._settings))

    def close(self) -> None:
        """Remove all containers."""
        with self._lock:
            for sandbox in self._opened.values():
                sandbox.close()
            self._opened.clear()
