"""A job that a command started on a server: its end, the end of the command, the end of the connection."""

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.cli.main import run
from amdkernel_mcp.remote import waiting
from tests.remote.conftest import GATED
from tests.remote.shell import amdkernel, ids, jobs, start, wait_for_job
from tests.server.http_server import ANN, HttpServer, free_port, http_server
from tests.waiting import AT_MOST_S


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.hip"
    file.write_text("any text")
    return file


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_a_command_that_is_interrupted_cancels_its_job(gated: HttpServer, kernel: Path, number: int) -> None:
    before = ids(gated.url)
    command = start(gated.url, "compile", kernel, "--json")
    job = wait_for_job(gated, "running", besides=before)
    command.send_signal(number)
    out, err = command.communicate(timeout=AT_MOST_S)
    assert command.returncode == 128 + number
    assert f"{job} is cancelled on the server" in err
    assert "Traceback" not in err
    assert set(json.loads(out)) == {"error"}
    assert next(each for each in jobs(gated.url) if each["job_id"] == job)["status"] == "cancelled"


@pytest.mark.thorough
def test_the_place_in_the_queue_is_shown_and_both_jobs_are_answered(gated: HttpServer, kernel: Path) -> None:
    before = ids(gated.url)
    first = start(gated.url, "profile", "vector_add", kernel)
    one = wait_for_job(gated, "running", besides=before)
    second = start(gated.url, "profile", "vector_add", kernel)
    two = wait_for_job(gated, "queued", besides={*before, one})
    code, out, _ = amdkernel(gated.url, "jobs")
    assert code == 0
    assert "place 1" in out
    code, out, _ = amdkernel(gated.url, "job", one, "--cancel", "--json")
    assert (code, json.loads(out)["status"]) == (0, "cancelled")
    _, said = first.communicate(timeout=AT_MOST_S)
    assert first.returncode == 3
    assert f"{one} was cancelled on the server" in said
    wait_for_job(gated, "running", besides={*before, one})
    second.send_signal(signal.SIGINT)
    _, said = second.communicate(timeout=AT_MOST_S)
    assert any(line.startswith("queued, place 1") for line in said.splitlines()), said
    assert said.count("at the gate") <= 1, "a step is named once, however long it lasts"
    assert f"{two} is cancelled" in said


def test_the_answer_of_a_job_is_printed_later_with_the_exit_code_of_its_verb(gated: HttpServer, kernel: Path) -> None:
    before = ids(gated.url)
    started = start(gated.url, "compile", kernel)
    job = wait_for_job(gated, "running", besides=before)
    started.kill()  # so that it cannot cancel
    started.communicate()
    (gated.data / "gate").touch()
    code, out, _ = amdkernel(gated.url, "job", job, "--json")
    assert code == 0
    answer = json.loads(out)
    assert (answer["status"], answer["compile"]["ok"]) == ("done", True)
    assert amdkernel(gated.url, "job", job)[1].startswith("✓ ok  kernel.hip")
    assert amdkernel(gated.url, "job", job, "--cancel")[0] == 1, "it had ended"
    code, _, err = amdkernel(gated.url, "job", "job-0123456789ab")
    assert code == 2
    assert "there is no job" in err
    assert "`amdkernel jobs` lists yours" in err


@pytest.mark.thorough
def test_a_server_that_starts_again_is_asked_for_the_same_job(tmp_path: Path, kernel: Path) -> None:
    port = free_port()
    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED, port=port) as server:
        command = start(server.url, "compile", kernel, "--json")
        job = wait_for_job(server, "running", besides=())
        server.process.kill()
        server.process.wait()
    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED, port=port) as server:
        (server.data / "gate").touch()
        out, err = command.communicate(timeout=AT_MOST_S)
        assert command.returncode == 0, err
        assert json.loads(out)["ok"] is True
        assert ids(server.url) == {job}


@pytest.mark.thorough
def test_a_server_that_stays_away_leaves_the_id_and_what_to_run(
    tmp_path: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "BRIDGED_S", 1.0)
    monkeypatch.setenv("AMDK_TOKEN", ANN)
    port = free_port()
    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED, port=port) as server:
        asked = waiting.Server.call

        def call(self: waiting.Server, tool: str, *words: Any, **more: Any) -> dict[str, Any]:
            if tool == "get_job":  # the command waits for its job: the server dies
                server.process.kill()
                server.process.wait()
            return asked(self, tool, *words, **more)

        monkeypatch.setattr(waiting.Server, "call", call)
        code = run(["compile", str(kernel), "--url", server.url, "--json"])
    error = json.loads(capsys.readouterr().out)["error"]
    assert code == 3
    assert "cannot be reached: Connection refused; job-" in error["message"]
    job = error["message"].split("; ")[-1].split()[0]
    assert error["hint"] == f"for its answer: amdkernel job {job} --url {server.url}"
    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED, port=port) as server:
        (server.data / "gate").touch()
        assert amdkernel(server.url, "job", job)[0] == 0, "what the hint says brings the answer"


@pytest.mark.thorough
def test_a_server_that_is_gone_cannot_cancel_and_the_user_reads_how(tmp_path: Path, kernel: Path) -> None:
    with http_server(tmp_path, tokens=f"{ANN} ann\n", program=GATED) as server:
        command = start(server.url, "compile", kernel)
        job = wait_for_job(server, "running", besides=())
        server.process.kill()
        server.process.wait()
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=AT_MOST_S)
    assert command.returncode == 130
    assert f"{job} may still run" in err
    assert f"amdkernel job {job} --url {server.url} --cancel" in err


def test_a_server_that_never_answers_can_be_left(kernel: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        command = start(f"http://127.0.0.1:{mute.getsockname()[1]}", "compile", kernel)
        with mute.accept()[0]:
            command.send_signal(signal.SIGINT)
            _, err = command.communicate(timeout=AT_MOST_S)
    assert command.returncode == 130
    assert err == "amdkernel: interrupted\n"
