"""`amdkernel-mcp` as an editor starts it, with a real client in another process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

from tests.one_in import one_in
from tests.tools.names import NAMES
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.anyio
COMMAND = str(Path(sys.executable).with_name("amdkernel-mcp"))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    "arguments",
    one_in(9, [[], ["--no-relay"], ["--no-shim"]], others=pytest.mark.thorough),
    ids=["relay", "direct", "old-flag"],
)
async def test_a_client_lists_and_calls_tools_in_both_eras(mode: str, arguments: list[str]) -> None:
    transport = StdioTransport(COMMAND, arguments, keep_alive=False)
    async with Client(transport, mode=mode) as client:
        assert len(await client.list_tools()) == len(NAMES)
        with pytest.raises(ToolError, match="there is no such file"):
            await client.call_tool("compile_kernel", {"path": "/nowhere.hip"})
        assert client.instructions


def test_stdout_carries_nothing_but_protocol_and_the_end_is_clean() -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    call = {"name": "get_job", "arguments": {"job_id": "job-0"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list", "params": {}},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    with subprocess.Popen([COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(3)]
        rest, errors = process.communicate(timeout=AT_MOST_S)
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert answers[2]["result"]["isError"]
    assert (rest, errors, process.returncode) == (b"", b"", 0)


@pytest.mark.parametrize("arguments", [[], ["--no-relay"]], ids=["relay", "direct"])
def test_a_request_that_cannot_be_parsed_is_an_error_and_the_connection_continues(arguments: list[str]) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":' + b"[" * 50_000 + b"]" * 50_000 + b"}}"
    call = {"name": "get_job", "arguments": {"job_id": "job-0"}}
    messages = [
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}).encode(),
        deep,
        b'{"jsonrpc":"2.0","id":"two","method":',
        b'{"jsonrpc":"2.0","id":3}',
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": call}).encode(),
    ]
    with subprocess.Popen([COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        answers = []
        for message in messages:
            process.stdin.write(message + b"\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    assert answers[1]["id"] == 1
    assert "recursion limit exceeded" in answers[1]["error"]["message"]
    assert (answers[2]["error"]["code"], answers[3]["error"]["code"]) == (-32700, -32600)
    assert (answers[4]["id"], answers[4]["result"]["isError"]) == (4, True)


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [[], ["--no-relay"]], ids=["relay", "direct"])
def test_a_message_of_50_mb_is_an_error_and_the_connection_continues(arguments: list[str]) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    long = {"name": "compile_kernel", "arguments": {"source": "x" * 50_000_000}}
    call = {"name": "get_job", "arguments": {"job_id": "job-0"}}
    with subprocess.Popen([COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        answers = []
        for identity, method, params in ((0, "initialize", opening), (1, "tools/call", long), (2, "tools/call", call)):
            message = {"method": method, "params": params, "jsonrpc": "2.0", "id": identity}  # as the official clients
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert "longer than 4 MiB" in answers[1]["error"]["message"]
    assert "there is no job" in answers[2]["result"]["content"][0]["text"]
