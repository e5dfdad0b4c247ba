"""`amdkernel-mcp --url`: a real client over stdio, a real server over HTTP, and nothing else needed in between."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

from tests.server.http_server import ANN, BOB, HttpServer, free_port, http_server
from tests.tools.names import NAMES
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.anyio
COMMAND = str(Path(sys.executable).with_name("amdkernel-mcp"))
GATED = Path(__file__).resolve().parent.parent / "server/gated_server.py"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("team"), tokens=f"{ANN} ann\n{BOB} bob\n") as server:
        yield server


@asynccontextmanager
async def front(url: str, *more: str, token: str | None = ANN, mode: str = "auto") -> AsyncIterator[Client]:
    environment = {name: value for name, value in os.environ.items() if name != "AMDK_TOKEN"}
    if token:
        environment["AMDK_TOKEN"] = token
    transport = StdioTransport(COMMAND, ["--url", url, *more], env=environment, keep_alive=False)
    async with Client(transport, mode=mode) as client:
        yield client


async def why_not(client: Client, tool: str = "list_targets", **arguments: Any) -> str:
    with pytest.raises(ToolError) as refused:
        await client.call_tool(tool, arguments)
    return str(refused.value)


async def cancelled(client: Client) -> None:
    """Wait until the server has ended the newest job; the test's own limit ends the wait."""
    while (job := (await client.call_tool("list_jobs", {})).structured_content["jobs"][0])["status"] != "cancelled":
        assert job["status"] in ("queued", "running"), job
        await asyncio.sleep(0.2)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_has_the_servers_tools_prompts_and_instructions_in_both_eras(
    team: HttpServer, mode: str
) -> None:
    direct = StreamableHttpTransport(team.url, headers={"Authorization": f"Bearer {ANN}"})
    async with front(team.url, mode=mode) as client, Client(direct, mode=mode) as server:
        ours, theirs = await client.list_tools(), await server.list_tools()
        assert [tool.model_dump() for tool in ours] == [tool.model_dump() for tool in theirs]
        assert {tool.name for tool in ours} == set(NAMES)
        assert await client.list_prompts() == await server.list_prompts()
        assert client.instructions == server.instructions
        answer = await client.call_tool("list_problems", {})
        assert "row_softmax" in json.dumps(answer.structured_content)


@pytest.mark.thorough
@pytest.mark.sandbox
async def test_a_kernel_and_a_baseline_of_this_machine_are_sent_as_text(team: HttpServer, tmp_path: Path) -> None:
    kernel = tmp_path / "mine.hip"
    kernel.write_text("// only here: süß\nthis is text and C++ is not\n", encoding="utf-8")
    async with front(team.url) as client:
        answer = (await client.call_tool("compile_kernel", {"path": str(kernel)})).structured_content
        assert answer["ok"] is False
        assert answer["diagnostics"][0]["line"] == 2, answer
        naive = str(ROOT / "examples/vector_add/kernels/naive.hip")
        checked = (await client.call_tool("check_kernel", {"problem": "vector_add", "path": naive})).structured_content
        assert checked["verdict"] == "correct", checked


async def test_a_file_that_is_no_source_is_not_sent_not_even_through_a_link(team: HttpServer, tmp_path: Path) -> None:
    key = tmp_path / "id_rsa"
    key.write_text("secret")
    link = tmp_path / "kernel.hip"
    link.symlink_to(key)
    long = tmp_path / "long.hip"
    long.write_bytes(b"x" * ((1 << 20) + 1))
    async with front(team.url) as client:
        for path in (key, link):
            assert "only source files are sent" in await why_not(client, "compile_kernel", path=str(path))
        assert "1 MiB at most" in await why_not(client, "compile_kernel", path=str(long))
        assert "no such file" in await why_not(client, "compile_kernel", path=str(tmp_path / "none.hip"))
        assert "not both" in await why_not(client, "compile_kernel", path=str(long), source="x")
        text = await why_not(client, "check_kernel", problem=str(tmp_path), source="x")
        assert "create_problem" in text


