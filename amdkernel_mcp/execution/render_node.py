"""The render node of a GPU target, under which the driver lists it."""

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpus import local_gpus
from amdkernel_mcp.execution.remote_gpus import remote_gpus
from amdkernel_mcp.hardware.target import Target


def render_node(settings: Settings, target: Target) -> str:
    """Such as `/dev/dri/renderD128`. Raises TargetError, SandboxError, ToolchainError."""
    for gpu in local_gpus() if target.host is None else remote_gpus(settings, target.host):
        if gpu.index == target.index:
            return gpu.render_node
    raise TargetError(f"{target.name} is not there any more")
