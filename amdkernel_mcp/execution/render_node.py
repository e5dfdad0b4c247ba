"""The render node of a GPU target, under which the driver lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.added_hosts import added_host
from amdkernel_mcp.execution.gpus import local_gpus
from amdkernel_mcp.execution.remote_gpus import remote_gpus
from amdkernel_mcp.execution.targets import SLURM
from amdkernel_mcp.hardware.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amdkernel_mcp.execution.gpus import Gpu
    from amdkernel_mcp.execution.workers.hub import WorkerHub


def render_node(settings: Settings, target: Target, workers: WorkerHub | None = None) -> str:
    """Such as `/dev/dri/renderD128`. Raises TargetError, SandboxError, ToolchainError."""
    if target.host == SLURM:
        from amdkernel_mcp.execution.slurm.slurm_sandbox import held_render_node

        held = held_render_node()
        if held is None:
            raise TargetError(f"no GPU of {target.name} is held")
        return held
    if (added := added_host(target.host, settings)) is not None:
        return added.render_node(target)
    for gpu in _gpus(settings, target.host, workers):
        if gpu.index == target.index:
            return gpu.render_node
    raise TargetError(f"{target.name} is not there any more")


def _gpus(settings: Settings, host: str | None, workers: WorkerHub | None) -> Sequence[Gpu]:
    if host is None:
        return local_gpus()
    brought = workers.find(host) if workers is not None else None
    return brought.gpus if brought is not None else remote_gpus(settings, host)
