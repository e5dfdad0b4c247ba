"""The probes that look and start no kernel: the way to the machine, Docker, driver, GPUs. `doctor --host` is these.

What a fault looks like is from the sources that each probe names; none of it was seen on a machine with a GPU.
"""

from __future__ import annotations

import re
import time

from amdkernel_mcp.bringup.machine import Machine
from amdkernel_mcp.bringup.probe import Finding, Probe
from amdkernel_mcp.bringup.reading import NODES, Tree
from amdkernel_mcp.errors import AmdkernelError, TargetError, ToolchainError
from amdkernel_mcp.execution.docker.container_user import how_users_are_mapped
from amdkernel_mcp.execution.docker.image import sandbox_image_id
from amdkernel_mcp.execution.gpus import Gpu, arch_of, gpus_of, local_gpus, place_of
from amdkernel_mcp.execution.remote_gpus import remote_gpus

IMAGE_BYTES = 271 * 10**6
"""Of the root file system of the sandbox image, which `setup --host` sends: measured, 865 MB as a tar."""
SENT_BYTES, LEAST_BYTES_PER_S = 1 << 20, 640 << 10
"""Seven minutes for the image are slow."""
NEEDED_BYTES = 3 << 30
BEFORE, SEE_IMAGE = "not known before the sandbox image is there", "see the probe `image`"
OLDEST_DRIVER = (6, 10, 5)
"""amdgpu of ROCm 6.3, the oldest that AMD tests with the user space of ROCm 7.2. Source: amdgpu-docs,
compatibility-matrix.rst; a module that comes with the kernel has no version of its own."""


def connect(machine: Machine) -> Finding:
    """A shell on the host."""
    machine.shell("true")
    return Finding("pass", "this machine" if machine.host is None else "ssh opens a shell with your key")


def line(machine: Machine) -> Finding:
    """How fast the line to the host is; what is sent is random, so that no compression helps."""
    if machine.host is None:
        return Finding("pass", "no line: this machine")
    import secrets

    def seconds(count: int) -> float:
        sent, began = secrets.token_bytes(count), time.monotonic()
        machine.shell("cat >/dev/null", stdin=sent, timeout_s=120)
        return time.monotonic() - began

    opening = seconds(0)
    rate = SENT_BYTES / max(seconds(SENT_BYTES) - opening, 0.01)
    if rate > LEAST_BYTES_PER_S:  # for a figure that is worth something
        rate = 8 * SENT_BYTES / max(seconds(8 * SENT_BYTES) - opening, 0.01)
    minutes = IMAGE_BYTES / rate / 60
    found = f"{rate / 1e6:.2f} MB/s: the sandbox image would take {minutes:.1f} min"
    if rate < LEAST_BYTES_PER_S:
        there = f"run `amdkernel setup` in a checkout on {machine.host}, which sends no image"
        return Finding("fail", f"a slow line, {found}", there)
    return Finding("pass", found)


def docker(machine: Machine) -> Finding:
    """The daemon, and whether it gives devices with their groups.

    Without root a daemon maps the group of a device node away, and has no right to give cgroup rules for devices.
    Source: Docker documentation, "Rootless mode", known limitations; "Isolate containers with a user namespace";
    `docker info` lists `name=rootless` and `name=userns` among its security options.
    """
    if not machine.has_containers:
        return Finding("pass", "not used: jobs run as subprocesses, isolation none, which stops accidents alone")
    info = machine.info
    found = f"{info['ServerVersion']}, {info['OperatingSystem']}, kernel {info['KernelVersion']}"
    if how := how_users_are_mapped(info):
        why = f"{found}; it {how}, so that a container cannot open /dev/kfd with the group of the host"
        return Finding("fail", why, "use a Docker daemon that runs as root, without userns-remap: `sudo dockerd`")
    return Finding("pass", found)


def cgroup_version(machine: Machine) -> Finding:
    """Which version of cgroups filters the devices: v1 by its devices controller, v2 by a BPF program.

    Source: Docker documentation, "Runtime metrics" (`docker info` names the version since 20.10); Linux,
    Documentation/admin-guide/cgroup-v2.rst, cgroup.controllers and "Device controller".
    """
    host = f"v{machine.tree('host').cgroup}"
    if not machine.has_containers:
        return Finding("pass", f"{host}; no containers")
    docker, driver = (
        f"v{machine.info.get('CgroupVersion') or '1'}",
        machine.info.get("CgroupDriver") or "driver not known",
    )
    if docker == host:
        return Finding("pass", f"{host}: the host and Docker ({driver})")
    return Finding(
        "unknown",
        f"the host has {host}, Docker uses {docker} ({driver})",
        f"`{machine.at_a_shell}stat -fc %T /sys/fs/cgroup`: is the daemon in a container, are there two hierarchies?",
    )