async def test_a_token_is_read_again_for_each_call_and_a_refused_one_is_named(team: HttpServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    async with front(team.url, "--token-file", str(file), token=None) as client:
        assert {tool.name for tool in await client.list_tools()} == set(NAMES), "the package's own list"
        assert "the token file is empty" in await why_not(client)
        file.write_text("token-of-nobody-000000")
        assert "refuses the token" in await why_not(client)
        file.write_text(f"{BOB}\n")
        assert await client.call_tool("list_jobs", {})
        file.chmod(0o644)
        assert "chmod 600" in await why_not(client)
    async with front(team.url, token=None) as client:
        assert "AMDK_TOKEN" in await why_not(client)


@pytest.mark.thorough
async def test_a_url_without_a_server_is_explained(team: HttpServer) -> None:
    async with front(team.url.replace("/mcp", "/elsewhere")) as client:
        assert "there is no MCP server" in await why_not(client)
    async with front(team.url.replace("http:", "https:")) as client:
        assert "http://" in await why_not(client)
    async with front(f"http://127.0.0.1:{free_port()}") as client:
        assert "cannot be reached: Connection refused" in await why_not(client)
    async with front("http://-ü-.example") as client:
        assert "is not a URL" in await why_not(client)
    async with front("http://nobody.invalid") as client:
        assert "host name" in await why_not(client)


@pytest.mark.thorough
async def test_after_a_restart_of_the_server_the_same_client_goes_on(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with front(url) as client, front(url, mode="legacy") as older:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            with http_server(tmp_path / name, tokens=f"{ANN} ann\n", port=port):
                assert await client.call_tool("list_jobs", {})
                assert await older.call_tool("list_jobs", {})
            assert "cannot be reached" in await why_not(client)
            assert "cannot be reached" in await why_not(older)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_progress_arrives_and_a_cancelled_call_ends_its_work(tmp_path: Path, mode: str) -> None:
    seen: list[str | None] = []
    reported = asyncio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        seen.append(message)
        reported.set()

    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED) as server:
        async with front(server.url, mode=mode) as client:
            arguments = {"source": "x", "wait_s": 200}
            call = asyncio.create_task(client.call_tool("compile_kernel", arguments, progress_handler=on_progress))
            await asyncio.wait_for(reported.wait(), 60)
            assert seen[0]
            call.cancel()
            await cancelled(client)


@pytest.mark.thorough
async def test_a_client_that_goes_away_ends_its_work(tmp_path: Path) -> None:
    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED) as server:
        async with front(server.url) as client:
            call = asyncio.create_task(client.call_tool("compile_kernel", {"source": "x", "wait_s": 200}))
            while not (await client.call_tool("list_jobs", {})).structured_content["jobs"]:
                await asyncio.sleep(0.2)
        call.cancel()
        async with front(server.url) as client:
            await cancelled(client)


def ask(url: str, *lines: bytes) -> list[dict[str, Any]]:
    """The answers to lines that are sent as they are, to the end of stdin."""
    ended = subprocess.run(
        [COMMAND, "--url", url], input=b"\n".join(lines) + b"\n", capture_output=True, timeout=AT_MOST_S
    )
    assert ended.returncode == 0, ended.stderr
    assert b"Traceback" not in ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_odd_lines_get_an_error_and_the_rest_an_answer(team: HttpServer) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    long = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"' + b"x" * (5 << 20) + b'"}}'
    meta = {"io.modelcontextprotocol/protocolVersion": "2999-01-01"}
    later = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": meta}}).encode()
    cancel = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}}'
    ping = b'{"id": 4, "method": "ping", "params": 7}'
    answers = {each["id"]: each for each in ask(team.url, deep, long, later, b"[]", cancel, ping)}
    assert "longer than 4 MiB" in answers[2]["error"]["message"]
    assert answers[3]["error"]["code"] == -32022
    assert answers[4]["result"] == {}
    assert answers[None]["error"]["code"] == -32700


@pytest.mark.parametrize(
    "arguments",
    [["--url"], ["--url", "gpu.example"], ["--url", "https://u:p@gpu.example"], ["--url", "https://x", "--read-only"],
     ["--url=https://x", "--no-relay"], ["--token-file", "x"], ["--url", "ftp://x"], ["--url", "http://x:99999"]],
)  # fmt: skip
def test_wrong_arguments_are_one_line(arguments: list[str]) -> None:
    ended = subprocess.run([COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (ended.returncode, len(ended.stderr.splitlines()), ended.stdout) == (2, 1, ""), ended.stderr


def test_every_parameter_that_names_a_file_is_sent_as_text() -> None:
    from amdkernel_mcp.stdio.handshake import FILE
    from amdkernel_mcp.stdio.local_files import SENT_AS

    tools = json.loads(FILE.read_text())["handshake"]["tools/list"]["tools"]
    for properties in (tool["inputSchema"]["properties"] for tool in tools):
        named = {name for name in properties if name.endswith(("path", "file"))}
        assert named <= set(SENT_AS)
        assert {SENT_AS[name] for name in named} <= set(properties)
