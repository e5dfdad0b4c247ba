"""The AMD GPUs of this machine, as the kernel driver lists them; this needs no ROCm.

Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, "properties" of a node.
"""

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.hardware.specs import product_name

_KFD = "/dev/kfd"
_NUMBER = re.compile(r"[0-9a-f]{16}")
_TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class Gpu:
    """One GPU: its index among the GPUs, its arch (`gfx942`), its product's name and its render node.

    `unique_id`: 16 hexadecimal digits, as the topology gives it; None where the product has none. `device_id`: the same
    of the whole device, as its own file `unique_id` gives it, and the number of the partition where it has several. The
    topology's has changed between drivers (of the package, of an XCD, the same for all partitions); the device's not.
    Source: Linux, drivers/gpu/drm/amd: amdkfd/kfd_topology (node_show), pm/amdgpu_pm (amdgpu_get_unique_id).
    """

    index: int
    arch: str
    name: str
    render_node: str
    unique_id: str | None = None
    device_id: str | None = None


@dataclass(frozen=True)
class GpuDevice:
    """The one GPU that a run container sees, and the groups on the host that may open its device nodes."""

    render_node: str
    host_gids: tuple[int, ...]

    # A process that is killed inside a HIP call can leak VRAM, so the driver gets time to take its queues down.
    grace_s: float = 60

    visible: str = ""
    """What ROCR_VISIBLE_DEVICES calls it, where nothing else keeps a job from the other GPUs of its machine."""


def local_gpus(topology: Path = _TOPOLOGY, devices: Path = Path("/dev")) -> list[Gpu]:
    """The GPUs whose nodes exist in /dev; empty without the amdgpu driver."""
    if not (devices / "kfd").exists() or not topology.is_dir():
        return []
    nodes = sorted(topology.iterdir(), key=lambda path: int(path.name) if path.name.isdigit() else -1)
    read = [_properties(node / "properties") for node in nodes]
    drm = topology.parents[3] / "drm"
    numbers = {minor: _text(drm / f"renderD{minor}/device/unique_id") for node in read if (minor := _minor(node))}
    gpus = gpus_of(read, str(devices), numbers)
    return [gpu for gpu in gpus if Path(gpu.render_node).exists()]


def hidden_nodes(topology: Path = _TOPOLOGY) -> int:
    """How many nodes the driver does not show to the cgroup of this process."""
    return sum(not _properties(node / "properties") for node in topology.iterdir()) if topology.is_dir() else 0


def gpus_of(nodes: list[dict[str, int]], devices: str = "/dev", numbers: Mapping[int, str] | None = None) -> list[Gpu]:
    """The GPUs among the nodes of a topology, in their order; CPUs are nodes as well.

    `numbers`: by the number of the render node, what its device's own file `unique_id` says.
    """
    found = [node for node in nodes if _minor(node) and node.get("gfx_target_version")]
    gpus = []
    for index, node in enumerate(found):
        arch, number = arch_of(node["gfx_target_version"]), node.get("unique_id", 0)
        cus = node.get("simd_count", 0) // per_cu if (per_cu := node.get("simd_per_cu", 0)) else None
        name = product_name(arch, device_id=node.get("device_id"), cus=cus)
        place = f"{devices}/dri/renderD{node['drm_render_minor']}"
        own = _device_id(node, found, numbers or {})
        gpus.append(Gpu(index, arch, name, place, f"{number:016x}" if number else None, own))
    return gpus


def _device_id(node: dict[str, int], nodes: list[dict[str, int]], numbers: Mapping[int, str]) -> str | None:
    """The number of the device, whose first partition alone may have the file; with that of the partition, if any."""
    place = place_of(node)
    same = [each for each in nodes if place_of(each) == place]
    shared = len(same) > 1 and place is not None
    minors = [_minor(each) for each in (same if shared else [node])]
    found = next((numbers[minor] for minor in minors if _NUMBER.fullmatch(numbers.get(minor, ""))), None)
    return f"{found}-{minors.index(_minor(node))}" if found and shared else found


def place_of(node: Mapping[str, int]) -> tuple[int, int] | None:
    """PCI domain and place in it, which the partitions of a device share; None where the driver names none.

    A partition's number is in `location_id` as well: in the three bits of the PCI function or, for some months of 2024,
    in the four highest ones. Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, kfd_topology_add_device.
    """
    location = node.get("location_id", 0) & 0x0FFFFFFF
    if _can_be_partitioned(node):
        location &= ~7
    return (node.get("domain", 0), location) if location else None


def _can_be_partitioned(node: Mapping[str, int]) -> bool:
    """Whether it is of MI300 or later: other GPUs at one place may be functions that a virtual machine put there."""
    return node.get("gfx_target_version", 0) // 100 in (904, 905)


def _minor(node: dict[str, int]) -> int:
    return node.get("drm_render_minor", 0)


def id_of(gpu: Gpu, host: str | None) -> str:
    """The GPU's own number, which is the same from each machine; else its place, as this machine calls it."""
    return gpu.device_id or gpu.unique_id or f"{host or socket.gethostname()}{gpu.render_node}"


@dataclass(frozen=True)
class DeviceNode:
    """A device node of a host: its path, its group and its permissions."""

    path: str
    gid: int
    mode: int


def visible_device(gpu: Gpu, gpus: Iterable[Gpu]) -> str:
    """Its name for ROCR_VISIBLE_DEVICES: its UUID, or its index where it has none of its own, among all `gpus`.

    Source: ROCm documentation, "GPU isolation techniques"; the UUID is `GPU-` and the driver's unique_id.
    """
    own = gpu.unique_id and sum(each.unique_id == gpu.unique_id for each in gpus) == 1
    return f"GPU-{gpu.unique_id}" if own else str(gpu.index)


def gpu_device(gpu: Gpu) -> GpuDevice:
    """What a run container needs to open it. Raises TargetError where none may open it."""
    stats = {path: Path(path).stat() for path in (_KFD, gpu.render_node)}
    return device_of(gpu, [DeviceNode(path, stat.st_gid, stat.st_mode) for path, stat in stats.items()])


def device_of(gpu: Gpu, nodes: Iterable[DeviceNode]) -> GpuDevice:
    """What a run container needs to open these nodes. Raises TargetError where an ordinary user may not open one."""
    gids = []
    for node in nodes:
        if node.mode & 0o006 == 0o006:
            continue  # open to all
        if node.mode & 0o060 != 0o060:
            raise TargetError(
                f"{node.path} has mode {node.mode & 0o777:o}, so that root alone may open it",
                hint=f"`sudo chgrp render {node.path} && sudo chmod 660 {node.path}` on that machine",
            )
        gids.append(node.gid)
    return GpuDevice(gpu.render_node, tuple(dict.fromkeys(gids)))


def read_properties(text: str) -> dict[str, int]:
    """The numbers of a topology node."""
    return {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}


def arch_of(version: int) -> str:
    """`gfx942` for 90402: decimal major, two digits of minor, two of stepping, the last two written in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:  # not every product has it
        return ""


def _properties(file: Path) -> dict[str, int]:
    try:
        return read_properties(file.read_text())
    except OSError:  # a node that this cgroup may not see
        return {}
