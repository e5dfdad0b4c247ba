"""On macOS and Windows: what a laptop needs runs without the modules and calls that only Linux or POSIX has."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.one_in import one_in

# Hides them as a finder that comes first, in a process of its own. `os` and `signal` lose what Windows' lack.
BLOCKER = """
import importlib.abc, os, signal, sys
HIDDEN = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "curses"}
class Hider(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hider())
for name in HIDDEN:
    sys.modules.pop(name, None)
for name in ("geteuid", "getuid", "getgid", "getegid", "getpgid", "killpg", "setsid", "fork", "posix_spawn", "chown"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGALRM", "SIGUSR1", "pthread_sigmask", "setitimer"):
    delattr(signal, name)
"""
MAIN = "\nsys.argv[0] = 'amdkernel'\nfrom amdkernel_mcp.cli.main import main\nmain()\n"
FRONT = "\nfrom amdkernel_mcp.stdio.main import main\nmain()\n"


def hidden(program: str, *arguments: str, home: Path, sent: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "USERPROFILE": str(home), "PATH": "/usr/bin:/bin", "DOCKER_HOST": ""}
    command = [sys.executable, "-c", BLOCKER + program, *arguments]
    return subprocess.run(command, input=sent, capture_output=True, text=True, timeout=200, env=environment, cwd=home)


def test_the_modules_are_hidden_from_what_is_tested_here(tmp_path: Path) -> None:
    ended = hidden("\nimport fcntl\n", home=tmp_path)
    assert "No module named 'fcntl'" in ended.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["check", "--help"], ["install", "--help"]])
def test_the_help_is_shown(tmp_path: Path, arguments: list[str]) -> None:
    ended = hidden(MAIN, *arguments, home=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "amdkernel" in ended.stdout


def test_install_writes_a_clients_configuration_and_removes_it(tmp_path: Path) -> None:
    arguments = ["install", "cursor", "--url", "https://gpu.example/mcp"]
    assert hidden(MAIN, *arguments, home=tmp_path).returncode == 0
    written = json.loads((tmp_path / ".cursor/mcp.json").read_text())
    assert "https://gpu.example/mcp" in json.dumps(written)
    assert hidden(MAIN, *arguments, "--remove", home=tmp_path).returncode == 0


@pytest.mark.thorough
def test_doctor_says_what_is_missing(tmp_path: Path) -> None:
    ended = hidden(MAIN, "doctor", "--json", home=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert json.loads(ended.stdout)["ok"] is False


@pytest.mark.parametrize("program", ["examples", "targets"])
def test_a_command_that_runs_nothing_works(tmp_path: Path, program: str) -> None:
    ended = hidden(MAIN, program, home=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "internal error" not in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.thorough
def test_the_front_of_a_teams_server_starts_and_says_that_it_is_away(tmp_path: Path) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
        {"id": 2, "method": "tools/call", "params": {"name": "list_targets", "arguments": {}}},
    ]
    sent = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    ended = hidden(FRONT, "--url", "http://127.0.0.1:9/mcp", home=tmp_path, sent=sent)
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, ended.stdout.splitlines())}
    assert ended.returncode == 0, ended.stderr
    assert answers[0]["instructions"]
    assert len(answers[1]["tools"]) > 10
    assert answers[2]["isError"]
    assert "cannot be reached" in answers[2]["content"][0]["text"]


@pytest.mark.parametrize(
    "words",
    one_in(9, [["compile"], ["check", "vector_add"], ["profile", "vector_add"]], others=pytest.mark.thorough),
    ids=" ".join,
)
def test_a_command_at_a_teams_server_gets_as_far_as_the_server(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "kernel.hip").write_text("any text")
    ended = hidden(MAIN, *words, "kernel.hip", "--url", "http://127.0.0.1:9", home=tmp_path)
    assert ended.returncode == 3, ended.stderr
    assert "http://127.0.0.1:9/mcp cannot be reached" in ended.stderr
