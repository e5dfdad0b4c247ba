"""The tasks extension: where a request names it, a call that takes long is a task, and the task is our job."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY

from amdkernel_mcp.server import tasks
from tests.server.http_server import ANN, BOB, HttpServer, http_server
from tests.server.task_client import EXTENSION, Tasks, asked, over_http, over_stdio

pytestmark = pytest.mark.anyio
GATED = Path(__file__).with_name("gated_server.py")
COMPILE = {"source": "any text", "wait_s": 0}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("tasks")
    with http_server(folder, tokens=f"{ANN} ann\n{BOB} bob\n", program=GATED, max_workers="4") as made:
        yield made


@pytest.fixture
def gate(server: HttpServer) -> Iterator[Path]:
    made = server.data / "gate"
    yield made
    made.unlink(missing_ok=True)


async def opened(gate: Path, extension: Tasks) -> None:
    while len(extension.seen) < 2:
        await asyncio.sleep(0.05)
    gate.touch()


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_a_long_call_is_a_task_whose_result_is_that_of_the_tool(
    server: HttpServer, gate: Path, transport: str
) -> None:
    extension = Tasks()
    command = str(Path(sys.executable).with_name("amdkernel-mcp"))
    opening = (
        over_http(server.url, ANN, extension)
        if transport == "http"
        else over_stdio(command, ["--url", server.url], {**os.environ, "AMDK_TOKEN": ANN}, extension)
    )
    async with opening as client:
        result, _ = await asyncio.gather(client.call_tool("compile_kernel", COMPILE), opened(gate, extension))
        plain = await client.session.call_tool("get_job", {"job_id": extension.created[0].task_id})
    [created] = extension.created
    assert created.task_id.startswith("job-")
    assert (created.status, created.poll_interval_ms) == ("working", tasks.POLL_MS)
    assert created.created_at == extension.seen[-1]["createdAt"]
    assert extension.seen[0]["statusMessage"] == "at the gate"
    assert {each["resultType"] for each in extension.seen} == {"complete"}
    assert not result.is_error
    assert result.structured_content == plain.structured_content["compile"]
    assert result.structured_content["ok"] is True


async def test_a_call_that_ends_soon_is_answered_and_is_no_task(server: HttpServer, gate: Path) -> None:
    gate.touch()
    extension = Tasks()
    async with over_http(server.url, ANN, extension) as client:
        result = await client.call_tool("compile_kernel", {"source": "any text"})
    assert result.structured_content["status"] == "done"
    assert not extension.created


async def test_who_does_not_name_the_extension_gets_a_job_as_before(server: HttpServer, gate: Path) -> None:
    for mode in ("auto", "legacy"):
        async with over_http(server.url, ANN, mode=mode) as client:
            answer: Any = (await client.call_tool("compile_kernel", COMPILE)).structured_content
            assert answer["status"] in ("queued", "running")
            if mode == "auto":
                with pytest.raises(MCPError) as refused:
                    await asked(client.session, "tasks/get", answer["job_id"])
                assert refused.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    gate.touch()


async def test_the_task_of_another_user_is_not_found_and_not_ended(server: HttpServer) -> None:
    async with over_http(server.url, ANN) as client:
        answer: Any = (await client.call_tool("compile_kernel", COMPILE)).structured_content
    task = answer["job_id"]
    async with over_http(server.url, BOB, advertise(EXTENSION)) as bob:
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            for named in (task, "job-000000000000", ""):
                with pytest.raises(MCPError) as refused:
                    await asked(bob.session, method, named)
                assert refused.value.code == -32602
                assert "running" not in str(refused.value)
    async with over_http(server.url, ANN, advertise(EXTENSION)) as ann:
        assert (await asked(ann.session, "tasks/get", task))["status"] == "working"
        assert (await asked(ann.session, "tasks/update", task))["resultType"] == "complete"
        assert (await asked(ann.session, "tasks/cancel", task))["resultType"] == "complete"
        while (seen := await asked(ann.session, "tasks/get", task))["status"] == "working":
            await asyncio.sleep(0.05)
        assert seen["status"] == "cancelled"
        assert "result" not in seen


async def test_the_server_says_that_it_has_tasks(server: HttpServer) -> None:
    async with over_http(server.url, ANN) as client:
        assert EXTENSION in (client.server_capabilities.extensions or {})


def test_what_a_tool_would_have_raised_is_the_result_of_a_completed_task() -> None:
    job = {"job_id": "job-1", "status": "failed", "created": "2026-01-01T00:00:00Z", "error": "why", "error_code": 2}
    task = tasks._detailed(job)
    assert task["status"] == "completed"
    assert task["result"]["isError"] is True
    assert task["result"]["content"] == [{"type": "text", "text": "why"}]
