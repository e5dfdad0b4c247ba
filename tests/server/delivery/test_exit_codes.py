"""Errors of tools say what the command line exits with, and are worded as before."""

from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.exceptions import ToolError

from amdkernel_mcp.errors import SandboxError, UnknownTargetError
from amdkernel_mcp.jobs.ended import DrainingError
from amdkernel_mcp.results.jobs import EXIT_CODE_KEY
from amdkernel_mcp.server.delivery.errors import exit_code_of
from tests.server.http_server import ANN, HttpServer

pytestmark = pytest.mark.anyio
KERNEL = (Path(__file__).resolve().parents[3] / "examples/vector_add/kernels/naive.hip").read_text()


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("check_kernel", {"problem": "vector_addd", "source": "x"}, "unknown problem 'vector_addd'"),
        ("check_kernel", {"problem": "vector_add", "source": 3}, "source: Input should be a valid string (got 3)"),
        ("get_job", {"job_id": "job-0"}, "there is no job 'job-0'"),
        ("compile_kernel", {"source": "x", "path": "y"}, "not both"),
    ],
)
async def test_wrong_input_has_the_code_2(team: HttpServer, tool: str, arguments: dict[str, object], said: str) -> None:
    async with Client(team.url, auth=BearerAuth(ANN)) as client:
        answer = await client.call_tool(tool, arguments, raise_on_error=False)
    assert answer.is_error
    assert said in answer.content[0].text
    assert answer.meta[EXIT_CODE_KEY] == 2


async def test_the_error_of_a_job_has_its_code(team: HttpServer) -> None:
    async with Client(team.url, auth=BearerAuth(ANN)) as client:
        asked = {"source": KERNEL, "flags": ["--evil"], "wait_s": 0}
        started = await client.call_tool("compile_kernel", asked, raise_on_error=False)
        if started.is_error:  # it had failed before its id was given
            code = started.meta[EXIT_CODE_KEY]
        else:
            job = {"job_id": started.structured_content["job_id"], "wait_s": 60}
            answer = (await client.call_tool("get_job", job)).structured_content
            assert answer["status"] == "failed"
            code = answer["error_code"]
    assert code == 2


def test_the_code_is_that_of_the_cause() -> None:
    assert exit_code_of(UnknownTargetError("x")) == 2
    assert exit_code_of(DrainingError(1.0)) == 3
    assert exit_code_of(ZeroDivisionError()) == 3
    reported = ToolError("broke")
    reported.__context__ = SandboxError("broke")
    assert exit_code_of(reported) == 3
    assert exit_code_of(None) is None
