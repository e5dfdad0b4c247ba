"""Open the sandbox that the settings and the machine allow."""

from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.sandbox import Sandbox

if TYPE_CHECKING:
    from amdkernel_mcp.execution.container import GpuDevice


def open_sandbox(settings: Settings, *, host: str | None = None, gpu: int | None = None) -> Sandbox:
    """Containers on the local daemon, on the one of `host`, or the fallback without containers.

    gpu: index of the one GPU that run containers see. Raises SandboxError or ToolchainError with the remedy.
    """
    from amdkernel_mcp.execution.daemon import connect
    from amdkernel_mcp.execution.docker_sandbox import DockerSandbox
    from amdkernel_mcp.execution.image import sandbox_image_id

    url = _docker_url(settings, host)
    daemon = connect(url)
    try:
        sandbox = DockerSandbox(daemon, sandbox_image_id(daemon, settings), gpu=_device(gpu))
    except BaseException:
        daemon.close()
        raise
    sandbox.warm_up()
    return sandbox


def _docker_url(settings: Settings, host: str | None) -> str | None:
    if host is None:
        return settings.docker_host
    if host not in settings.hosts:
        raise SandboxError(f"no host is called {host!r}", hint="`hosts` in the settings file names them")
    return settings.hosts[host]


def _device(index: int | None) -> "GpuDevice | None":
    if index is None:
        return None
    from amdkernel_mcp.errors import TargetError
    from amdkernel_mcp.execution.gpus import gpu_device, local_gpus

    for gpu in local_gpus():
        if gpu.index == index:
            return gpu_device(gpu)
    raise TargetError(f"this machine has no GPU {index}")
