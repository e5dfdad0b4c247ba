"""`amdkernel top` against a server: once, as JSON, and what it says when it cannot."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from amdkernel_mcp.cli.console import SafeConsole
from amdkernel_mcp.cli.show.top import duration, lost, screen
from amdkernel_mcp.results.server import LeaseState, RunningJob, ServerStatus, TargetState, WaitingJob
from tests.server.http_server import ANN, HttpServer, free_port, http_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("top"), tokens=f"{ANN} ann\n") as served:
        yield served


def top(*arguments: str, token: str | None = ANN) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "AMDK_TOKEN"}
    environment |= {"AMDK_TOKEN": token} if token else {}
    command = [str(Path(sys.executable).with_name("amdkernel")), "top", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_top_shows_targets_and_the_queue_once(server: HttpServer) -> None:
    ended = top("--once", "--url", server.url)
    assert ended.returncode == 0, ended.stderr
    assert "emulator:gfx942" in ended.stdout
    assert "nothing waits" in ended.stdout
    assert "ann" in ended.stdout


def test_top_prints_the_status_of_the_server_as_json(server: HttpServer) -> None:
    status = json.loads(top("--json", "--url", server.url.removesuffix("/mcp") + "/").stdout)
    assert (status["user"], status["waiting"]) == ("user:ann", [])
    assert status["targets"][0]["state"] == "idle"


@pytest.mark.parametrize("token", [None, "unknown-token-00000000"])
def test_a_missing_or_unknown_token_is_named(server: HttpServer, token: str | None) -> None:
    ended = top("--once", "--url", server.url, token=token)
    assert ended.returncode == 2
    assert "AMDK_TOKEN" in ended.stderr
    hint = "ask who runs the server for a new one" if token else "the one that your editor sends"
    assert hint in " ".join(ended.stderr.split())


@pytest.mark.parametrize(("url", "code"), [("http://127.0.0.1:PORT", 3), ("gpu1.example", 2)])
def test_a_server_that_does_not_answer_is_an_error_with_its_address(url: str, code: int) -> None:
    ended = top("--once", "--url", url.replace("PORT", str(free_port())))
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_hosts_that_are_away_are_one_line_and_a_target_that_drains_says_so() -> None:
    drains = TargetState(
        name="box7:gfx1100", kind="emulator", gpu="RX 7900 XTX", arch="gfx1100", state="draining",
        note="the worker of box7 is draining",
    )  # fmt: skip
    seen = status().model_copy(update={"away": ["box8", "box9"], "targets": [drains, *status().targets]})
    console = Console(file=StringIO(), width=60)
    console.print(screen(seen))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "away: box8, box9" in shown
    assert "draining" in shown
    assert "box7:gfx1100" in shown, "no name is broken"


def status() -> ServerStatus:
    mine = RunningJob(
        id="job-1", owner="user:ann", verb="check", target="gpu1:0", problem="softmax", progress="case 2", seconds=65
    )
    other = RunningJob(owner="user:\x1b[31mbob", verb="compile", target=None, seconds=2)
    waits = WaitingJob(owner="user:bob", verb="tune", target="gpu1:0", place=1, expected_wait_s=7300, seconds=3)
    lease = LeaseState(owner="user:ann", kind="exclusive", seconds=61)
    gpus = [
        TargetState(
            name="gpu1:0", kind="gpu", gpu="MI300X", arch="gfx942", state="busy", jobs=[mine, mine], leases=[lease]
        ),
        TargetState(name="gpu1:1", kind="gpu", gpu="MI300X", arch="gfx942", state="quarantined", note="9 GiB are left"),
        TargetState(name="gpu2:0", kind="gpu", gpu="unknown", arch="unknown", state="unreachable", note="no route"),
    ]
    return ServerStatus(
        user="user:ann", version="1", draining=True, workers=1, targets=gpus, compiling=[other], waiting=[waits]
    )


def rendered(what: object) -> str:
    console: Console = SafeConsole(file=StringIO(), width=140)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_busy_server_has_who_how_long_and_the_expected_wait() -> None:
    text = rendered(screen(status()))
    for part in (
        "3 jobs running, 1 waiting",
        "check softmax",
        "case 2",
        "1 min 05 s",
        "no route",
        "9 GiB are left",
        "exclusive lease",
        "2 h 01 min",
        "ending",
    ):
        assert part in text
    assert "\x1b" not in text
    assert "\\x1b[31" in text


def test_a_lost_server_keeps_the_last_picture() -> None:
    text = rendered(lost(status(), "no answer"))
    assert "gpu1:0" in text
    assert "no answer; trying again" in text


def test_durations_have_two_units_at_most() -> None:
    assert [duration(s) for s in (0.9, 59, 60, 3599, 3600, 90061)] == [
        "0 s", "59 s", "1 min 00 s", "59 min 59 s", "1 h 00 min", "25 h 01 min",
    ]  # fmt: skip
