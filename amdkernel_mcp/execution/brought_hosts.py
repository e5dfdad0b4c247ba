"""Hosts that reach out to the server: what this room knows of their workers. `../workers` implements it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from amdkernel_mcp.errors import SandboxError

if TYPE_CHECKING:
    from amdkernel_mcp.execution.gpus import Gpu
    from amdkernel_mcp.execution.sandbox import Completed, Sandbox

RECONNECT_S = 60.0
"""For a worker to come back, after it was lost or the server started."""

Note = Callable[[str, str, Literal["done", "failed", "refused"], str], None]
"""Takes an action, the target, the outcome (`done`, `failed` or `refused`) and the reason."""


class LostWorkerError(SandboxError):
    """The worker is gone, and nothing of the run was answered. `begun`: how often the run was with a worker."""

    begun = 0


@dataclass(frozen=True)
class WorkerHost:
    """A host that a worker brought. `left_s`: seconds since its worker left; None while it is connected."""

    name: str
    gpus: tuple[Gpu, ...]
    emulator: bool
    left_s: float | None
    draining: bool
    may_reset: bool = False

    @property
    def note(self) -> str | None:
        """Why nothing runs there now; None where something can."""
        if self.left_s is not None:
            return f"the worker of {self.name} left {ago(self.left_s)} ago"
        return f"the worker of {self.name} is draining" if self.draining else None


class Workers(Protocol):
    """The workers of this process. Thread-safe."""

    note: Note
    """Writes what is done to their GPUs into the audit log."""

    @property
    def is_open(self) -> bool:
        """Whether workers can come: a server listens."""
        ...

    @property
    def seen(self) -> frozenset[str]:
        """Hosts whose workers were connected to a server before this one."""
        ...

    def hosts(self) -> list[WorkerHost]:
        """Those that are connected, and those that left within a day."""
        ...

    def find(self, name: str) -> WorkerHost | None:
        """The host of this name, None where no worker brought it. Raises LostWorkerError, CancelledWorkError."""
        ...

    def await_host(self, name: str) -> None:
        """Wait until its worker takes runs, RECONNECT_S at most. Raises LostWorkerError, CancelledWorkError."""
        ...

    def sandbox(self, name: str, gpu: int | None) -> Sandbox:
        """The sandbox of a host. Raises LostWorkerError, TargetError."""
        ...

    def reset(self, target: str, name: str, gpu: int, why: str) -> Completed:
        """Let the worker of a host reset a GPU. Raises TargetError where it does not try, SandboxError."""
        ...

    def last_reset(self, target: str) -> str | None:
        """When a GPU was reset since the start of this server, and why."""
        ...


def ago(seconds: float) -> str:
    """Such as `3 min`."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
