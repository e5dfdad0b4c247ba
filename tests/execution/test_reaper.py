"""What a killed client leaves, and what removes it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.container import container_options
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.ownership import DEADLINE, OWNER, PROCESS, is_abandoned, ownership_labels
from amdkernel_mcp.execution.docker.reaper import reap
from amdkernel_mcp.execution.limits import limits_for
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.waiting import AT_MOST_S

USER = "1900000007:1900000007"
pytestmark = pytest.mark.sandbox

CLIENT = """
import sys
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
sandbox = DockerSandbox(connect(None), sys.argv[1], pool=PoolSizes(1, 0))
def show(line):
    print(line, flush=True)
sandbox.run("compile", ["true"], {}, timeout_s=900)  # from the second job on, a container waits for the next
sandbox.run("compile", ["sh", "-c", "echo started; sleep 600"], {}, timeout_s=900, on_stderr=show)
"""

# On a machine of its own, so that no other reaper here is responsible.
NEXT_START = """
import sys
from amdkernel_mcp.execution.docker import ownership
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
ownership._machine = lambda: "a machine of this test"
sandbox = DockerSandbox(connect(None), sys.argv[1], pool=PoolSizes(0, 0))
sys.stdin.read()
sandbox.close()
"""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    opened.close()


def test_a_killed_client_leaves_nothing_that_runs_and_the_reaper_removes_the_rest(
    daemon: Daemon, sandbox: Sandbox
) -> None:
    client = subprocess.Popen([sys.executable, "-c", CLIENT, sandbox.image_id], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    assert client.stdout.readline() == "started\n"
    both = time.monotonic() + AT_MOST_S
    while len(_containers(daemon, client.pid, running=True)) < 2:
        assert time.monotonic() < both, "there is no container at work and one that waits"
        time.sleep(0.1)
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stdout.close()

    deadline = time.monotonic() + AT_MOST_S
    while _containers(daemon, client.pid, running=True) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _containers(daemon, client.pid, running=True) == [], "the job outlived its client"

    while _containers(daemon, client.pid, running=False) and time.monotonic() < deadline:
        reap(daemon)
    assert _containers(daemon, client.pid, running=False) == []


def test_the_reaper_removes_what_is_past_its_deadline_and_leaves_what_lives(daemon: Daemon, sandbox: Sandbox) -> None:
    limits = limits_for("compile", memory_bytes=1 << 30, cpus=1)
    mine = ownership_labels("compile")
    foreign = {OWNER: "another machine", PROCESS: "1:1", DEADLINE: str(int(time.time()) + 600)}
    late = foreign | {DEADLINE: str(int(time.time()) - 1)}
    living = [
        daemon.client.containers.create(**container_options(sandbox.image_id, limits, x, user=USER))
        for x in (mine, foreign)
    ]
    dead = daemon.client.containers.create(**container_options(sandbox.image_id, limits, late, user=USER))
    try:
        reap(daemon)
        left = {container.id for container in daemon.client.containers.list(all=True, ignore_removed=True)}
        assert {container.id for container in living} <= left
        assert dead.id not in left
    finally:
        for container in living:
            container.remove(force=True)


def test_the_next_server_or_worker_removes_at_its_start_what_a_killed_one_left(
    daemon: Daemon, sandbox: Sandbox
) -> None:
    killed = {OWNER: "a machine of this test", PROCESS: "999999999:1", DEADLINE: str(int(time.time()) + 600)}
    limits = limits_for("compile", memory_bytes=1 << 30, cpus=1)
    options = container_options(sandbox.image_id, limits, killed, user=USER)
    exited = daemon.client.containers.create(**options | {"command": ["true"]})
    exited.start()
    exited.wait()
    command = [sys.executable, "-c", NEXT_START, sandbox.image_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as started:
        deadline = time.monotonic() + AT_MOST_S
        while exited in daemon.client.containers.list(all=True, ignore_removed=True):
            assert time.monotonic() < deadline, "the exited container is still there"
            time.sleep(0.1)
        started.communicate()
    assert started.returncode == 0


def test_a_pid_that_was_given_to_another_process_does_not_keep_a_container_alive() -> None:
    labels = ownership_labels("compile")
    assert not is_abandoned(labels, now=time.time())
    assert is_abandoned(labels | {PROCESS: f"{os.getpid()}:1"}, now=time.time())
    assert not is_abandoned(labels | {PROCESS: f"{os.getpid()}:1", OWNER: "another"}, now=time.time())


def test_the_reaper_never_touches_a_container_that_is_not_ours(daemon: Daemon, sandbox: Sandbox) -> None:
    stranger = daemon.client.containers.create(image=sandbox.image_id, command=["true"], labels={DEADLINE: "1"})
    try:
        reap(daemon)
        stranger.reload()
    finally:
        stranger.remove(force=True)


def _containers(daemon: Daemon, pid: int, *, running: bool) -> list[str]:
    listed = daemon.client.containers.list(all=not running, filters={"label": OWNER}, ignore_removed=True)
    return [str(c.name) for c in listed if c.labels[PROCESS].startswith(f"{pid}:")]


def test_the_daemon_is_asked_without_a_look_at_the_environment(
    daemon: Daemon, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sandbox
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    def looked_up() -> dict[str, str]:
        raise AssertionError("another thread may be changing the environment")

    monkeypatch.setattr("requests.utils.getproxies", looked_up)
    assert "Containers" in daemon.client.info()


def test_what_a_lost_tunnel_left_is_removed_by_the_second_look(daemon: Daemon, sandbox: Sandbox) -> None:
    limits = limits_for("compile", memory_bytes=1 << 30, cpus=1)
    labels = ownership_labels("compile")
    lost = daemon.client.containers.create(
        **container_options(sandbox.image_id, limits, labels, user=USER) | {"command": ["true"]}
    )
    lost.start()
    lost.wait()
    ended: set[str] = set()
    assert lost.name not in reap(daemon, ended)
    assert lost.id in ended
    assert lost.name in reap(daemon, ended)
