"""The relay answers early, passes on the rest, explains why there is no server. Servers here are small scripts."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import AT_MOST_S

# A server that starts when the file of its first argument is there, echoes each request, and logs what it received.
ECHO = """
import json, os, sys, time
while not os.path.exists(sys.argv[1]): time.sleep(0.02)
with open(sys.argv[2], "w") as log:
    for line in sys.stdin:
        log.write(line); log.flush()
        message = json.loads(line)
        if message.get("method") == "leave": sys.exit(7)
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"server": message["method"]}}
            print(json.dumps(answer), flush=True)
"""
RECORDED = {"handshake": {"initialize": {"recorded": True}, "tools/list": {"tools": ["recorded"]}}}
STARTED = "/"  # a gate that is always open
RELAY = """
import json, sys
from amdkernel_mcp.stdio.handshake import Handshake
from amdkernel_mcp.stdio.relay import Relay
recorded = json.loads(sys.argv[1])
sys.exit(Relay([sys.executable, "-c", *sys.argv[2:]], Handshake(recorded) if recorded else None).run())
"""


class Session:
    def __init__(self, script: str, *arguments: str, recorded: dict[str, Any] | None = RECORDED) -> None:
        command = [sys.executable, "-c", RELAY, json.dumps(recorded), script, *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def send(self, identity: object, method: str, **params: Any) -> None:
        assert self.process.stdin
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"the relay printed nothing; stderr: {self.process.communicate(timeout=AT_MOST_S)[1]}"
        return dict(json.loads(line))

    def end(self) -> tuple[str, str, int]:
        out, errors = self.process.communicate(timeout=AT_MOST_S)
        return out, errors, self.process.returncode


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file for which a server waits."""
    return tmp_path / "gate"


def ids_in(log: Path) -> list[object]:
    return [json.loads(line)["id"] for line in log.read_text().splitlines()]


def test_opening_requests_are_answered_before_the_server_starts_and_only_once(log: Path, gate: Path) -> None:
    session = Session(ECHO, str(gate), str(log))
    session.send("a", "initialize", protocolVersion="2025-06-18")
    assert session.receive()["result"] == {"recorded": True, "protocolVersion": "2025-06-18"}
    session.send(1, "tools/list")
    assert session.receive() == {"jsonrpc": "2.0", "id": 1, "result": {"tools": ["recorded"]}}
    session.send(2, "tools/call")
    gate.touch()
    assert session.receive()["result"] == {"server": "tools/call"}
    session.send(3, "tools/list")
    assert session.receive()["result"] == {"server": "tools/list"}, "a started server answers for itself"
    assert session.end() == ("", "", 0)
    assert ids_in(log) == ["a", 2, 3], "of the answered requests the server needs only initialize"


def test_an_id_that_is_not_valid_text_is_answered_like_any_other(log: Path, gate: Path) -> None:
    session = Session(ECHO, str(gate), str(log))
    session.send("\ud800", "tools/list")
    assert session.receive()["id"] == "\ud800"
    gate.touch()
    assert session.end() == ("", "", 0)


def test_without_recorded_answers_it_is_a_pipe(log: Path) -> None:
    session = Session(ECHO, STARTED, str(log), recorded=None)
    session.send(1, "initialize")
    assert session.receive()["result"] == {"server": "initialize"}
    assert session.end() == ("", "", 0)


def test_a_request_too_long_for_the_pipe_does_not_hold_up_the_answers_to_later_ones(log: Path, gate: Path) -> None:
    session = Session(ECHO, str(gate), str(log))
    session.send(1, "tools/call", source="x" * 1_000_000)
    session.send(2, "tools/list")
    assert session.receive()["id"] == 2
    gate.touch()
    assert session.receive()["id"] == 1
    assert session.end()[2] == 0


