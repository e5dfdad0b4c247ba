"""Streamable HTTP: who gets in, in both eras, and how others are refused."""

import subprocess
import sys
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError

from amdkernel_mcp.server.admission.tokens import is_loopback
from tests.server.http_server import ANN, BOB, HttpServer

pytestmark = pytest.mark.anyio


def connect(server: HttpServer, token: str, mode: str = "auto") -> Client:
    return Client(StreamableHttpTransport(server.url, headers={"Authorization": f"Bearer {token}"}), mode=mode)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_user_with_a_token_gets_the_tools_in_both_eras(team: HttpServer, mode: str) -> None:
    async with connect(team, ANN, mode) as client:
        assert "compile_kernel" in {tool.name for tool in await client.list_tools()}
        with pytest.raises(ToolError, match="there is no job"):
            await client.call_tool("get_job", {"job_id": "job-0"})


async def test_a_user_does_not_see_the_job_of_another(team: HttpServer) -> None:
    async with connect(team, ANN) as ann, connect(team, BOB) as bob:
        job = (await ann.call_tool("compile_kernel", {"source": "kernel", "wait_s": 0})).structured_content["job_id"]
        with pytest.raises(ToolError, match=f"there is no job '{job}'"):
            await bob.call_tool("get_job", {"job_id": job, "wait_s": 0})
        answer = await ann.call_tool("get_job", {"job_id": job, "wait_s": 0, "cancel": True})
        assert answer.structured_content["job_id"] == job


async def test_files_of_the_server_are_not_read(team: HttpServer) -> None:
    async with connect(team, BOB) as client:
        with pytest.raises(ToolError, match="does not read files"):
            await client.call_tool("compile_kernel", {"path": __file__})


@pytest.mark.parametrize("token", [None, "unknown-token-00000000", ANN[:-1], ANN + "0"])
def test_no_request_without_a_known_token_gets_in(team: HttpServer, token: str | None) -> None:
    answer = team.post(token=token)
    assert answer.status_code == 401, answer.text
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_host_name_that_is_not_the_servers_is_refused(team: HttpServer) -> None:
    assert team.post(host="attacker.example").status_code == 421


def test_a_page_in_a_browser_is_refused(team: HttpServer) -> None:
    assert team.post(origin="https://attacker.example").status_code == 403


def test_no_oauth_discovery_is_offered_so_that_clients_send_their_header(team: HttpServer) -> None:
    import httpx

    root = team.url.removesuffix("/mcp")
    assert httpx.get(f"{root}/.well-known/oauth-protected-resource/mcp").status_code == 404


def serve(*arguments: str, tokens: Path | None = None) -> subprocess.CompletedProcess[str]:
    import os

    environment = os.environ | ({"AMDKERNEL_TOKENS_FILE": str(tokens)} if tokens else {})
    command = [str(Path(sys.executable).with_name("amdkernel")), "serve", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "my-machine"])
def test_without_tokens_no_address_is_served_that_others_can_reach(host: str) -> None:
    ended = serve("--host", host)
    assert ended.returncode == 2
    assert "no bearer tokens are set" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_tokens_that_others_can_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{ANN} ann\n")
    file.chmod(0o644)
    ended = serve(tokens=file)
    assert (ended.returncode, "other users can read" in ended.stderr) == (2, True), ended.stderr
    assert ANN not in ended.stderr


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "gpu1", ""))


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_body_of_50_mb_is_a_json_rpc_error(team: HttpServer, chunked: bool) -> None:
    piece = b"x" * (1 << 20)
    answer = team.post_body((piece for _ in range(50)) if chunked else piece * 50)
    assert answer.status_code == 413
    error = answer.json()["error"]
    assert error["code"] == -32600
    assert "longer than 4 MiB" in error["message"]
    assert team.post().status_code == 200, "the server continues"
