"""A kernel checked on `slurm:gfx942`: the server, Slurm, and the real worker on a node with a GPU host in a box."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from nodes_with_workers import give_token, slurm_of
from slurm_cluster import SlurmCluster

from amdkernel_mcp.bundled import folder as bundled_folder
from tests.server.http_server import ANN, HttpServer, free_port, http_server

pytestmark = [
    *(pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow),
    pytest.mark.usefixtures("box"),
    pytest.mark.timeout(1800),  # the box builds its images first: 8 minutes on a busy machine
]

KERNELS = bundled_folder("examples") / "vector_add" / "kernels"
NODE = "gpu1"


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
def team(running_cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A server whose GPUs are those of the cluster."""
    folder, port = tmp_path_factory.mktemp("slurm-server"), free_port()
    give_token(running_cluster, folder / "data")
    slurm = slurm_of(running_cluster, port, f"--nodelist={NODE}")
    options = ["--host", "0.0.0.0", "--allow-host", running_cluster.gateway]
    with http_server(folder, tokens=f"{ANN} ann\n", port=port, options=options, slurm=slurm) as server:
        yield Team(server, running_cluster)


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
    timed = await team.ask("benchmark_kernel", **_kernel("better.hip"), case="n=4096")
    assert timed["target"] == "slurm:gfx942", timed
    assert timed["verdict"] in ("measured", "inconclusive", "faster", "slower"), timed


def _kernel(name: str) -> dict[str, str]:
    return {"problem": "vector_add", "source": (KERNELS / name).read_text(), "target": "slurm:gfx942"}
