"""Runs on workers that are processes of their own, in real containers: what comes back, what is lost."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.errors import AmdkernelError, SandboxError, TargetError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.sandbox import Completed
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.work import Work, cancelled_by, doing
from amdkernel_mcp.workers.worker_sandbox import WorkerSandbox
from tests.server.http_server import free_port
from tests.workers.server_with_workers import Server, Worker, server_with_workers, until

pytestmark = pytest.mark.sandbox

SAYS_WHAT_IT_HEARS = """
import base64, sys
print("ready", file=sys.stderr, flush=True)
while (line := sys.stdin.readline()) != ".\\n":
    print(base64.b64decode(line).decode().strip(), file=sys.stderr, flush=True)
print("end", file=sys.stderr, flush=True)
"""


@pytest.fixture(scope="module")
def worker(server: Server) -> Worker:
    """One that the tests of this file share; it stays as it is."""
    return server.connected("big")


class Run:
    """A run in a thread of its own."""

    def __init__(self, server: Server, name: str, script: str, timeout_s: float = 100) -> None:
        self.cancellation = Cancellation()
        self.begun = threading.Event()
        self.done: Completed | None = None
        self.error: AmdkernelError | None = None
        self._thread = threading.Thread(target=self._run, args=(server, name, script, timeout_s))
        self._thread.start()

    def _run(self, server: Server, name: str, script: str, timeout_s: float) -> None:
        try:
            with cancelled_by(self.cancellation):
                self.done = server.hub.sandbox(name, None).run(
                    "run", ["sh", "-c", f"echo begun >&2; {script}"], {}, timeout_s=timeout_s,
                    on_stderr=lambda _: self.begun.set(),
                )  # fmt: skip
        except AmdkernelError as error:
            self.error = error

    def join(self) -> "Run":
        self._thread.join(120)
        assert not self._thread.is_alive(), "the run did not end"
        return self

    @property
    def completed(self) -> Completed:
        """How it ended, once it has."""
        self.join()
        assert self.done is not None, self.error
        return self.done


@pytest.mark.usefixtures("worker")
def test_files_go_and_come_back_and_lines_come_as_they_are_printed(server: Server) -> None:
    seen: list[tuple[str, float]] = []
    big = os.urandom(3 << 20)
    done = server.hub.sandbox("big", None).run(
        "run",
        ["sh", "-c", 'cat big.bin other/x > "$OUT/y"; echo first >&2; sleep 1; echo second >&2; exit 3'],
        {"big.bin": big, "other/x": b"!"},
        timeout_s=60,
        on_stderr=lambda line: seen.append((line, time.monotonic())),
    )
    assert (done.exit_code, done.files, done.timed_out) == (3, {"y": big + b"!"}, False)
    assert done.stderr == "first\nsecond\n"
    assert [line for line, _ in seen] == ["first", "second"]
    assert seen[1][1] - seen[0][1] > 0.5, "the first line did not wait for the second"


@pytest.mark.thorough
@pytest.mark.usefixtures("worker")
def test_limits_of_a_run_hold_on_the_worker(server: Server) -> None:
    sandbox = server.hub.sandbox("big", None)
    late = sandbox.run("run", ["sleep", "100"], {}, timeout_s=1)
    assert late.timed_out
    many = sandbox.run(
        "run", ["sh", "-c", 'head -c 9000000 /dev/zero > "$OUT/x"'], {}, timeout_s=60, output_limit_bytes=1000
    )
    assert many.truncated
    flood = sandbox.run("run", ["sh", "-c", "yes >&2"], {}, timeout_s=60, on_stderr=lambda _: None)
    assert flood.truncated
    assert len(flood.stderr) < 400_000


@pytest.mark.usefixtures("worker")
def test_stdin_reaches_the_job_while_it_runs(server: Server) -> None:
    read, write = os.pipe()
    heard: list[str] = []

    def answer(line: str) -> None:
        heard.append(line)
        if len(heard) <= 2:
            os.write(write, b"pong %d\n" % len(heard))
        elif len(heard) == 3:
            os.close(write)

    sandbox = server.hub.sandbox("big", None)
    command = ["python3", "-c", SAYS_WHAT_IT_HEARS]
    done = sandbox.run("run", command, {}, timeout_s=60, on_stderr=answer, stdin_stream=StdinStream(read))
    os.close(read)
    assert heard == ["ready", "pong 1", "pong 2", "end"]
    assert done.exit_code == 0


@pytest.mark.usefixtures("worker")
def test_a_sandbox_that_fails_on_the_worker_is_the_same_error_here(server: Server) -> None:
    connection = server.hub.connection("big")
    sandbox = WorkerSandbox(connection.hello, 3, lambda: connection, lambda: True)
    with pytest.raises(TargetError, match=r"this worker does not offer GPU 3 \(on big\)"):
        sandbox.run("run", ["true"], {}, timeout_s=9)


def test_a_cancelled_run_ends_its_container_soon(server: Server, worker: Worker) -> None:
    run = Run(server, "big", "sleep 1000", timeout_s=2000)
    assert run.begun.wait(60)
    before = time.monotonic()
    run.cancellation.cancel()
    run.join()
    assert isinstance(run.error, CancelledWorkError)
    until(lambda: "sleep" not in processes_in_containers(worker))
    assert time.monotonic() - before < 60, "long before the time limit"


def processes_in_containers(worker: Worker) -> str:
    found = ""
    for container in worker.containers():
        ended = subprocess.run(["docker", "top", container], capture_output=True, text=True, check=False)
        found += ended.stdout
    return found


@pytest.mark.thorough
@pytest.mark.usefixtures("worker")
def test_two_workers_join_and_leave(server: Server) -> None:
    second = server.connected("small")
    assert {host.name for host in server.hub.hosts() if host.left_s is None} == {"big", "small"}
    runs = [Run(server, name, "sleep 1") for name in ("big", "small", "big")]
    assert [run.completed.exit_code for run in runs] == [0, 0, 0]
    second.process.terminate()
    assert second.process.wait(60) == 0
    until(lambda: not server.is_there("small"))
    gone = next(host for host in server.hub.hosts() if host.name == "small")
    assert gone.note is not None
    assert gone.note.startswith("the worker of small left")


@pytest.mark.thorough
def test_sigterm_finishes_what_runs_and_takes_nothing_new(server: Server) -> None:
    draining = server.connected("drained")
    run = Run(server, "drained", 'sleep 3; echo ended > "$OUT/x"')
    assert run.begun.wait(60)
    draining.process.terminate()
    until(lambda: next(host for host in server.hub.hosts() if host.name == "drained").draining)
    with pytest.raises(LostWorkerError):
        server.hub.connection("drained", wait_s=0)
    assert run.completed.files == {"x": b"ended\n"}
    assert draining.process.wait(60) == 0


@pytest.mark.thorough
def test_sigterm_finishes_a_job_of_several_runs_that_has_begun(server: Server) -> None:
    draining = server.connected("patient")
    with server.hub.job(Work()) as work, doing(work):
        sandbox = server.hub.sandbox("patient", None)
        assert sandbox.run("run", ["true"], {}, timeout_s=60).exit_code == 0
        draining.process.terminate()
        until(lambda: next(host for host in server.hub.hosts() if host.name == "patient").draining)
        time.sleep(2)  # without a run, the worker would be gone by now
        assert sandbox.run("run", ["sh", "-c", "exit 7"], {}, timeout_s=60).exit_code == 7
    assert draining.process.wait(60) == 0
    assert "draining: takes no new job, and finishes those that have begun here" in draining.log.read_text()


@pytest.mark.thorough
def test_a_run_of_a_killed_worker_is_taken_by_the_next_of_its_name(server: Server) -> None:
    first = server.connected("killed")
    run = Run(server, "killed", "sleep 3")
    assert run.begun.wait(60)
    containers = first.containers()
    assert containers
    first.process.kill()
    first.process.wait()
    server.connected("killed")
    assert run.completed.exit_code == 0
    until(lambda: not running(containers), timeout_s=30)


def running(containers: list[str]) -> set[str]:
    found = subprocess.check_output(["docker", "ps", "-q"], text=True).split()
    return set(containers) & set(found)


@pytest.mark.thorough
def test_a_run_whose_worker_does_not_come_back_is_no_verdict(server: Server) -> None:
    first = server.connected("gone")
    run = Run(server, "gone", "sleep 300")
    assert run.begun.wait(60)
    first.process.kill()
    assert isinstance(run.join().error, LostWorkerError)


@pytest.mark.thorough
def test_a_worker_that_stands_still_loses_its_run_and_its_late_answer_is_not_taken(server: Server) -> None:
    stopped = server.connected("stopped")
    run = Run(server, "stopped", "sleep 1")
    assert run.begun.wait(60)
    stopped.process.send_signal(signal.SIGSTOP)
    until(lambda: not server.is_there("stopped"))
    stopped.process.send_signal(signal.SIGCONT)  # its answer is ready, and belongs to nothing: it comes back
    assert run.completed.exit_code == 0
    assert stopped.log.read_text().count("connected to") == 2


@pytest.mark.thorough
@pytest.mark.usefixtures("sandbox")
def test_a_server_that_comes_back_has_its_workers_again(tmp_path: Path) -> None:
    port = free_port()
    with server_with_workers(tmp_path, port) as first:
        worker = first.connected("faithful")
        first.processes.clear()  # it outlives this server
    try:
        with server_with_workers(tmp_path, port) as second:
            until(lambda: second.is_there("faithful"))
            assert Run(second, "faithful", "true").completed.exit_code == 0
    finally:
        worker.process.terminate()
        assert worker.process.wait(60) == 0


@pytest.mark.thorough
def test_a_worker_for_one_session_serves_it_and_ends(server: Server) -> None:
    key = "0123456789abcdef0123"
    with server.hub.expected(key) as arrival:
        worker = server.worker("once", "--once", key)
        sandbox, gpu = arrival.wait(60)
        assert gpu is None
        assert not server.is_there("once"), "it brings no target"
        assert [sandbox.run("run", ["true"], {}, timeout_s=30).exit_code for _ in range(2)] == [0, 0]
        until(lambda: kinds_of(worker) == {"run"})  # none for compiles
    assert worker.process.wait(60) == 0
    late = server.worker("once", "--once", key)
    assert late.process.wait(60) == 3
    assert "the server expects no worker with this key" in late.log.read_text()


def kinds_of(worker: Worker) -> set[str]:
    """What its containers are for."""
    form = '{{.Label "amdkernel.kind"}}'
    return {*worker.containers(form)}


@pytest.mark.thorough
def test_no_worker_in_time_is_an_error(server: Server) -> None:
    with server.hub.expected("f" * 20) as arrival, pytest.raises(SandboxError, match="no worker came within 0 s"):
        arrival.wait(0.1)
