"""What one reader saw of a machine: the document of sandbox/bringup/read_tree.py, with an errno for each file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.gpus import read_properties

NODES = "/sys/class/kfd/kfd/topology/nodes"
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class DeviceNode:
    """A device node: its permissions, its group, and the errno of opening it, or `opened`."""

    path: str
    mode: int
    group: str
    gid: int
    opening: str


@dataclass(frozen=True)
class Tree:
    """The document, read. `files`: by path; an entry has `text`, `hex`, `list` or `errno`."""

    files: Mapping[str, Entry]
    nodes: Mapping[str, Entry]
    kernel: str = ""
    cgroup: int = 0
    groups: tuple[str, ...] = ()
    root: bool = False
    space: Entry = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def text(self, path: str) -> str | None:
        """The text of a file, without the white space around it; None where it could not be read."""
        found = self.files.get(path, {}).get("text")
        return found.strip() if isinstance(found, str) else None

    def errno(self, path: str) -> str | None:
        """Such as `EPERM`; None where it was read. `ENOENT` for what was not looked for."""
        entry = self.files.get(path)
        return "ENOENT" if entry is None else entry.get("errno")

    def topology(self) -> dict[int, dict[str, int]]:
        """The properties of the topology's nodes by number; empty ones of a node that the driver does not show."""
        found = {}
        for path in self.files:
            if match := re.fullmatch(rf"{NODES}/(\d+)/properties", path):
                found[int(match[1])] = read_properties(self.text(path) or "")
        return dict(sorted(found.items()))

    def refused(self) -> int:
        """How many nodes of the topology the driver refuses to this reader."""
        return sum(self.errno(f"{NODES}/{number}/properties") not in (None, "ENOENT") for number in self.topology())

    def gpus(self) -> list[dict[str, int]]:
        """The properties of the GPUs among the nodes."""
        return [node for node in self.topology().values() if node.get("drm_render_minor")]

    def of_device(self, render_node: str) -> Iterator[tuple[str, Entry]]:
        """The files of one GPU by their name below its `device` folder."""
        start = f"/sys/class/drm/{render_node.rpartition('/')[2]}/device/"
        return ((path[len(start) :], entry) for path, entry in self.files.items() if path.startswith(start))

    def device_node(self, path: str) -> DeviceNode | None:
        """The node; None where it is not there."""
        entry = self.nodes.get(path)
        if entry is None or "mode" not in entry:
            return None
        return DeviceNode(path, int(entry["mode"]), str(entry["group"]), int(entry["gid"]), str(entry["open"]))


def read_tree(printed: bytes, reader: str) -> Tree:
    """The document of a reader. Raises SandboxError for anything else."""
    try:
        found = json.loads(printed)
        return Tree(
            files={str(path): dict(entry) for path, entry in found["entries"].items()},
            nodes={str(path): dict(entry) for path, entry in found["nodes"].items()},
            kernel=str(found["kernel"]),
            cgroup=int(found["cgroup"]),
            groups=tuple(map(str, found["groups"])),
            root=bool(found["root"]),
            space=dict(found["space"]),
            names=tuple(map(str, found["names"])),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        said = printed[-200:].decode(errors="replace").strip()
        raise SandboxError(f"what {reader} reads of the machine cannot be understood: {said or 'nothing'}") from None
