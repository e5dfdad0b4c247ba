"""A server that is killed loses no job whose id a user has."""

from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

from amdkernel_mcp.bundled import folder as bundled_folder
from tests.server.http_server import ANN, BOB, http_server

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox]

KERNEL = (bundled_folder("examples") / "vector_add" / "kernels" / "better.hip").read_text()
TOKENS = f"{ANN} ann\n{BOB} bob\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.thorough
async def test_a_job_of_a_killed_server_is_answered_by_the_next(tmp_path: Path) -> None:
    asked = {"problem": "vector_add", "source": KERNEL, "wait_s": 0}
    with http_server(tmp_path, tokens=TOKENS) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            accepted = (await client.call_tool("check_kernel", asked)).structured_content
            assert accepted is not None
            assert accepted["status"] in ("queued", "running"), accepted
            server.process.kill()
    with http_server(tmp_path, tokens=TOKENS) as server:
        async with Client(server.url, auth=BearerAuth(ANN)) as client:
            listed = (await client.call_tool("list_jobs", {})).structured_content
            assert listed is not None
            assert [job["job_id"] for job in listed["jobs"]] == [accepted["job_id"]]
            call = {"job_id": accepted["job_id"], "wait_s": 100}
            answer = (await client.call_tool("get_job", call)).structured_content
            assert answer is not None
            assert (answer["status"], answer["check"]["verdict"]) == ("done", "correct")
            [job] = (await client.call_tool("list_jobs", {})).structured_content["jobs"]
            said = (job["verb"], job["problem"], job["target"], job["verdict"])
            assert said == ("check", "vector_add", "emulator:gfx942", "correct")
            assert job["age_s"] > answer["check"]["seconds"], "its age is that of the first acceptance"
        async with Client(server.url, auth=BearerAuth(BOB)) as client:
            refused = await client.call_tool("get_job", {"job_id": accepted["job_id"]}, raise_on_error=False)
            assert refused.is_error
