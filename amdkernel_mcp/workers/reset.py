"""Resets a GPU of this machine with AMD's tool, where that ends no other work.

AMD's "GPU reset behavior on XGMI systems" (AMD SMI documentation) and its warnings about `--gpureset`: in an XGMI hive
all GPUs are reset together, behind one PCIe switch perhaps as well, and each process that has /dev/kfd open ends,
whichever GPU it uses. So none may be there. The GPU is named by its PCI address: the tool has an order of its own.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpus import Gpu, place_of

RESET_S = 120.0
"""For the tool to end. A choice, not a measurement."""
_KILLED_S = 5.0
_SHOWN_BYTES = 600
_PATH = f"{os.defpath}:/usr/sbin:/sbin:/opt/rocm/bin"


def reset(gpu: Gpu, offered: Collection[Gpu], *, root: Path = Path("/"), path: str | None = None) -> tuple[int, str]:
    """Reset it. The tool's exit code (124: it did not end in time) and the end of what it printed.

    offered: the GPUs of which the server keeps all others away meanwhile. root, path: of other files and programs, for
    tests. Raises TargetError with the reason where no reset is tried.
    """
    kfd = root / "sys/class/kfd/kfd"
    properties = _properties(kfd)
    mine = properties.get(_minor(gpu))
    if mine is None:
        raise TargetError(f"the driver does not list {gpu.render_node} any more")
    _refuse_others(gpu, offered, properties, kfd)
    tool = shutil.which("amd-smi", path=path or f"{os.environ.get('PATH', '')}:{_PATH}")
    if tool is None:
        raise TargetError("amd-smi is not installed there")
    sudo = ["sudo", "-n"] if os.geteuid() else []
    return _run([*sudo, tool, "reset", "--gpureset", "--gpu", _address(mine)])


def _refuse_others(gpu: Gpu, offered: Collection[Gpu], properties: dict[int, dict[str, int]], kfd: Path) -> None:
    """Raises TargetError where a reset would take the work of others along."""
    try:
        processes = sorted(each.name for each in (kfd / "proc").iterdir())
    except OSError:
        raise TargetError("the driver's list of processes cannot be read") from None
    if processes:
        raise TargetError(f"a reset ends each process that uses a GPU, and the driver lists {', '.join(processes[:5])}")
    hive = properties[_minor(gpu)].get("hive_id", 0)
    known = {_minor(each) for each in offered}
    strangers = [
        minor for minor, each in properties.items() if hive and each.get("hive_id") == hive and minor not in known
    ]
    mine = place_of(properties[_minor(gpu)])
    beside = [minor for minor, each in properties.items() if mine and place_of(each) == mine and minor not in known]
    if beside:
        raise TargetError(
            f"its device, which is reset as a whole, has partitions that this worker does not offer: renderD{beside[0]}"
        )
    if strangers:
        raise TargetError(
            f"its XGMI hive, which is reset as a whole, has GPUs that this worker does not offer: renderD{strangers[0]}"
        )


def _properties(kfd: Path) -> dict[int, dict[str, int]]:
    """What the driver's topology says of each GPU, by the number of its render node."""
    found = {}
    for file in (kfd / "topology/nodes").glob("*/properties"):
        with suppress(OSError):
            values = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", file.read_text(), re.MULTILINE)}
            if values.get("drm_render_minor"):
                found[values["drm_render_minor"]] = values
    return found


def _minor(gpu: Gpu) -> int:
    return int(gpu.render_node.rpartition("renderD")[2])


def _address(properties: dict[str, int]) -> str:
    """Such as 0000:c1:00.0. Source: drivers/gpu/drm/amd/amdkfd/kfd_topology.c of Linux, `location_id`."""
    place = place_of(properties)
    if place is None:
        raise TargetError("the driver does not list its PCI address")
    domain, bus = place
    return f"{domain:04x}:{bus >> 8 & 0xFF:02x}:{bus >> 3 & 0x1F:02x}.{bus & 7}"


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Its exit code and the end of its output; nothing that it starts is waited for longer than RESET_S."""
    tail, until_s = b"", time.monotonic() + RESET_S
    try:
        tool = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise TargetError(f"{command[0]} cannot be started: {error.strerror}") from None
    assert tool.stdout is not None
    with tool.stdout as output:
        while (rest_s := until_s - time.monotonic()) > 0 and select.select([output], [], [], rest_s)[0]:
            piece = os.read(output.fileno(), 4096)
            if not piece:
                break
            tail = (tail + piece)[-_SHOWN_BYTES:]
    said = " ".join(tail.decode(errors="replace").split())
    try:
        return tool.wait(max(until_s - time.monotonic(), 0.1)), said
    except subprocess.TimeoutExpired:
        with suppress(OSError, subprocess.TimeoutExpired):  # with sudo it is root's
            os.killpg(tool.pid, signal.SIGKILL)
            tool.wait(_KILLED_S)
        return 124, said
