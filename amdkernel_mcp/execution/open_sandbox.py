"""Open the sandbox that the settings and the machine allow."""

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import AmdkernelError, SandboxError, TargetError, ToolchainError
from amdkernel_mcp.execution.sandbox import Sandbox

if TYPE_CHECKING:
    from amdkernel_mcp.execution.docker.daemon import Daemon
    from amdkernel_mcp.execution.gpus import GpuDevice


def open_sandbox(
    settings: Settings, *, host: str | None = None, gpu: int | None = None, compiles: bool = True
) -> Sandbox:
    """Containers on the local daemon or on that of `host`; where Docker is not installed, the fallback without.

    gpu: index of the one GPU that run containers see. compiles: whether containers for compiles are kept warm; without
    them the first compile waits for its own. Raises SandboxError or ToolchainError with the remedy.
    """
    if host is None and uses_no_containers(settings):
        from amdkernel_mcp.execution.bare.runtime import open_bare

        return open_bare(settings, None if gpu is None else _visible(gpu))
    from amdkernel_mcp.execution.docker.daemon import connect
    from amdkernel_mcp.execution.docker.image import sandbox_image_id, torch_image_id, triton_image_id
    from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes

    daemon = connect(docker_url(settings, host))
    try:
        image_id = sandbox_image_id(daemon, settings, host=host)
        device = None if gpu is None else _device(settings, daemon, image_id, host, gpu)
        sandbox = DockerSandbox(
            daemon,
            image_id,
            gpu=device,
            pool=PoolSizes() if compiles else PoolSizes(compile=0),
            find_torch=lambda: torch_image_id(daemon, settings, host=host),
            find_triton=lambda: triton_image_id(daemon, settings, host=host),
        )
    except BaseException:
        daemon.close()
        raise
    sandbox.warm_up()
    return sandbox


def open_compiler(settings: Settings, hip: str) -> Sandbox:
    """Containers that compile with the compiler of another HIP release, a value of the setting `hip`.

    Raises SandboxError, or ToolchainError with the command that installs it.
    """
    if uses_no_containers(settings):
        raise ToolchainError("without containers there is one compiler, that of this machine")
    from amdkernel_mcp.execution.docker.daemon import connect
    from amdkernel_mcp.execution.docker.image import compiler_image_id
    from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes

    daemon = connect(settings.docker_host)
    try:
        return DockerSandbox(daemon, compiler_image_id(daemon, settings, hip), pool=PoolSizes(compile=0))
    except BaseException:
        daemon.close()
        raise


def why_not_ready(settings: Settings) -> AmdkernelError | None:
    """What keeps this machine from running kernels, with the remedy; None where nothing does. Starts no container."""
    try:
        if uses_no_containers(settings):
            from amdkernel_mcp.execution.bare.runtime import open_bare

            open_bare(settings).close()
            return None
        from amdkernel_mcp.execution.docker.daemon import connect
        from amdkernel_mcp.execution.docker.image import sandbox_image_id

        daemon = connect(settings.docker_host)
        try:
            sandbox_image_id(daemon, settings)
        finally:
            daemon.close()
    except AmdkernelError as error:
        return error
    return None


def uses_no_containers(settings: Settings) -> bool:
    """Whether jobs run as plain subprocesses. A Docker that is installed but stopped is an error."""
    if settings.isolation != "auto":
        return settings.isolation == "none"
    if settings.docker_host or os.environ.get("DOCKER_HOST"):
        return False
    from amdkernel_mcp.execution.docker.daemon import local_socket

    return local_socket() is None and not any(shutil.which(engine) for engine in ("dockerd", "docker", "podman"))


def docker_url(settings: Settings, host: str | None) -> str | None:
    """The daemon of `host`, or of this machine. Raises SandboxError for an unknown host."""
    if host is None:
        return settings.docker_host
    if host not in settings.hosts:
        raise SandboxError(f"no host is called {host!r}", hint="`hosts` in the settings file names them")
    return settings.hosts[host]


def _visible(index: int) -> "GpuDevice":
    """A GPU of this machine for jobs without a container. Raises TargetError."""
    from amdkernel_mcp.execution.gpus import gpu_device, local_gpus, visible_device

    gpus = local_gpus()
    for gpu in gpus:
        if gpu.index == index:
            return replace(gpu_device(gpu), visible=visible_device(gpu, gpus))
    raise TargetError(f"this machine has no GPU {index}")


def _device(settings: Settings, daemon: "Daemon", image_id: str, host: str | None, index: int) -> "GpuDevice":
    from amdkernel_mcp.execution.docker.container_user import how_users_are_mapped
    from amdkernel_mcp.execution.gpus import gpu_device, local_gpus
    from amdkernel_mcp.execution.remote_gpus import remote_device, remote_gpus

    for gpu in local_gpus() if host is None else remote_gpus(settings, host):
        if gpu.index == index:
            device = gpu_device(gpu) if host is None else remote_device(daemon, image_id, gpu)
            if device.host_gids and (how := how_users_are_mapped(daemon.info)):
                raise TargetError(
                    f"the Docker daemon of {host or 'this machine'} {how}: none of its containers can open "
                    f"{gpu.render_node} with the group of the host",
                    hint="use a Docker daemon that runs as root, without userns-remap: `sudo dockerd`",
                )
            return device
    raise TargetError(f"{host or 'this machine'} has no GPU {index}")
