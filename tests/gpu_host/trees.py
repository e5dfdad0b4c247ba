"""Machines for the box: constructed from the driver's sources, or recorded by `amdkernel bringup`.

A file of trees/ describes one constructed machine: its GPUs with the numbers of their topology nodes and the files of
their devices, the errno of each file that the driver refuses, the processes that KFD lists, and what the product must
make of it. An archive of a bring-up is such a machine as well.
"""

import contextlib
import errno
import io
import json
import os
import re
import tarfile
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from gpu_host_box import RENDER, GpuHost
from sysfs import sysfs

from amdkernel_mcp.bringup.archive import read_archive, trees_of
from amdkernel_mcp.execution.gpus import arch_of

HERE = Path(__file__).parent / "trees"
KFD = "class/kfd/kfd"
NODES = f"{KFD}/topology/nodes"
_CPU = "cpu_cores_count 96\nsimd_count 0\ndrm_render_minor 0\ngfx_target_version 0\nunique_id 0\n"
AS_OTHER_DAEMON = "/machine/docker-as-rootless {}; until [ -S /run/docker.sock ]; do sleep 0.1; done"
AS_ITSELF = "kill $(cat /run/as-rootless.pid); mv -f /run/docker-with-root.sock /run/docker.sock"
EACH_KIND = ("rx7900xt_suspended",)  # what is least like the box itself
_EMPTY = (f"{KFD}/proc", "fs/cgroup")
COUNTERS = "module/rocprofv3_in_a_box/avail"
"""What the profiler of the box lists in place of the counters that it knows."""


@dataclass(frozen=True)
class Tree:
    """Files by their path below /sys, and the errno of those that every reader is refused."""

    files: Mapping[str, str]
    errnos: Mapping[str, int] = field(default_factory=dict)
    arch: str = "gfx942"
    title: str = ""
    origin: str = ""
    source: str = ""
    daemon: str = ""
    """What its Docker daemon says of its users: `rootless`, `userns`, or nothing. `none`: there is no daemon."""
    expected: Mapping[str, Any] = field(default_factory=dict)
    nodes: Mapping[str, tuple[int, bool]] | None = None
    """Of each device node its permissions and whether it is root's group's; None: one for each GPU, of its group."""

    @property
    def minors(self) -> list[int]:
        """Of the render nodes."""
        if self.nodes is not None:
            return sorted(int(path.rpartition("renderD")[2]) for path in self.nodes if "/renderD" in path)
        found = (re.search(r"^drm_render_minor (\d+)$", text, re.MULTILINE) for text in self.files.values())
        return sorted({int(each[1]) for each in found if each and int(each[1])})


def tree_of(file: Path) -> Tree:
    """The machine of a file of trees/."""
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    files = {f"{NODES}/0/properties": _CPU, "module/amdgpu/version": f"{read['driver']}\n"}
    errnos: dict[str, int] = {}
    for number, gpu in enumerate(read["gpu"]):
        properties, minor = read["properties"] | gpu.get("properties", {}), 128 + number
        properties |= {"drm_render_minor": minor}
        node, device = f"{NODES}/{number + 1}", f"class/drm/renderD{minor}/device"
        files[f"{node}/properties"] = "".join(f"{name} {value}\n" for name, value in properties.items())
        files |= {f"{node}/gpu_id": f"{51140 + number}\n", f"{node}/name": "ip discovery\n"}
        for name, value in (read["device"] | gpu.get("device", {})).items():
            if value != "missing":
                files[f"{device}/{name}"] = f"{value}\n"
            if str(value) in errno.errorcode.values():
                errnos[f"{device}/{name}"] = getattr(errno, value)
    for process, listed in read.get("process", {}).items():
        files |= {f"{KFD}/proc/{process}/{name}": f"{value}\n" for name, value in listed.items()}
    version = read["properties"]["gfx_target_version"]
    arch = f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
    return Tree(
        files, errnos, arch, read["title"], read["origin"], read["source"], read.get("daemon", ""), read["expected"]
    )


def with_docker() -> Iterator[ParameterSet]:
    """The files of the machines that have a Docker daemon; the full gate takes EACH_KIND, soak the others."""
    for file in sorted(HERE.glob("*.toml")):
        if tree_of(file).daemon != "none":
            yield pytest.param(file, id=file.stem, marks=[] if file.stem in EACH_KIND else [pytest.mark.soak])


