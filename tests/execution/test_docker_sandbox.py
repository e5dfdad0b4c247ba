"""What a job gets, may do and returns."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.stream import Stream
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.sandbox import Sandbox, SandboxKind

if TYPE_CHECKING:
    from docker.models.containers import Container

pytestmark = pytest.mark.sandbox


def test_a_job_gets_its_files_and_gives_its_output_folder_back(sandbox: Sandbox) -> None:
    done = sandbox.run(
        "compile", ["sh", "-c", 'tr a-z A-Z < in/word > "$OUT/word"; echo said'], {"in/word": b"hip"}, timeout_s=60
    )
    assert (done.exit_code, done.files, done.stderr) == (0, {"word": b"HIP"}, "said\n")


def test_the_last_words_of_a_job_are_never_lost(sandbox: Sandbox) -> None:
    # Docker brings stdout and stderr through separate pipes, and either can be the slower one.
    for number in range(8):
        done = sandbox.run("compile", ["sh", "-c", f"printf {number}"], {}, timeout_s=60)
        assert done.stderr == str(number)


def test_a_job_ends_with_its_exit_code_and_without_time_out(sandbox: Sandbox) -> None:
    done = sandbox.run("run", ["sh", "-c", "exit 124"], {}, timeout_s=60)
    assert (done.exit_code, done.timed_out, done.out_of_memory, done.truncated) == (124, False, False, False)


def test_a_command_that_is_not_there_fails_as_in_a_shell(sandbox: Sandbox) -> None:
    assert sandbox.run("compile", ["no-such-command"], {}, timeout_s=60).exit_code == 127


@pytest.mark.thorough
def test_lines_are_reported_as_they_come(sandbox: Sandbox) -> None:
    lines: list[tuple[float, str]] = []
    started = time.monotonic()
    command = ["sh", "-c", "echo one; sleep 5; echo two"]
    sandbox.run("compile", command, {}, timeout_s=60, on_stderr=lambda line: lines.append((time.monotonic(), line)))
    assert [line for _, line in lines] == ["one", "two"]
    assert lines[1][0] - lines[0][0] > 0.3, f"both came at the end, after {lines[0][0] - started:.2f} s"


def test_large_inputs_and_outputs_pass_whole(sandbox: Sandbox) -> None:
    big = bytes(range(256)) * (24 << 12)
    done = sandbox.run("run", ["sh", "-c", 'cp big "$OUT/big"'], {"big": big}, timeout_s=30)
    assert done.files["big"] == big, done


def test_an_input_that_does_not_fit_is_said_not_hung_on(sandbox: Sandbox) -> None:
    done = sandbox.run("compile", ["true"], {f"d{n}/f": b"" for n in range(9000)}, timeout_s=60)
    assert done.exit_code == 125
    assert "No space left" in done.stderr


def test_jobs_run_at_the_same_time_and_never_share_a_container(sandbox: Sandbox) -> None:
    def job(number: int) -> str:
        command = ["sh", "-c", "ls /tmp; touch /tmp/was-here; cat name; sleep 0.2"]
        return sandbox.run("compile", command, {"name": b"%d" % number}, timeout_s=20).stderr

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(job, range(12))) == [str(number) for number in range(12)]


PRINT_OWN_ID = "sed -n 's#.*/containers/\\([0-9a-f]\\{64\\}\\)/.*#\\1#p' /proc/self/mountinfo | head -n 1 >&2"


@pytest.mark.parametrize("kind", ["compile", "run"])
@pytest.mark.parametrize("end", ["remove", "kill"])
def test_a_container_that_is_ended_from_outside_is_an_error_and_no_result(
    sandbox: Sandbox, kind: SandboxKind, end: str
) -> None:
    daemon = connect(load_settings().docker_host)

    with ThreadPoolExecutor(1) as thread:  # so that the job's end is read while the container goes

        def end_container(line: str) -> None:
            container: Container = daemon.client.containers.get(line)
            thread.submit(container.kill if end == "kill" else lambda: container.remove(force=True))

        with pytest.raises(SandboxError, match="the sandbox container vanished"):
            sandbox.run(kind, ["sh", "-c", f"{PRINT_OWN_ID}; sleep 30"], {}, timeout_s=30, on_stderr=end_container)
    daemon.close()


@pytest.mark.parametrize("when", ["before it is attached", "before it starts"])
def test_a_container_that_is_removed_before_it_has_started_is_made_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    daemon, attach = connect(settings.docker_host), Daemon.attach
    removed: list[str] = []

    def attach_and_lose(self: Daemon, container_id: str) -> Stream:
        compiles = "compile" in daemon.client.containers.get(container_id).labels.values()
        lost = compiles and len(removed) < 2
        removed.extend([container_id] * lost)
        stream = None if lost and when == "before it is attached" else attach(self, container_id)
        if lost:
            daemon.client.containers.get(container_id).remove(force=True)
        return stream or attach(self, container_id)

    monkeypatch.setattr(Daemon, "attach", attach_and_lose)
    own = open_sandbox(settings, compiles=False)
    try:
        assert own.run("compile", ["sh", "-c", "echo here >&2"], {}, timeout_s=30).stderr == "here\n"
    finally:
        own.close()
        daemon.close()
    assert len(removed) == 2


def test_a_job_that_kills_everything_in_its_container_has_an_exit_code(sandbox: Sandbox) -> None:
    done = sandbox.run("run", ["sh", "-c", "kill -KILL -1"], {}, timeout_s=30)
    assert (done.exit_code, done.timed_out, dict(done.files)) == (137, False, {})
