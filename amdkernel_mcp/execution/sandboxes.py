"""The sandboxes of one configuration, each opened on first use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.hosts import BroughtHost, Hosts
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target

if TYPE_CHECKING:
    from amdkernel_mcp.execution.brought_hosts import Workers
    from amdkernel_mcp.execution.gpu_idle import GpuState
    from amdkernel_mcp.execution.hosts import Scheduler


class Sandboxes:
    """One sandbox per machine and GPU; `close` ends them all. Thread-safe."""

    def __init__(self, settings: Settings, workers: Workers | None = None, *, compiles: bool = True) -> None:
        """`workers`: of the hosts that reach out; None where none can. `compiles`: see `open_sandbox`."""
        self._settings = settings
        self.workers = workers
        self._hosts = Hosts(settings, workers, compiles=compiles)
        self._lock = threading.Lock()
        self._opened: dict[tuple[str | None, int | None], Sandbox] = {}
        self._compilers: dict[str, Sandbox] = {}

    def add(self, scheduler: Scheduler) -> None:
        """From now on its targets have sandboxes; `close` closes it."""
        self._hosts.add(scheduler)

    def of(self, target: Target) -> Sandbox:
        """The sandbox for work on `target`. Raises SandboxError, ToolchainError, TargetError, CancelledWorkError."""
        if target.is_scheduled:
            return self._open(target)  # nothing to keep: each run asks the scheduler for a GPU
        if self.workers is not None and isinstance(host := self._hosts.of(target.host), BroughtHost):
            self.workers.await_host(host.name)  # not under the lock: it may take a minute to come back
        key = (target.host, target.index)
        with self._lock:
            lost = self._opened.get(key)
            if lost and not lost.is_connected():  # the machine was restarted, or the network failed
                del self._opened[key]
                lost.close()
            if key not in self._opened:
                self._opened[key] = self._open(target)
            return self._opened[key]

    def render_node(self, target: Target) -> str:
        """Of a GPU, such as `/dev/dri/renderD128`. Raises TargetError, SandboxError, ToolchainError."""
        return self._hosts.of(target.host).render_node(target)

    def look_at(self, target: Target, sandbox: Sandbox | None = None) -> GpuState | str:
        """How the GPU of a target is now, or why that is not known. `sandbox`: what looks at it, by default that of the
        target. Raises as `of` and `render_node` do."""
        from amdkernel_mcp.execution.gpu_idle import read_state

        if target.is_scheduled:
            return f"{str(target.host).capitalize()} gives any of its GPUs, also one of an XGMI hive"
        return read_state(sandbox or self.of(target), self.render_node(target))

    def _open(self, target: Target) -> Sandbox:
        return self._hosts.of(target.host).open(target)

    def without_gpu(self) -> Sandbox:
        """The sandbox of this machine for work that needs no GPU."""
        from amdkernel_mcp.execution.targets import find_target

        return self.of(find_target("emulator:gfx942", self._settings))

    def of_compiler(self, hip: str) -> Sandbox:
        """The sandbox of this machine that compiles with another HIP release. Raises SandboxError, ToolchainError."""
        from amdkernel_mcp.execution.open_sandbox import open_compiler

        with self._lock:
            if hip not in self._compilers:
                self._compilers[hip] = open_compiler(self._settings, hip)
            return self._compilers[hip]

    def close(self) -> None:
        """Remove all containers, and free what schedulers gave."""
        self._hosts.close()
        with self._lock:
            for sandbox in (*self._opened.values(), *self._compilers.values()):
                sandbox.close()
            self._opened.clear()
            self._compilers.clear()
