"""The AMD GPUs of another machine, read through its Docker daemon: nothing of ours need be installed there.

A container sees the host's sysfs, and one that may look (`docker/container.py`) the topology of its GPUs. Only a
container that has the device sees who may open it.
"""

import re
from functools import cache

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.image import sandbox_image_id
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.gpus import DeviceNode, Gpu, GpuDevice, device_of, gpus_of, read_properties

# In the order of their numbers, as HIP counts them: 2 before 10.
# Its argument, empty or the root of another tree, is for tests.
TOPOLOGY = """cd "$1/sys/class/kfd/kfd/topology/nodes" 2>/dev/null || exit 0
for node in $(ls | sort -n); do cat $node/properties || echo "not_readable 1"; echo; done
cd "$1/sys/class/drm" && for node in renderD*; do echo "device $node $(cat $node/device/unique_id)"; done"""


def remote_gpus(settings: Settings, host: str) -> tuple[Gpu, ...]:
    """The GPUs of a configured host, asked for once per process where it has any.

    Raises SandboxError, ToolchainError, and TargetError where its driver refuses to show them.
    """
    url = settings.hosts[host]
    gpus, refused = _ask(url, sandbox_id_of(settings, host))
    if gpus:
        return gpus
    _ask.cache_clear()  # a driver may be loaded later
    if refused:
        raise TargetError(
            f"the kernel driver of {host} shows none of its GPUs to a container: {refused} nodes cannot be read",
            hint=f"`{_shown_by(url)} 'cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id'` shows what it lists; a "
            "Docker daemon without root, or inside another container, may not give the right to read it",
        )
    return ()


def _shown_by(url: str) -> str:
    return f"ssh {url.removeprefix('ssh://')}" if url.startswith("ssh://") else "sh -c"


def sandbox_id_of(settings: Settings, host: str) -> str:
    """Id of the sandbox image on that host. Raises ToolchainError when it has not been made there."""
    daemon = connect(settings.hosts[host])
    try:
        return sandbox_image_id(daemon, settings, host=host)
    finally:
        daemon.close()


def remote_device(daemon: Daemon, image_id: str, gpu: Gpu) -> GpuDevice:
    """What a run container there needs. Raises TargetError when the device cannot be given to a container."""
    probe = DockerSandbox(daemon, image_id, gpu=GpuDevice(gpu.render_node, host_gids=()), pool=PoolSizes(0, 0))
    try:
        done = probe.run("run", ["stat", "-c", "%n %g %a", "/dev/kfd", gpu.render_node], {}, timeout_s=30)
    finally:
        probe.close(keep_daemon=True)
    found = re.findall(r"^(/dev/\S+) (\d+) ([0-7]+)$", done.stderr, re.MULTILINE)
    if len(found) != 2:
        raise TargetError(f"{gpu.render_node} cannot be given to a container: {done.stderr.strip()[-200:]}")
    return device_of(gpu, [DeviceNode(path, int(gid), int(mode, 8)) for path, gid, mode in found])


@cache
def _ask(url: str, image_id: str) -> tuple[tuple[Gpu, ...], int]:
    """The GPUs, and how many nodes cannot be read."""
    sandbox = DockerSandbox(connect(url), image_id, pool=PoolSizes(0, 0, look=0))
    try:
        done = sandbox.run("look", ["sh", "-c", TOPOLOGY], {}, timeout_s=30)
    finally:
        sandbox.close()
    return gpus_in(done.stderr)


def gpus_in(printed: str) -> tuple[tuple[Gpu, ...], int]:
    """The GPUs in what the script printed, and how many nodes cannot be read."""
    nodes = [read_properties(block) for block in printed.split("\n\n")]
    numbers = {int(minor): own for minor, own in re.findall(r"^device renderD(\d+) (\S+)$", printed, re.MULTILINE)}
    return tuple(gpus_of(nodes, numbers=numbers)), sum("not_readable" in node for node in nodes)
