"""What docker-py's `containers.create` gets for a sandbox container. Pure, so that a test reads all of it.

A container waits for one job on its stdin, does it and ends; it is never used twice. docs/sandbox.md says which attack
each flag is for, and tests/execution/ tries them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.ownership import LIFETIME_S
from amdkernel_mcp.execution.gpus import GpuDevice
from amdkernel_mcp.execution.limits import MIB, Limits
from amdkernel_mcp.execution.sandbox import ENVIRONMENT

# Folders that no image has: a tmpfs over an existing folder takes on its mode.
WORK, OUT = "/sandbox/work", "/sandbox/out"

INIT = "/opt/amdkernel/init"
"""The containers' PID 1, sandbox/image/init.c."""
ABANDONED_GRACE_S = 20.0
"""Between SIGTERM and SIGKILL at most, once a container's client is gone or its time is over."""

# The warm container reads the seconds that the job may take, which are for its PID 1, the length of a shell program,
# then the program, and runs it.
WAIT_FOR_JOB = ("/bin/sh", "-c", 'read -r seconds bytes && eval "$(head -c "$bytes")"')


# KFD shows a GPU's node of its topology (gpu_id, name, properties) to who may use its render node by the rules of the
# devices cgroup, and answers EPERM to others. Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, node_show.
# 226 is the major number of DRM. No node of it exists in the container, and it cannot make one (no mknod).
LOOK_RULE = "c 226:* rw"


def container_options(
    image_id: str,
    limits: Limits,
    labels: Mapping[str, str],
    gpu: GpuDevice | None = None,
    *,
    user: str,
    looks: bool = False,
) -> dict[str, Any]:
    """Keyword arguments of docker-py's `containers.create`. Raises SandboxError for a tag.

    `user`: of this container alone, see container_user.py. `looks`: it reads what the driver lists of GPUs.
    """
    if not image_id.startswith("sha256:"):
        raise SandboxError(f"{image_id} is a tag, and a tag can move", hint="`amdkernel doctor` prints the image's id")
    grace_s = min(gpu.grace_s if gpu else limits.grace_s, ABANDONED_GRACE_S)
    options: dict[str, Any] = {
        "image": image_id,
        "command": list(WAIT_FOR_JOB),
        "entrypoint": [INIT, f"{grace_s:.3f}", f"{LIFETIME_S:.0f}"],
        "environment": ENVIRONMENT | {"OUT": OUT},
        "labels": dict(labels),
        "user": user,
        "working_dir": "/",
        "hostname": "sandbox",
        "stdin_open": True,
    }
    return (
        options | _isolation() | _limits(limits) | _gpu(gpu) | ({"device_cgroup_rules": [LOOK_RULE]} if looks else {})
    )


def _isolation() -> dict[str, Any]:
    return {
        "network_mode": "none",
        # A network namespace of its own, without even a loopback: for "none" alone the daemon starts itself twice more
        # to set one up, which is half of what the start of a container costs.
        "network_disabled": True,
        "read_only": True,
        "cap_drop": ["ALL"],
        # The profile's text, not its path: the daemon may be on another machine.
        "security_opt": ["no-new-privileges", f"seccomp={_seccomp()}"],
        "ipc_mode": "private",
        "cgroupns": "private",
        "log_config": {"type": "none"},  # json-file let `yes` write 80 MB a second to the host's disk
    }


def _limits(limits: Limits) -> dict[str, Any]:
    return {
        "pids_limit": limits.processes,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "nano_cpus": int(limits.cpus * 1e9),
        "oom_score_adj": 500,
        "shm_size": 64 * MIB,
        "ulimits": [
            {"name": "nofile", "soft": 1024, "hard": 1024},
            {"name": "core", "soft": 0, "hard": 0},
            {"name": "fsize", "soft": limits.file_bytes, "hard": limits.file_bytes},
        ],
        "tmpfs": {
            WORK: _tmpfs(limits.work_bytes, inodes="8k", execute=True),
            "/tmp": _tmpfs(limits.scratch_bytes, inodes="8k", execute=True),
            OUT: _tmpfs(limits.out_bytes, inodes="16k", execute=False),
        },
    }


def _gpu(gpu: GpuDevice | None) -> dict[str, Any]:
    if gpu is None:
        return {}
    # The groups' numbers, not their names: the image need not know the host's groups.
    groups = [str(gid) for gid in gpu.host_gids]
    return {"devices": [f"{d}:{d}:rw" for d in ("/dev/kfd", gpu.render_node)], "group_add": groups}


def _tmpfs(size: int, *, inodes: str, execute: bool) -> str:
    return f"rw,nosuid,nodev,{'exec' if execute else 'noexec'},size={size},nr_inodes={inodes},mode=1777"


@cache
def _seccomp() -> str:
    import json

    return json.dumps(json.loads((folder("sandbox") / "image" / "seccomp.json").read_text()), separators=(",", ":"))
