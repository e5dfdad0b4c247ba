"""A server that cannot reach the GPU host: a worker brings its GPUs, and everything passes through its connection.

The worker runs next to the box and reaches its Docker daemon by ssh (`--host`), since the box has no Python of ours.
"""

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from gpu_host_box import GpuHost

from tests.server.http_server import ANN, HttpServer, free_port, http_server

pytestmark = [
    pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak,
    pytest.mark.timeout(1800),
]  # fmt: skip

EXAMPLES = Path(__file__).parents[2] / "examples/vector_add/kernels"
NAIVE, BETTER, TAIL = ((EXAMPLES / f"{name}.hip").read_text() for name in ("naive", "better", "broken_tail"))
HANGS = """// amdkernel: launch vector_add grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void vector_add(const float *x, const float *y, float *z, int n)
{
    while (__hip_atomic_load((int *)z, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 12345)
        ;
}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Far:
    """A server, and a worker that brings the box as `far`."""

    def __init__(self, server: HttpServer, host: GpuHost, token: str, log: Path) -> None:
        self.server = server
        self.host = host
        self._token = token
        self._log = log
        self.worker = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        before = self._connected()
        url = self.server.url.removesuffix("/mcp")
        command = self.host.command("worker", "--url", url, "--host", "gpu1", "--name", "far")
        with self._log.open("ab") as stderr:
            worker = subprocess.Popen(command, env=self.host.environment | {"AMDK_TOKEN": self._token}, stderr=stderr)
        while self._connected() == before:
            assert worker.poll() is None, self._log.read_text()
            time.sleep(0.1)
        self.worker = worker
        return worker

    def _connected(self) -> int:
        return self._log.read_text().count("connected to") if self._log.exists() else 0

    async def call(self, tool: str, source: str | None = None, **arguments: object) -> dict[str, Any]:
        asked = {"problem": "vector_add", "source": source, "wait_s": 300} if source else {}
        async with Client(self.server.url, auth=BearerAuth(ANN)) as client:
            answer = (await client.call_tool(tool, asked | arguments)).structured_content
        assert answer is not None
        return answer


@pytest.fixture
def far(gpu_host: GpuHost, tmp_path: Path) -> Iterator[Far]:
    port = free_port()
    command = gpu_host.command("admin", "tokens", "add", "far", "--scope", "worker")
    own = gpu_host.environment | {"AMDKERNEL_DATA_DIR": str(tmp_path / "data")}
    token = subprocess.check_output(command, env=own, text=True).splitlines()[0]
    with http_server(tmp_path, tokens=f"{ANN} ann\n", port=port) as server:
        team = Far(server, gpu_host, token, tmp_path / "worker.log")
        try:
            yield team
        finally:
            team.worker.terminate()
            team.worker.wait(120)


async def test_kernels_are_judged_and_timed_on_gpus_that_only_a_worker_reaches(far: Far) -> None:
    listed = {each["name"]: each for each in (await far.call("list_targets"))["targets"]}
    assert [(listed[name]["kind"], listed[name]["ready"]) for name in ("far:0", "far:1")] == [("gpu", True)] * 2
    assert (await far.call("check_kernel", NAIVE, target="far:0"))["verdict"] == "correct"
    assert (await far.call("check_kernel", TAIL, target="far:1"))["verdict"] == "incorrect"
    timed = await far.call("benchmark_kernel", BETTER, target="far:0", baseline_source=NAIVE, case="n=4096")
    assert timed["time_us"]["evidence"] == "measured"
    assert timed["timing"]["clocks_before"] == {"sclk_mhz": 132, "mclk_mhz": 900}, "sysfs of the box was read"
    assert "0 % busy" in timed["timing"]["idle_before"]


async def test_a_worker_that_is_killed_leaves_no_container_and_the_job_ends_well(far: Far) -> None:
    accepted = await far.call("check_kernel", BETTER, target="far:0", wait_s=0)
    while not far.host.containers():
        time.sleep(0.1)
    far.worker.kill()
    far.worker.wait()
    threading.Timer(3, far.start).start()
    found = await far.call("get_job", job_id=accepted["job_id"], wait_s=250)
    assert (found["status"], found["check"]["verdict"]) == ("done", "correct")
    listed = {each["name"]: each for each in (await far.call("list_targets"))["targets"]}
    assert listed["far:0"]["quarantine"] is None


async def test_a_kernel_that_hangs_on_a_far_gpu_is_cancelled(far: Far) -> None:
    with far.host.alone():
        accepted = await far.call("check_kernel", HANGS, target="far:1", wait_s=0)
        while "run_job" not in far.host.inside("ps", "-ef"):
            time.sleep(0.2)
        ended = await far.call("get_job", job_id=accepted["job_id"], cancel=True, wait_s=5)
        assert ended["status"] == "cancelled"
        while "run_job" in far.host.inside("ps", "-ef"):
            time.sleep(0.2)