def test_a_message_over_the_limit_is_an_error_and_takes_no_memory(log: Path) -> None:
    session = Session(ECHO, STARTED, str(log))
    session.send(1, "ping")
    session.receive()
    session.send(2, "tools/call", source="x" * 50_000_000)
    answer = session.receive()
    assert (answer["id"], answer["error"]["code"]) == (2, -32600)
    assert "longer than 4 MiB" in answer["error"]["message"]
    status = Path(f"/proc/{session.process.pid}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 60_000, "KiB at most"
    session.send(3, "ping")
    assert session.receive()["id"] == 3
    assert session.end()[2] == 0
    assert ids_in(log) == [1, 3]


@pytest.mark.thorough
def test_many_messages_for_a_server_that_does_not_read_wait_at_the_client(log: Path, gate: Path) -> None:
    session = Session(ECHO, str(gate), str(log))
    count = 20

    def send_all() -> None:
        for identity in range(count):
            session.send(identity, "ping", source="x" * 3_000_000)

    sender = threading.Thread(target=send_all)
    sender.start()
    sender.join(3)
    assert sender.is_alive(), "60 MB were taken"
    gate.touch()
    assert [session.receive()["id"] for _ in range(count)] == list(range(count))
    sender.join()
    assert session.end()[2] == 0


@pytest.mark.parametrize("line", ["[" * 200_000, '{"id": ' + "9" * 6000 + "}", '{"id": [1], "method": "initialize"}'])
def test_odd_json_before_the_server_starts_does_not_stop_the_relay(line: str) -> None:
    session = Session("import sys\nfor line in sys.stdin: print(len(line), flush=True)", recorded=RECORDED)
    assert session.process.stdin
    assert session.process.stdout
    session.process.stdin.write(line + "\n")
    session.process.stdin.flush()
    assert session.process.stdout.readline() == f"{len(line) + 1}\n"
    assert session.end()[2] == 0


def test_a_server_that_cannot_start_is_explained_to_requests_that_wait_and_to_later_ones() -> None:
    session = Session("import sys, time; time.sleep(0.5); sys.exit('no toolchain: run `amdkernel setup`')")
    session.send(1, "initialize")
    assert "result" in session.receive()
    session.send(2, "tools/call")
    error = session.receive()["error"]
    assert error["message"] == "amdkernel-mcp could not start (exit code 1): no toolchain: run `amdkernel setup`"
    assert error["data"]["stderr"] == ["no toolchain: run `amdkernel setup`"]
    session.send(3, "tools/call")
    assert session.receive()["error"] == error
    out, errors, code = session.end()
    assert (out, code) == ("", 1)
    assert "no toolchain" in errors


def test_the_exit_code_is_the_servers(log: Path) -> None:
    session = Session(ECHO, STARTED, str(log))
    session.send(1, "ping")
    session.receive()
    session.send(2, "leave")
    session.process.wait(20)
    assert session.end()[2] == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_server(log: Path, number: signal.Signals) -> None:
    script = f"import signal, sys; signal.signal({int(number)}, lambda *_: sys.exit(42))\n{ECHO}"
    session = Session(script, STARTED, str(log))
    session.send(1, "ping")
    session.receive()
    session.process.send_signal(number)
    session.process.wait(20)
    assert session.end()[2] == 42


def test_a_signal_that_kills_the_server_is_reported_as_a_shell_does(log: Path) -> None:
    session = Session(ECHO, STARTED, str(log))
    session.send(1, "ping")
    session.receive()
    session.process.terminate()
    session.process.wait(20)
    assert session.end()[2] == 128 + signal.SIGTERM


@pytest.mark.thorough
def test_a_server_that_ignores_the_end_of_its_client_is_terminated() -> None:
    session = Session("import time; print('{}', flush=True); time.sleep(600)")
    session.receive()
    assert session.end()[2] == 128 + signal.SIGTERM


def test_no_server_outlives_a_relay_that_is_killed(log: Path) -> None:
    session = Session("import os\nprint('{\"pid\": %d}' % os.getpid(), flush=True)\n" + ECHO, STARTED, str(log))
    server = session.receive()["pid"]
    session.process.kill()
    session.end()
    deadline = time.monotonic() + AT_MOST_S
    while Path(f"/proc/{server}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{server}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{server}").exists(), "the server still runs"


def test_lines_that_are_not_requests_go_to_the_server() -> None:
    session = Session("import sys; print(repr(sys.stdin.readline()), flush=True); sys.stdin.read()")
    assert session.process.stdin
    session.process.stdin.write("[not json\n")
    session.process.stdin.flush()
    assert session.process.stdout
    assert session.process.stdout.readline() == "'[not json\\n'\n"
    assert session.end()[2] == 0


def test_many_answers_at_once_stay_whole_lines(log: Path, gate: Path) -> None:
    session = Session(ECHO, str(gate), str(log))
    identities = list(range(500))

    def send() -> None:
        for identity in identities:
            session.send(identity, "tools/list" if identity % 2 else "ping")

    sender = threading.Thread(target=send)
    sender.start()
    first = session.receive()
    gate.touch()
    assert sorted([first["id"], *(session.receive()["id"] for _ in identities[1:])]) == identities
    sender.join()
    assert session.end() == ("", "", 0)


def test_the_recorded_answers_need_no_heavy_import() -> None:
    code = "import sys; import amdkernel_mcp.stdio.main, amdkernel_mcp.stdio.relay; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "pydantic",
        "dataclasses",
        "inspect",
        "mcp",
        "fastmcp",
        "numpy",
        "subprocess",
        "asyncio",
        "rich",
        "typer",
    } & set(loaded)
    assert not heavy