def cgroup(machine: Machine) -> Finding:
    """Whether the rule for devices of a container has an effect on what KFD shows.

    KFD asks the devices cgroup of the reader. In a container inside another one, or without the right to load the
    program that cgroup v2 filters devices with, the rule of the inner one gives nothing. Source: Linux,
    drivers/gpu/drm/amd/amdkfd/kfd_priv.h, kfd_devcgroup_check_permission; security/device_cgroup.c.
    """
    if not machine.has_containers:
        return Finding("pass", "no containers")
    if _is_before_setup(machine):
        return Finding("unknown", BEFORE, SEE_IMAGE)
    tree = machine.tree("rule")
    if not tree.topology():
        return Finding("unknown", "the kernel driver lists nothing by which it could be seen")
    if refused := tree.refused():
        return Finding(
            "fail",
            f"{refused} nodes of the topology are refused to a container that has the rule c 226:* rw",
            "start Docker on the host itself; inside a container that one needs `docker run --privileged`, or "
            "`--device-cgroup-rule='c 226:* rmw'`",
        )
    return Finding("pass", "a container with the rule c 226:* rw reads every node")


def disk(machine: Machine) -> Finding:
    """Space where Docker keeps its images."""
    if not machine.has_containers:
        return Finding("pass", "no images: no containers")
    space = machine.tree("host").space
    if "free_bytes" not in space:
        return Finding("unknown", f"the folder of Docker cannot be looked at: {space.get('errno', 'not known')}")
    free, place = int(space["free_bytes"]), machine.info.get("DockerRootDir")
    found = f"{free / 2**30:.1f} GiB free at {place}"
    if free < NEEDED_BYTES:
        return Finding("fail", f"a full disk: {found}, and an image with its layers takes 3 GiB",
                       f"`{machine.at_a_shell}docker system df` shows what Docker keeps there")  # fmt: skip
    return Finding("pass", found)


def driver(machine: Machine) -> Finding:
    """The kernel driver and its version. Source: Linux, /sys/module/amdgpu/version, of amdgpu-dkms alone."""
    tree = machine.tree("host")
    if not tree.topology():
        loaded = (
            "amdgpu is loaded, without KFD" if tree.text("/sys/module/amdgpu/srcversion") else "amdgpu is not loaded"
        )
        return Finding("fail", f"kernel {tree.kernel}: {loaded}; the host has no {NODES}",
                       f"`{machine.at_a_shell}sudo modprobe amdgpu`, else install the driver of AMD")  # fmt: skip
    version = tree.text("/sys/module/amdgpu/version")
    if version is None:
        return Finding("pass", f"amdgpu of kernel {tree.kernel}")
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if numbers < OLDEST_DRIVER:
        return Finding(
            "fail",
            f"amdgpu {version} is older than {'.'.join(map(str, OLDEST_DRIVER))}, which is the oldest that AMD tests "
            "with ROCm 7.2",
            'install amdgpu 30.10 or newer there (rocm.docs.amd.com, "AMD GPU driver"), or name an image of the '
            "driver's own ROCm in the setting `image`",
        )
    return Finding("pass", f"amdgpu {version}, kernel {tree.kernel}")


def nodes(machine: Machine) -> Finding:
    """The device nodes of the host: there, and open to a group. AMD's udev rule gives them to `render`; without it the
    kernel makes /dev/kfd for root alone. Source: ROCm documentation, "Configuring permissions for GPU access"."""
    tree = machine.tree("host")
    gpu = _gpu_of(machine, tree)
    wanted = ["/dev/kfd", f"/dev/dri/renderD{gpu['drm_render_minor']}" if gpu else "/dev/dri/renderD*"]
    found = []
    for path in wanted:
        node = tree.device_node(path)
        if node is None:
            why = f"{path} is not there, though the driver lists the GPU" if gpu else f"{path} is not there"
            return Finding("fail", why, f"`{machine.at_a_shell}ls -l /dev/dri /dev/kfd`; in a container or a virtual "
                           "machine its host must give it on (`--device /dev/dri --device /dev/kfd`)")  # fmt: skip
        open_to_all = node.mode & 0o006 == 0o006
        if not open_to_all and (node.mode & 0o060 != 0o060 or node.gid == 0):
            why = f"{path} has mode {node.mode:o} and the group {node.group}: root alone may open it"
            return Finding("fail", why, f"`{machine.at_a_shell}sudo chgrp render {path}` and `sudo chmod 660 {path}`; "
                           "AMD's udev rule does it at each start")  # fmt: skip
        found.append(f"{path} {node.mode:o} {node.group}, your user: {node.opening}")
    return Finding("pass", "; ".join(found))


