"""Slurm's cluster as a host: each architecture is a target, and its GPUs are Slurm's to give."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.slurm_targets import SLURM, slurm_target
from amdkernel_mcp.hardware.target import Target

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.slurm.allocations import Allocations
    from amdkernel_mcp.workers.hub import WorkerHub


class SlurmHost:
    """Implements `Scheduler`. Thread-safe. `here`: opens the sandbox of this machine, which compiles and judges."""

    name = SLURM

    def __init__(self, settings: Settings, workers: WorkerHub | None, here: Callable[[], Sandbox]) -> None:
        self._settings = settings.slurm
        self._workers = workers
        self._here = here
        self._lock = threading.Lock()
        self._allocations: Allocations | None = None

    def targets(self) -> Sequence[Target]:
        """See `Host.targets`. They have no index: no lease of ours is on a GPU of Slurm."""
        return [slurm_target(self._settings, arch) for arch in self._settings.gres] if self._settings else []

    def open(self, target: Target) -> Sandbox:
        """See `Host.open`. Raises TargetError where no worker can come."""
        from amdkernel_mcp.slurm.slurm_sandbox import SlurmSandbox

        return SlurmSandbox(self._from_slurm(), target.arch, self._here())

    def render_node(self, target: Target) -> str:
        """See `Host.render_node`: of the GPU that the present work has."""
        from amdkernel_mcp.slurm.slurm_sandbox import held_render_node

        held = held_render_node()
        if held is None:
            raise TargetError(f"no GPU of {target.name} is held")
        return held

    def close(self) -> None:
        """End the jobs that this process has in Slurm."""
        if self._allocations:
            self._allocations.close()

    def _from_slurm(self) -> Allocations:
        from amdkernel_mcp.database.holder import is_dead, new_holder
        from amdkernel_mcp.slurm.allocations import Allocations
        from amdkernel_mcp.slurm.commands import SlurmCommands

        slurm, workers = self._settings, self._workers
        if slurm is None or workers is None or not workers.is_open:
            hint = "`amdkernel serve`, with [slurm] in its settings"
            raise TargetError("GPUs of Slurm are used through a running server", hint=hint)
        with self._lock:
            if self._allocations is None:
                commands = SlurmCommands(slurm.commands)
                self._allocations = Allocations(slurm, commands, workers, holder=new_holder(), is_dead=is_dead)
            return self._allocations
