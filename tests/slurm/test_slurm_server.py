"""A kernel checked on `slurm:gfx942`: the server, Slurm, and the real worker on a node with a GPU host in a box."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from gpu_host_box import start_gpu_host
from rocm_image import ROCM, give_rocm_image
from slurm_cluster import SlurmCluster

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.server.http_server import ANN, HttpServer, free_port, http_server

pytestmark = [
    *(pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow),
    pytest.mark.timeout(1800),  # the box builds its images first: 8 minutes on a busy machine
]

AMDKERNEL = str(Path(sys.executable).with_name("amdkernel"))
KERNELS = bundled_folder("examples") / "vector_add" / "kernels"
NODE = "gpu1"
ON_THE_NODE = f"""#!/bin/sh
export AMDKERNEL_CONFIG=/shared/node.toml HOME=/tmp
exec {AMDKERNEL} "$@"
"""
CONFIG = f"""docker_host = "unix:///shared/box/docker.sock"
image = "{ROCM}"
data_dir = "/tmp/data"
cache_dir = "/tmp/cache"
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Team:
    server: HttpServer
    cluster: SlurmCluster

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        async with Client(self.server.url, auth=BearerAuth(ANN)) as client:
            answer = (await client.call_tool(tool, {**arguments, "wait_s": 240})).structured_content
            assert isinstance(answer, dict)
            return answer


@pytest.fixture(scope="module")
def team(running_cluster: SlurmCluster, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A server whose GPUs are those of the cluster. The node has the Docker daemon of a GPU host in a box."""
    folder, shared = tmp_path_factory.mktemp("slurm-server"), running_cluster.shared
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
        (shared / "amdkernel").write_text(ON_THE_NODE)
        (shared / "amdkernel").chmod(0o755)
        own = os.environ | {"AMDKERNEL_DATA_DIR": str(folder / "data")}
        added = [AMDKERNEL, "admin", "tokens", "add", "node", "--scope", "worker"]
        printed = subprocess.run(added, env=own, capture_output=True, text=True, check=True).stdout
        token = shared / "token"
        token.write_text(printed.splitlines()[0] + "\n")
        token.chmod(0o600)
        port, here = free_port(), running_cluster.gateway
        slurm = {
            "gres": {"gfx942": "gpu:gfx942"},
            "url": f"http://{here}:{port}",
            "token_file": "/shared/token",
            "amdkernel": "/shared/amdkernel",
            "options": [f"--nodelist={NODE}"],
            "output": "/shared/worker.%j",
            "commands": running_cluster.prefix,
        }
        options = ["--host", "0.0.0.0", "--allow-host", here]
        with http_server(folder, tokens=f"{ANN} ann\n", port=port, options=options, slurm=json.dumps(slurm)) as server:
            yield Team(server, running_cluster)
    finally:
        box.stop()


async def test_a_right_and_a_wrong_kernel_are_told_apart_on_a_gpu_from_slurm(team: Team) -> None:
    right = await team.ask("check_kernel", **_kernel("better.hip"))
    said = [file.read_text() for file in team.cluster.shared.glob("worker.*")]
    assert right["verdict"] == "correct", (right, said)
    assert right["target"] == "slurm:gfx942"
    wrong = await team.ask("check_kernel", **_kernel("broken_tail.hip"))
    assert wrong["verdict"] == "incorrect"
    assert any("connected to" in each for each in said), said


async def test_the_job_ends_after_the_last_run_and_leaves_the_node_idle(team: Team) -> None:
    team.cluster.until(lambda: not team.cluster.jobs(), 60, "the job has ended")
    team.cluster.until(lambda: team.cluster.states()[NODE] == "idle", 60, "the node is idle")


async def test_times_are_measured_while_one_gpu_is_held(team: Team) -> None:
    timed = await team.ask("benchmark_kernel", **_kernel("better.hip"))
    assert timed["target"] == "slurm:gfx942", timed
    assert timed["verdict"] in ("measured", "inconclusive", "faster", "slower"), timed


def _kernel(name: str) -> dict[str, str]:
    return {"problem": "vector_add", "source": (KERNELS / name).read_text(), "target": "slurm:gfx942"}
