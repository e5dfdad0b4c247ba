"""Which GPU of its node a job has: `amdkernel slurm gpu` prints it, in the batch script.

Inside a job ROCR_VISIBLE_DEVICES counts within what the job may open: it is 0 for either GPU of two, and would be wrong
for a container that sees all of them. So the controller is asked. Its index counts the files of gres.conf, which must
be the render nodes in ascending order; where the job's cgroup refuses the device that this gives, nothing runs.
Where the cgroup hides the other GPUs of the node (KFD shows a GPU to those alone who may use it), the one is left.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpus import Gpu

CONSTRAIN = "set ConstrainDevices=yes in cgroup.conf, and list the render nodes in ascending order in gres.conf"


def allocated_gpu(
    described: str, node: str, gpus: Sequence[Gpu], refuses: Callable[[str], bool], *, hidden: int = 0
) -> Gpu:
    """The one GPU of a job on this node. Raises TargetError.

    described: what `scontrol show job -d` prints. gpus: of the node, as the job sees them; hidden: how many it does not
    see. refuses: whether the job may not open a device.
    """
    indices = gres_indices(described, node)
    if len(indices) != 1:
        has = f"GPUs {', '.join(map(str, indices))}" if indices else "no GPU"
        raise TargetError(f"the job has {has} on {node}, not one", hint="is it an sbatch with --gres=gpu:...:1?")
    in_order = sorted(gpus, key=lambda gpu: int(re.sub(r"\D", "", gpu.render_node) or 0))
    if hidden and len(gpus) == 1:
        in_order = [*in_order] * (indices[0] + 1)
    if indices[0] >= len(in_order):
        raise TargetError(f"Slurm gave GPU {indices[0]}, and the driver of {node} lists {len(in_order)}")
    gpu = in_order[indices[0]]
    if refuses(gpu.render_node):
        raise TargetError(f"Slurm gave GPU {indices[0]}, but its cgroup refuses {gpu.render_node}", hint=CONSTRAIN)
    return gpu


def gres_indices(described: str, node: str) -> list[int]:
    """The indices after `IDX:` of a node: `GRES=gpu:mi300x:2(IDX:0-1)` on the line with `Nodes=`."""
    found: list[int] = []
    for line in described.splitlines():
        names = re.search(r"\bNodes=(\S+)", line)
        if names is None or names[1] != node:  # our jobs have one node, so no list of nodes needs to be expanded
            continue
        for each in re.findall(r"\bgpu[^(\s,]*\(IDX:([\d,-]+)\)", line):
            for part in each.split(","):
                first, _, last = part.partition("-")
                found += range(int(first), int(last or first) + 1)
    return found


def is_refused(path: str) -> bool:
    """Whether the cgroup of this process refuses the device. A device without a driver is another error."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EACCES)
    return False