def topology(machine: Machine) -> Finding:
    """How many GPUs each reader sees, and how many nodes it is refused."""
    seen = {}
    before = _is_before_setup(machine)
    for reader in ("host", "container", "rule") if machine.has_containers and not before else ("host",):
        tree = machine.tree(reader)
        seen[reader] = (len(tree.gpus()), tree.refused())
    found = ", ".join(f"{name} {gpus}" + (f" ({no} refused)" if no else "") for name, (gpus, no) in seen.items())
    if not seen["host"][0]:
        return Finding("fail", f"GPUs by reader: {found}", f"`{machine.at_a_shell}cat {NODES}/*/name`")
    if seen["host"][0] != seen.get("rule", seen["host"])[0]:
        return Finding("fail", f"GPUs by reader: {found}: containers do not see what the host has", "see probe cgroup")
    if before:
        return Finding("unknown", f"GPUs by reader: {found}; containers: {BEFORE}", SEE_IMAGE)
    return Finding("pass", f"GPUs by reader: {found}")


def listed(machine: Machine) -> Finding:
    """Whether the product lists the GPU, and how it names it."""
    if _is_before_setup(machine):
        named = gpus_of(list(machine.tree("host").topology().values()))
        shown = ", ".join(f"{machine.host}:{gpu.index} {gpu.name} ({gpu.arch})" for gpu in named)
        return Finding("unknown", f"{BEFORE}; by the files of the host: {shown or 'none'}", SEE_IMAGE)
    gpus = _listed(machine)
    names = ", ".join(f"{machine.host or 'local'}:{gpu.index} {gpu.name} ({gpu.arch})" for gpu in gpus)
    if not any(gpu.index == machine.index for gpu in gpus):
        raise TargetError(
            f"there is no {machine.target}; listed are {names or 'none'}", hint="see probes driver, nodes"
        )
    return Finding("pass", names)


def image(machine: Machine) -> Finding:
    """The sandbox image on the host; without containers what stands for it."""
    if not machine.has_containers:
        return Finding("pass", f"no image: {machine.without_gpu.image_id}")
    from amdkernel_mcp.execution.docker.daemon import connect as to_daemon

    daemon = to_daemon(machine.url)
    try:
        return Finding("pass", sandbox_image_id(daemon, machine.settings, host=machine.host)[:19])
    finally:
        daemon.close()


def activity(machine: Machine) -> Finding:
    """Whether it can be known that the GPU is idle.

    A GPU in runtime suspend answers EPERM and is idle; a virtual function or partition has no gpu_busy_percent.
    Source: Linux, drivers/gpu/drm/amd/pm/amdgpu_pm.c, amdgpu_pm_get_sensor_generic and the attributes' flags (ONEVF).
    """
    tree, place = _device(machine)
    errno = tree.errno(f"{place}/gpu_busy_percent")
    if tree.text(f"{place}/power/runtime_status") == "suspended":
        return Finding(
            "pass",
            f"suspended: it counts as idle, and its activity answers {errno or 'a number'}; the first launch wakes it",
            f"`{machine.at_a_shell}sudo sh -c 'echo on >{place}/power/control'` keeps it on while times are taken",
        )
    if errno == "ENOENT":
        platform = (
            "a partition" if _is_partition(tree, machine) else "a virtual function, or firmware without this sensor"
        )
        return Finding(
            "unknown",
            f"no gpu_busy_percent: {platform}; a benchmark counts differences from twice the margin on",
            "time on the whole GPU of bare metal where small differences matter",
        )
    if errno is not None:
        return Finding(
            "unknown", f"gpu_busy_percent answers {errno}", f"`{machine.at_a_shell}cat {place}/gpu_busy_percent`"
        )
    used = tree.text(f"{place}/mem_info_vram_used")
    found = f"{tree.text(f'{place}/gpu_busy_percent')} % busy, {int(used or 0) >> 20} MiB of VRAM in use"
    return Finding("pass", found)


def performance(machine: Machine) -> Finding:
    """The performance level. At `auto` Radeons gate the clock of the counters, which then count 0. Source: rocprofv3's
    documentation, "performance level", for gfx11 and gfx12."""
    tree, place = _device(machine)
    level = tree.text(f"{place}/power_dpm_force_performance_level")
    if level is None:
        return Finding("unknown", f"the level answers {tree.errno(f'{place}/power_dpm_force_performance_level')}")
    gpu = _gpu_of(machine, tree) or {}
    arch = arch_of(gpu.get("gfx_target_version", 0))
    if arch.startswith(("gfx11", "gfx12")) and level == "auto":
        return Finding("unknown", f"{level}: on {arch} counters may read 0 at this level",
                       f"`{machine.at_a_shell}sudo amd-smi set -l stable_std`, later `auto` again")  # fmt: skip
    return Finding("pass", level)


