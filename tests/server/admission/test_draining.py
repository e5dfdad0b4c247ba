"""A server that gets SIGTERM finishes what runs, refuses what is new and ends with 0."""

import signal
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

from tests.server.http_server import ANN, HttpServer, http_server
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.anyio

GATED = Path(__file__).parents[1] / "gated_server.py"
COMPILE = {"source": "__global__ void k() {}", "wait_s": 0}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def serving(folder: Path) -> AbstractContextManager[HttpServer]:
    return http_server(folder, tokens=f"{ANN} ann\n", program=GATED)


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Made, it lets the jobs end."""
    return tmp_path / "data" / "gate"


async def call(client: Client[Any], tool: str, given: dict[str, Any]) -> dict[str, Any]:
    answer = (await client.call_tool(tool, given)).structured_content
    assert answer is not None
    return answer


async def refused(client: Client[Any]) -> str:
    """What a new call is answered once the server drains."""
    deadline = time.monotonic() + AT_MOST_S
    while time.monotonic() < deadline:
        answer = await client.call_tool("compile_kernel", COMPILE, raise_on_error=False)
        if answer.is_error:
            return str(answer.content[0].text)
        await call(client, "get_job", {"job_id": answer.structured_content["job_id"], "cancel": True})
    raise AssertionError("new work is still taken")


@pytest.mark.thorough
async def test_running_work_ends_and_its_answer_is_fetched_while_new_work_is_refused(
    tmp_path: Path, gate: Path
) -> None:
    with serving(tmp_path) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            job = await call(client, "compile_kernel", COMPILE)
            server.process.send_signal(signal.SIGTERM)
            said = await refused(client)
            assert said.startswith("draining: ")
            assert "retry in " in said
            still = await call(client, "get_job", {"job_id": job["job_id"], "wait_s": 0})
            assert still["status"] == "running"
            gate.write_text("")
        assert server.process.wait(120) == 0
    with serving(tmp_path) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            answer = await call(client, "get_job", {"job_id": job["job_id"], "wait_s": 0})
    assert (answer["status"], answer["compile"]["ok"]) == ("done", True), "the first server stored its answer"


@pytest.mark.thorough
async def test_work_that_does_not_end_in_time_is_done_by_the_next_server(
    tmp_path: Path, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMDKERNEL_DRAIN_S", "1")
    with serving(tmp_path) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            job = await call(client, "compile_kernel", COMPILE)
            server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0
    gate.write_text("")
    with serving(tmp_path) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            answer = await call(client, "get_job", {"job_id": job["job_id"], "wait_s": 100})
    assert (answer["status"], answer["compile"]["ok"]) == ("done", True), answer


@pytest.mark.thorough
async def test_a_second_sigterm_ends_the_server_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDKERNEL_DRAIN_S", "3000")
    with serving(tmp_path) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            await call(client, "compile_kernel", COMPILE)
            server.process.send_signal(signal.SIGTERM)
            await refused(client)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0
