"""Prints what this reader sees of a machine with AMD GPUs, as one JSON document: each file with its text or its errno.

Run with Python 3.7 or newer on a host, or in a container; it needs nothing else. It writes nothing and starts nothing.
Arguments: a folder whose free space is asked for, or an empty word; and the root of the tree, which is / but in tests.

Which files: Linux, drivers/gpu/drm/amd: amdkfd/kfd_topology, amdkfd/kfd_process, pm/amdgpu_pm, amdgpu/amdgpu_gfx
(partitions); drivers/gpu/drm/drm_sysfs.c (connectors).
"""

from __future__ import annotations

import errno
import glob
import grp
import json
import os
import stat
import sys

TOPOLOGY = "/sys/class/kfd/kfd/topology"
DEVICE = "/sys/class/drm/renderD*/device"
OF_A_DEVICE = (
    "vendor",
    "device",
    "subsystem_vendor",
    "subsystem_device",
    "revision",
    "unique_id",
    "gpu_busy_percent",
    "mem_busy_percent",
    "mem_info_vram_total",
    "mem_info_vram_used",
    "current_compute_partition",
    "available_compute_partition",
    "current_memory_partition",
    "power_dpm_force_performance_level",
    "pp_dpm_sclk",
    "pp_dpm_mclk",
    "reset_method",
    "power/runtime_status",
    "power/control",
    "hwmon/hwmon*/freq*_input",
    "hwmon/hwmon*/power1_average",
    "fw_version/*",
    "drm/card*/card*-*/enabled",
    "drm/card*/card*-*/status",
)
FILES = (
    f"{TOPOLOGY}/generation_id",
    f"{TOPOLOGY}/nodes/*/gpu_id",
    f"{TOPOLOGY}/nodes/*/name",
    f"{TOPOLOGY}/nodes/*/properties",
    "/sys/class/kfd/kfd/proc/*/vram_*",
    "/sys/class/kfd/kfd/proc/*/queues/*/gpuid",
    "/sys/module/amdgpu/version",
    "/sys/module/amdgpu/srcversion",
    *(f"{DEVICE}/{name}" for name in OF_A_DEVICE),
)
FOLDERS = ("/sys/class/drm", f"{TOPOLOGY}/nodes", "/sys/class/kfd/kfd/proc", "/dev/dri")
NODES = ("/dev/kfd", "/dev/dri/renderD*", "/dev/dri/card*")
MOST_BYTES, MOST_FILES = 1 << 14, 16000  # of 64 partitions some 5000


def main(folder: str, root: str = "") -> dict[str, object]:
    """All that is read: files, folders, device nodes, and what the system says of itself."""
    entries: dict[str, dict[str, object]] = {}
    for pattern in FILES:
        for path in _found(root, pattern):
            if len(entries) < MOST_FILES:
                entries[path] = _text(root + path)
    for path in FOLDERS:
        for each in _found(root, path):
            entries[each] = _answer(lambda place=root + each: {"list": sorted(os.listdir(place))})
    nodes = {path: _answer(lambda place=root + path: _node(place)) for each in NODES for path in _found(root, each)}
    system = os.uname()
    return {
        "entries": entries,
        "nodes": nodes,
        "kernel": system.release,
        "machine": system.machine,
        "cgroup": 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1,
        "groups": sorted({_group(gid) for gid in {os.getegid(), *os.getgroups()}}),
        "root": os.geteuid() == 0,
        "space": _answer(lambda: _space(folder)) if folder else {},
        "names": _names(),
    }


def _names() -> list[str]:
    """What must not leave the machine: its names and that of its user."""
    found = {os.uname().nodename, os.environ.get("USER", ""), os.environ.get("LOGNAME", "")}
    return sorted(name for name in found if name)


def _found(root: str, pattern: str) -> list[str]:
    """The paths of a pattern; the pattern itself where there is none, so that its errno is recorded."""
    return sorted(path[len(root) :] for path in glob.glob(root + pattern)) or [pattern]


def _text(path: str) -> dict[str, object]:
    def read() -> dict[str, object]:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES)
        try:
            return {"text": data.decode()}
        except UnicodeDecodeError:
            return {"hex": data.hex()}

    return _answer(read)


def _node(path: str) -> dict[str, object]:
    """Who may open a device node, and whether this reader can."""
    found = os.stat(path)
    opened = _answer(lambda: {"closed": os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))})
    return {
        "mode": stat.S_IMODE(found.st_mode),
        "group": _group(found.st_gid),
        "gid": found.st_gid,
        "device": f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}",
        "open": opened.get("errno", "opened"),
    }


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _space(folder: str) -> dict[str, object]:
    found = os.statvfs(folder)
    return {"free_bytes": found.f_bavail * found.f_frsize, "all_bytes": found.f_blocks * found.f_frsize}


def _answer(read) -> dict[str, object]:  # type: ignore[no-untyped-def]
    """What `read` returns, or the name of its errno, such as EPERM."""
    try:
        found: dict[str, object] = read()
        return found
    except OSError as error:
        return {"errno": errno.errorcode.get(error.errno or 0, str(error.errno))}


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout, separators=(",", ":"))