def neighbours(machine: Machine) -> Finding:
    """What a reset of this GPU would take down: the GPUs of its XGMI hive, its other partitions, a desktop.

    Source: Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c,
    amdgpu_device_gpu_recover: all devices of a hive are reset together; partitions share one device; connectors are
    below the DRM device, drivers/gpu/drm/drm_sysfs.c.
    """
    tree = machine.tree("host")
    mine = _gpu_of(machine, tree)
    if mine is None:
        return Finding("unknown", "the host does not list this GPU")
    others = [gpu for number, gpu in enumerate(tree.gpus()) if number != machine.index]
    same = [gpu for gpu in others if place_of(mine) and place_of(gpu) == place_of(mine)]
    hive = [gpu for gpu in others if mine.get("hive_id") and gpu.get("hive_id") == mine.get("hive_id")]
    shown = _displays(tree, mine["drm_render_minor"])
    what = [f"{len(hive)} more GPUs of its XGMI hive"] if hive else []
    what += [f"{len(same)} more partitions"] if same else []
    if shown:
        what.append(f"the desktop on {shown} of its connectors")
        return Finding("fail", f"a kernel that hangs would take down {', '.join(what)}",
                       "use a GPU without a display for kernels that may hang; `--hang` is left out here")  # fmt: skip
    if what:
        return Finding(
            "pass", f"a reset would take down {', '.join(what)}", "tell who uses them before you use `--hang`"
        )
    return Finding("pass", "alone: no hive, no other partition, no display")


def _displays(tree: Tree, minor: int) -> int:
    """How many connectors of the GPU have a display that is switched on."""
    connectors = re.compile(r"drm/card\d+/card\d+-.+/enabled")
    states = [entry.get("text", "") for name, entry in tree.of_device(f"renderD{minor}") if connectors.fullmatch(name)]
    return sum(str(state).strip() == "enabled" for state in states)


def _is_before_setup(machine: Machine) -> bool:
    """Whether no container can look yet, because the image is missing."""
    try:
        return machine.has_containers and not machine.tree("rule")
    except ToolchainError:
        return True
    except AmdkernelError:
        return False  # the probe says why


def _listed(machine: Machine) -> tuple[Gpu, ...]:
    return tuple(local_gpus()) if machine.host is None else remote_gpus(machine.settings, machine.host)


def _gpu_of(machine: Machine, tree: Tree) -> dict[str, int] | None:
    gpus = tree.gpus()
    return gpus[machine.index] if machine.index < len(gpus) else None


def _device(machine: Machine) -> tuple[Tree, str]:
    """What the container that may look sees (without containers, or before set-up: the host), and the folder of this
    GPU."""
    tree = machine.tree("rule" if machine.has_containers and not _is_before_setup(machine) else "host")
    gpu = _gpu_of(machine, tree)
    if gpu is None:
        raise TargetError(f"{machine.target} is not listed to a container", hint="see probes cgroup and topology")
    return tree, f"/sys/class/drm/renderD{gpu['drm_render_minor']}/device"


def _is_partition(tree: Tree, machine: Machine) -> bool:
    """Whether other nodes of the topology have its place on the PCI bus."""
    gpus = tree.gpus()
    mine = place_of(gpus[machine.index])
    return mine is not None and sum(place_of(gpu) == mine for gpu in gpus) > 1


LOOKS: tuple[Probe[Machine], ...] = (
    Probe("connect", "does a shell open on the machine?", ("listed",), connect),
    Probe("docker", "does a Docker daemon answer that can give devices?", ("listed", "correct"), docker),
    Probe("line", "how fast is the line to it?", (), line),
    Probe("disk", "is there room for images?", ("correct",), disk),
    Probe("driver", "which driver has the GPUs?", ("listed", "correct"), driver),
    Probe("image", "is the sandbox image there?", ("listed",), image),
    Probe("cgroup_version", "which version of cgroups filters devices?", (), cgroup_version),
    Probe("cgroup", "may a container read the topology?", ("listed",), cgroup),
    Probe("topology", "which GPUs does each reader see?", ("listed",), topology),
    Probe("listed", "is the GPU listed, and under which name?", ("listed",), listed),
    Probe("nodes", "who may open the device nodes?", ("correct",), nodes),
    Probe("activity", "can it be known that the GPU is idle?", ("timed", "shared"), activity),
    Probe("performance", "does its performance level let counters count?", ("profiled",), performance),
    Probe("neighbours", "what would a reset take down?", ("shared",), neighbours),
)