def tree_of_archive(path: Path) -> Tree:
    """What the host of a recorded machine read, the errnos that it and its container with the right to look got, its
    device nodes, what its Docker says of its users, and the counters that its rocprofv3 listed.

    What KFD refuses by the devices cgroup is not an errno of the tree: the box refuses it by the same rule.
    """
    kept = read_archive(path)
    trees = trees_of(kept)
    host, looking = trees["host"], trees.get("rule", trees["host"])
    files = {name.removeprefix("/sys/"): str(entry["text"]) for name, entry in host.files.items() if "text" in entry}
    errnos = {
        name.removeprefix("/sys/"): getattr(errno, str(entry["errno"]))
        for reader in (host, looking)
        for name, entry in reader.files.items()
        if entry.get("errno", "ENOENT") != "ENOENT"
        and "*" not in name
        and not (_of_node(name) and "text" in host.files[name])
    }
    if looking.refused() > host.refused():
        files["module/cgroup_in_a_box/behaviour"] = "no rules\n"
    if "counters.txt" in kept:
        files[COUNTERS] = kept["counters.txt"].decode()
    nodes = {
        name: (int(entry["mode"]), entry["gid"] == 0)
        for name, entry in host.nodes.items()
        if "mode" in entry and "/card" not in name
    }
    versions = [node["gfx_target_version"] for node in host.gpus()]
    return Tree(
        files | {name: "" for name in errnos if name not in files},
        errnos,
        arch_of(versions[0]) if versions else "gfx942",
        daemon=_daemon(json.loads(kept.get("docker_info.json", b"{}"))),
        nodes=nodes,
    )


def _of_node(path: str) -> bool:
    return "/topology/nodes/" in path


def _daemon(info: Mapping[str, Any]) -> str:
    """As the file of a constructed machine calls it."""
    if not info:
        return "none"
    said = " ".join(info.get("SecurityOptions") or [])
    return next((kind for kind in ("rootless", "userns") if f"name={kind}" in said), "")


def serve(host: GpuHost, tree: Tree) -> None:
    """Make the box this machine. Its images stay, and its GPU is emulated as one of the tree's architecture."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in _EMPTY:
            folder = tarfile.TarInfo(f"sys/{path}")
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
        options = f"arch={tree.arch},residency=1,clock=simulated,clock_seed=1,clock_scale=100\n"
        table = "".join(f"{number} /sys/{path}\n" for path, number in tree.errnos.items())
        files = {f"sys/{path}": text for path, text in tree.files.items()}
        for name, text in (files | {"options": options, "errnos": table}).items():
            member = tarfile.TarInfo(name)
            member.mode, member.size = 0o644, len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    made = "".join(
        f"[ -e {path} ] || mknod {path} c 240 {path.rpartition('D')[2]}; chmod {mode:o} {path}; chgrp {group} {path}\n"
        for path, mode, group in _device_nodes(tree)
    )
    script = f"""set -e
rm -rf /machine/sys/class /machine/sys/module/amdgpu /machine/sys/{COUNTERS} /dev/dri/renderD*
tar -C /machine -x
{made}"""
    host.inside("sh", "-c", script, stdin=buffer.getvalue())


def _device_nodes(tree: Tree) -> list[tuple[str, int, str]]:
    """Path, permissions and group of each device node."""
    if tree.nodes is not None:
        return [(path, mode, "root" if roots else "render") for path, (mode, roots) in sorted(tree.nodes.items())]
    return [(path, 0o660, "render") for path in ("/dev/kfd", *(f"/dev/dri/renderD{n}" for n in tree.minors))]


def lay_out(tree: Tree, root: Path, *, hidden: Collection[int] = ()) -> None:
    """Its files below a folder, with empty files as device nodes, for what needs no container.

    A file that the driver refuses is a folder: reading it fails for root as well. hidden: render nodes that the devices
    cgroup of the reader refuses; without them in /dev, the driver shows nothing of their nodes in the topology.
    """
    for path in _EMPTY:
        (root / "sys" / path).mkdir(parents=True)
    refused = {path for path, text in tree.files.items() if any(f"drm_render_minor {n}\n" in text for n in hidden)}
    refused |= {str(Path(path).with_name(name)) for path in refused for name in ("gpu_id", "name")}
    for path, text in tree.files.items():
        file = root / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.mkdir() if path in refused or path in tree.errnos else file.write_text(text)
    (root / "dev/dri").mkdir(parents=True)
    for path, mode, group in _device_nodes(tree):
        if int(path.rpartition("D")[2] or 0 if "renderD" in path else 0) not in hidden:
            node = root / path.removeprefix("/")
            node.touch()
            node.chmod(mode)
            if os.geteuid() == 0:
                os.chown(node, 0, 0 if group == "root" else RENDER)


@contextlib.contextmanager
def served(host: GpuHost, tree: Tree) -> Iterator[None]:
    """The box as another machine."""
    serve(host, tree)
    if tree.daemon:
        host.inside("sh", "-c", AS_OTHER_DAEMON.format(tree.daemon))
    try:
        yield
    finally:
        if tree.daemon:
            host.inside("sh", "-c", AS_ITSELF)
        serve(host, Tree(sysfs()))
        host.inside("rm", "/machine/options")
