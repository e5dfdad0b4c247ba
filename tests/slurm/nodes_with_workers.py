"""The real worker on all nodes of the cluster. Their kernels run in the Docker daemon of one GPU host in a box."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpu_host_box import GpuHost, start_gpu_host
from rocm_image import ROCM, give_rocm_image
from slurm_cluster import SlurmCluster

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.sandbox import Sandbox

AMDKERNEL = str(Path(sys.executable).with_name("amdkernel"))
ON_A_NODE = f"""#!/bin/sh
export AMDKERNEL_CONFIG=/shared/node.toml HOME=/tmp
exec {AMDKERNEL} "$@"
"""
CONFIG = f"""docker_host = "unix:///shared/box/docker.sock"
image = "{ROCM}"
data_dir = "/tmp/data"
cache_dir = "/tmp/cache"
"""


@contextmanager
def nodes_with_workers(cluster: SlurmCluster, sandbox: Sandbox, folder: Path) -> Iterator[GpuHost]:
    """Start the box, and put the worker's command and settings on the nodes."""
    shared = cluster.shared
    (folder / "cache").mkdir()
    (folder / "cache" / "wheels").symlink_to(load_settings().cache_dir / "wheels")
    (folder / "box").mkdir()
    (shared / "box").mkdir()
    settings = {"image": ROCM, "cache_dir": str(folder / "cache"), "data_dir": str(folder / "box-data")}
    box = start_gpu_host(folder / "box", settings, shared=shared / "box")
    try:
        give_rocm_image(box, sandbox)
        ended = box.amdkernel("setup", "--host", "gpu1")
        assert ended.returncode == 0, ended.stderr
        (shared / "node.toml").write_text(CONFIG)
        (shared / "amdkernel").write_text(ON_A_NODE)
        (shared / "amdkernel").chmod(0o755)
        yield box
    finally:
        box.stop()


def give_token(cluster: SlurmCluster, data: Path) -> None:
    """Put a token of the server whose data is in this folder on the nodes."""
    own = os.environ | {"AMDKERNEL_DATA_DIR": str(data)}
    added = [AMDKERNEL, "admin", "tokens", "add", "node", "--scope", "worker"]
    printed = subprocess.run(added, env=own, capture_output=True, text=True, check=True).stdout
    token = cluster.shared / "token"
    token.write_text(printed.splitlines()[0] + "\n")
    token.chmod(0o600)


def slurm_of(cluster: SlurmCluster, port: int, *options: str) -> str:
    """The setting `slurm` of a server at this port of this machine."""
    return json.dumps(
        {
            "gres": {"gfx942": "gpu:gfx942"},
            "url": f"http://{cluster.gateway}:{port}",
            "token_file": "/shared/token",
            "amdkernel": "/shared/amdkernel",
            "options": options,
            "output": "/shared/worker.%j",
            "commands": cluster.prefix,
        }
    )
