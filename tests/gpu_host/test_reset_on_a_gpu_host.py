"""A worker that runs inside the box, where it may reset the box's GPUs with the stand-in for AMD's tool."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from gpu_host_box import GpuHost
from rocm_image import ROCM

from tests.server.http_server import ANN, HttpServer, free_port, http_server

pytestmark = [
    pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak,
    pytest.mark.timeout(1800),
]  # fmt: skip

NAIVE = (Path(__file__).parents[2] / "examples/vector_add/kernels/naive.hip").read_text()
HANGS = """// amdkernel: launch vector_add grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void vector_add(const float *x, const float *y, float *z, int n)
{
    while (__hip_atomic_load((int *)z, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 12345)
        ;
}
"""
VRAM = "/machine/sys/class/drm/renderD129/device/mem_info_vram_used"
SMI = "/machine/sys/module/amd_smi_in_a_box"
WORKER = (
    "mount --bind /machine/sys /sys && "
    "exec {amdkernel} worker --url http://127.0.0.1:7999 --name far --allow-reset 2>/run/worker.log"
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(gpu_host: GpuHost, tmp_path: Path) -> Iterator[HttpServer]:
    """A server that the box's 127.0.0.1:7999 leads to, and the worker in the box, whose GPUs are in no hive: what hangs
    would not be started there."""
    with gpu_host.alone():
        yield from served(gpu_host, tmp_path)


def served(gpu_host: GpuHost, tmp_path: Path) -> Iterator[HttpServer]:
    own = gpu_host.environment | {"AMDKERNEL_DATA_DIR": str(tmp_path / "data")}
    command = gpu_host.command("admin", "tokens", "add", "far", "--scope", "worker")
    token = subprocess.check_output(command, env=own, text=True).splitlines()[0]
    port = free_port()
    with http_server(tmp_path, tokens=f"{ANN} ann\n", port=port) as running:
        tunnel = ["ssh", "-N", "-o", "ExitOnForwardFailure=yes", "-R", f"7999:127.0.0.1:{port}", gpu_host.known_as]
        processes = [
            subprocess.Popen(tunnel, env=gpu_host.environment),
            subprocess.Popen(worker_inside(gpu_host, token)),
        ]
        try:
            while "connected to" not in gpu_host.inside("sh", "-c", "cat /run/worker.log || true"):
                assert [each.poll() for each in processes] == [None, None], gpu_host.inside("cat", "/run/worker.log")
                time.sleep(0.3)
            yield running
        finally:
            gpu_host.inside("sh", "-c", "pkill -TERM -f '[w]orker --url' || true")
            processes[1].wait(120)
            processes[0].terminate()
            processes[0].wait(60)


def worker_inside(host: GpuHost, token: str) -> list[str]:
    own = {
        "AMDK_TOKEN": token, "AMDKERNEL_IMAGE": ROCM, "AMDKERNEL_DATA_DIR": "/run/data", "HOME": "/root",
        "AMDKERNEL_CACHE_DIR": "/run/cache", "PATH": "/machine:/usr/sbin:/usr/bin:/sbin:/bin",
    }  # fmt: skip
    given = [f"--env={name}={value}" for name, value in own.items()]
    script = WORKER.format(amdkernel=Path(sys.executable).with_name("amdkernel"))
    return ["docker", "exec", *given, host.name, "unshare", "--mount", "sh", "-c", script]


async def call(server: HttpServer, tool: str, **arguments: object) -> dict[str, Any]:
    async with Client(server.url, auth=BearerAuth(ANN)) as client:
        answer = (await client.call_tool(tool, arguments)).structured_content
    assert answer is not None
    return answer


async def check(server: HttpServer, source: str, wait_s: int) -> dict[str, Any]:
    return await call(server, "check_kernel", problem="vector_add", source=source, target="far:1", wait_s=wait_s)


async def test_a_gpu_that_a_hung_kernel_leaves_changed_is_reset_by_the_worker_on_its_host(
    server: HttpServer, gpu_host: GpuHost, tmp_path: Path
) -> None:
    gpu_host.inside("sh", "-c", f"rm -f {SMI}/resets")
    assert (await check(server, NAIVE, 280))["verdict"] == "correct"
    accepted = await check(server, HANGS, 0)
    while "run_job.py" not in gpu_host.inside("ps", "ax", "-o", "args"):
        time.sleep(0.2)
    gpu_host.inside("sh", "-c", f"echo {9000 << 20} >{VRAM}")
    ended: dict[str, Any] = {"status": "running"}
    while ended["status"] not in ("done", "failed"):
        ended = await call(server, "get_job", job_id=accepted["job_id"], wait_s=100)
    assert ended["check"]["verdict"] == "timeout", ended
    assert gpu_host.inside("cat", f"{SMI}/resets").split() == ["0000:d1:00.0"]
    listed = {each["name"]: each for each in (await call(server, "list_targets"))["targets"]}
    assert (listed["far:1"]["ready"], listed["far:1"].get("quarantine")) == (True, None), listed["far:1"]
    assert "60 s later 9000 MiB of VRAM are in use" in listed["far:1"]["note"]
    assert (await check(server, NAIVE, 280))["verdict"] == "correct"
    own = gpu_host.environment | {"AMDKERNEL_DATA_DIR": str(tmp_path / "data")}
    audit = json.loads(subprocess.check_output(gpu_host.command("admin", "audit", "--json"), env=own, text=True))
    assert [
        (line["user"], line["outcome"], line["reason"]) for line in audit["lines"] if "reset far:1" in str(line)
    ] == [("server", "done", "it was reset")]
