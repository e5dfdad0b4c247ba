"""A sandbox with a GPU: what launches kernels waits while times are measured on that GPU."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Protocol, Unpack, runtime_checkable

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.hosts import BroughtHost
from amdkernel_mcp.execution.sandbox import Completed, RunOptions, Sandbox, SandboxKind
from amdkernel_mcp.execution.sandboxes import Sandboxes
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.progress import silent
from amdkernel_mcp.work import Work, current_work

if TYPE_CHECKING:
    from amdkernel_mcp.execution.brought_hosts import Workers
    from amdkernel_mcp.leases.gpu_leases import GpuLeases
    from amdkernel_mcp.leases.gpus import LeasedGpu


@runtime_checkable
class ExclusiveSandbox(Protocol):
    """A `Sandbox` whose GPU one job can have alone."""

    def exclusively(self, work: Work) -> AbstractContextManager[Work, bool | None]:
        """A block in which `work` has the GPU alone: as the part of it that the block gets. Raises as `held.lease`."""
        ...


class LeasedSandbox:
    """Implements `Sandbox`. Compiles and references need no GPU and no lease. `without_lease`: for what the emulator
    runs next to the GPU."""

    def __init__(self, sandbox: Sandbox, gpu: LeasedGpu) -> None:
        self._sandbox = self.without_lease = sandbox
        self.gpu = gpu
        self.isolation, self.image_id = sandbox.isolation, sandbox.image_id

    def run(
        self,
        kind: SandboxKind,
        command: Sequence[str],
        files: Mapping[str, bytes],
        **options: Unpack[RunOptions],
    ) -> Completed:
        """See `Sandbox.run`. Raises DatabaseError, LeaseLostError and QuarantinedError as well."""
        from amdkernel_mcp.leases.hygiene import note_ending, what_failed, what_went_wrong

        def run() -> Completed:
            return self._sandbox.run(kind, command, files, **options)

        if kind != "run":
            return run()
        with self.gpu.leased("shared", current_work().saying(silent)):
            try:
                done = run()
            except BaseException as error:
                note_ending(what_failed(error))
                raise
            note_ending(what_went_wrong(done))
            return done

    def exclusively(self, work: Work) -> AbstractContextManager[Work, bool | None]:
        """See `ExclusiveSandbox.exclusively`."""
        return self.gpu.leased("exclusive", work)

    def is_connected(self) -> bool:
        """See `Sandbox.is_connected`."""
        return self._sandbox.is_connected()

    def close(self) -> None:
        """See `Sandbox.close`."""
        self._sandbox.close()


class LeasedSandboxes(Sandboxes):
    """The sandboxes of one configuration; nothing is launched on a GPU without a lease."""

    def __init__(self, settings: Settings, workers: Workers | None = None) -> None:
        super().__init__(settings, workers)
        self._leases_lock = threading.Lock()
        self._leases: GpuLeases | None = None

    @property
    def leases(self) -> GpuLeases:
        """The leases of this process, made when a GPU is first used: their database takes long to import."""
        from amdkernel_mcp.leases.gpu_leases import GpuLeases

        with self._leases_lock:
            self._leases = self._leases or GpuLeases(self._settings)
            return self._leases

    def quarantined(self) -> Mapping[str, str]:
        """Ids of the GPUs on which nothing runs, and why. Raises DatabaseError."""
        return self.leases.health.quarantined()

    def close(self) -> None:
        """Remove all containers, and give all leases back."""
        super().close()
        if self._leases:
            self._leases.close()

    def _open(self, target: Target) -> Sandbox:
        from amdkernel_mcp.leases.gpus import LeasedGpu
        from amdkernel_mcp.leases.reset import ResetByWorker

        sandbox = super()._open(target)
        if target.index is None:
            return sandbox
        find, workers = partial(self.render_node, target), self.workers
        if workers is None or not isinstance(self._hosts.of(target.host), BroughtHost):
            return LeasedSandbox(sandbox, LeasedGpu(self.leases, sandbox, target, find))
        reset = ResetByWorker(self.leases, workers, target)
        return LeasedSandbox(sandbox, LeasedGpu(self.leases, sandbox, target, find, reset))


def exclusively(sandbox: Sandbox, work: Work) -> AbstractContextManager[Work, bool | None]:
    """A block in which `work` has the GPU of `sandbox` alone: as the part of it that the block gets.

    Raises what `held.lease` raises.
    """
    if not isinstance(sandbox, ExclusiveSandbox):
        raise TargetError("nothing is timed on a GPU that cannot be leased")
    return sandbox.exclusively(work)
