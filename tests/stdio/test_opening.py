"""Every order in which a client can open a connection, while the server has not started yet and after it has.

The server is the real one; it starts when the test opens a gate, so what is answered before is answered by the relay.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from amdkernel_mcp.remote.envelope import CAPABILITIES_KEY, VERSION_KEY
from amdkernel_mcp.stdio.handshake import LISTS
from tests.one_in import one_in
from tests.tools.names import NAMES

RELAY = """
import sys
from amdkernel_mcp.stdio import handshake
from amdkernel_mcp.stdio.relay import Relay
wait = 'while [ ! -e "$0" ]; do sleep 0.05; done; exec "$1" -P -m amdkernel_mcp.stdio.main --no-relay'
sys.exit(Relay(["/bin/sh", "-c", wait, sys.argv[1], sys.executable], handshake.read()).run())
"""
ENVELOPE = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
CALL = {"name": "get_job", "arguments": {"job_id": "job-0"}}


class Connection:
    def __init__(self, gate: Path) -> None:
        self._gate = gate
        self._sent = 0
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", RELAY, str(gate)], stdin=pipe, stdout=pipe)

    def start_server(self) -> None:
        self._gate.touch()

    def notify(self, method: str) -> None:
        self._write({"jsonrpc": "2.0", "method": method})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; no answer to any other request may come before it."""
        assert self._process.stdout
        self._sent += 1
        self._write({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params})
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert answer["id"] == self._sent
        return answer

    def ask_enveloped(self, method: str, **params: Any) -> dict[str, Any]:
        return self.ask(method, {"_meta": ENVELOPE, **params})

    def end(self) -> None:
        self.start_server()
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        assert self._process.stdout
        assert self._process.stdout.read() == b"", "an answer came twice"
        self._process.stdout.close()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    opened = Connection(tmp_path / "gate")
    yield opened
    opened.end()


def assert_called(answer: dict[str, Any]) -> None:
    assert "there is no job 'job-0'" in answer["result"]["content"][0]["text"], answer


def test_initialize_then_calls(connection: Connection) -> None:
    assert "result" in connection.ask("initialize", OPENING)
    connection.notify("notifications/initialized")
    for method in LISTS:
        assert "result" in connection.ask(method, {})
    connection.start_server()
    assert_called(connection.ask("tools/call", CALL))
    assert len(connection.ask("tools/list", {})["result"]["tools"]) == len(NAMES)


def test_lists_before_the_client_says_that_it_is_initialized(connection: Connection) -> None:
    assert "result" in connection.ask("initialize", OPENING)
    assert "result" in connection.ask("tools/list", {})
    connection.notify("notifications/initialized")
    connection.start_server()
    assert_called(connection.ask("tools/call", CALL))


@pytest.mark.thorough
def test_lists_before_initialize(connection: Connection) -> None:
    assert "result" in connection.ask("tools/list", {})
    assert "result" in connection.ask("initialize", OPENING)
    connection.notify("notifications/initialized")
    connection.start_server()
    assert_called(connection.ask("tools/call", CALL))


@pytest.mark.thorough
def test_discover_then_calls_with_an_envelope(connection: Connection) -> None:
    assert connection.ask_enveloped("server/discover")["result"]["supportedVersions"] == ["2026-07-28"]
    for method in LISTS:
        assert connection.ask_enveloped(method)["result"]["resultType"] == "complete"
    connection.start_server()
    assert_called(connection.ask_enveloped("tools/call", **CALL))
    assert "result" in connection.ask_enveloped("server/discover"), "a started server answers for itself"


def test_calls_with_an_envelope_and_no_discover(connection: Connection) -> None:
    assert "result" in connection.ask_enveloped("tools/list")
    connection.start_server()
    assert_called(connection.ask_enveloped("tools/call", **CALL))


def test_discover_then_initialize(connection: Connection) -> None:
    assert "result" in connection.ask_enveloped("server/discover")
    assert "result" in connection.ask("initialize", OPENING)
    connection.notify("notifications/initialized")
    assert "result" in connection.ask("tools/list", {})
    connection.start_server()
    assert_called(connection.ask("tools/call", CALL))
    assert_called(connection.ask("tools/call", CALL))


@pytest.mark.thorough
def test_discover_then_initialize_when_the_server_could_have_started_in_between(connection: Connection) -> None:
    connection.start_server()
    assert "result" in connection.ask_enveloped("server/discover")
    assert "result" in connection.ask_enveloped("tools/list")
    assert "result" in connection.ask("initialize", OPENING)
    connection.notify("notifications/initialized")
    assert_called(connection.ask("tools/call", CALL))


@pytest.mark.thorough
def test_discover_in_a_version_of_the_future_then_initialize(connection: Connection) -> None:
    future = {**ENVELOPE, VERSION_KEY: "2031-01-01"}
    assert connection.ask("server/discover", {"_meta": future})["error"]["code"] == -32022
    assert "result" in connection.ask("initialize", OPENING)
    connection.notify("notifications/initialized")
    connection.start_server()
    assert_called(connection.ask("tools/call", CALL))


@pytest.mark.thorough
def test_initialize_then_discover_is_refused_by_the_server_and_calls_continue(connection: Connection) -> None:
    assert "result" in connection.ask("initialize", OPENING)
    connection.notify("notifications/initialized")
    connection.start_server()
    assert connection.ask_enveloped("server/discover")["error"]["code"] == -32600
    assert_called(connection.ask("tools/call", CALL))


@pytest.mark.thorough
def test_a_call_with_an_envelope_then_initialize_is_refused_by_the_server(connection: Connection) -> None:
    connection.start_server()
    assert_called(connection.ask_enveloped("tools/call", **CALL))
    assert connection.ask("initialize", OPENING)["error"]["code"] == -32022
    assert_called(connection.ask_enveloped("tools/call", **CALL))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "orders",
    one_in(9, [["discover"], ["initialize"], ["discover", "initialize"]], others=pytest.mark.thorough),
    ids="-".join,
)
async def test_a_client_of_the_mcp_library_lists_and_calls_tools(tmp_path: Path, orders: list[str]) -> None:
    gate = tmp_path / "gate"
    server = StdioServerParameters(command=sys.executable, args=["-c", RELAY, str(gate)])
    async with stdio_client(server) as (received, sent), mcp.ClientSession(received, sent) as session:
        for order in orders:
            if order == "discover" and orders[-1] == "discover":
                await session.discover()
            elif order == "discover":
                await session.send_discover("2026-07-28")
                await anyio.sleep(0.1)
            else:
                await session.initialize()
        assert len((await session.list_tools()).tools) == len(NAMES)
        gate.touch()
        for _ in range(2):
            answer = await session.call_tool("get_job", {"job_id": "job-0"})
            assert "there is no job" in str(answer.content)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
