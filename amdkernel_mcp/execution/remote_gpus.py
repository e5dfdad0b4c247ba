"""The AMD GPUs of another machine, read through its Docker daemon: nothing of ours need be installed there.

A container sees the host's sysfs, and with it the topology. Only a container that has the
device sees the group that may open it.
"""

from functools import cache

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.image import sandbox_image_id
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.gpus import Gpu, GpuDevice, gpus_of, read_properties

_TOPOLOGY = "cat /sys/class/kfd/kfd/topology/nodes/*/properties 2>/dev/null | sed 's/^cpu_cores_count/\\n&/'"


def remote_gpus(settings: Settings, host: str) -> tuple[Gpu, ...]:
    """The GPUs of a configured host. Raises SandboxError or ToolchainError; read once per process."""
    return _ask(settings.hosts[host], sandbox_id_of(settings, host))


def sandbox_id_of(settings: Settings, host: str) -> str:
    """Id of the sandbox image on that host. Raises ToolchainError when it has not been made there."""
    daemon = connect(settings.hosts[host])
    try:
        return sandbox_image_id(daemon, settings)
    finally:
        daemon.close()


def remote_device(daemon: Daemon, image_id: str, gpu: Gpu) -> GpuDevice:
    """What a run container there needs. Raises TargetError when the device cannot be given to a container."""
    probe = DockerSandbox(daemon, image_id, gpu=GpuDevice(gpu.render_node, host_gid=0), pool=PoolSizes(0, 0))
    try:
        done = probe.run("run", ["stat", "-c", "%g", gpu.render_node], {}, timeout_s=30)
    finally:
        probe.close(keep_daemon=True)
    if not done.stderr.strip().isdigit():
        raise TargetError(f"{gpu.render_node} cannot be given to a container: {done.stderr.strip()[-200:]}")
    return GpuDevice(gpu.render_node, host_gid=int(done.stderr))


@cache
def _ask(url: str, image_id: str) -> tuple[Gpu, ...]:
    sandbox = DockerSandbox(connect(url), image_id, pool=PoolSizes(0, 0))
    try:
        done = sandbox.run("compile", ["sh", "-c", _TOPOLOGY], {}, timeout_s=30)
    finally:
        sandbox.close()
    return tuple(gpus_of([read_properties(block) for block in done.stderr.split("\n\n")]))
