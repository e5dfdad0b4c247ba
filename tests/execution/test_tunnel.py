"""A daemon on another machine; here that is this machine, behind a real sshd of its own."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.docker.tunnel import open_tunnel, ssh_command
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.sandboxes import Sandboxes
from amdkernel_mcp.hardware.target import Target

SLOW_SSH = """#!{python}
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[sys.argv.index("-L") + 1].partition(":")[0])
time.sleep(0.5)  # a busy machine may stop ssh here
listener.listen()
while True:
    listener.accept()
"""


@pytest.mark.sandbox
@pytest.mark.usefixtures("gpu1")
def test_more_jobs_than_sshd_allows_sessions_run_through_one_tunnel(sandbox: Sandbox) -> None:
    remote = DockerSandbox(connect("ssh://gpu1"), sandbox.image_id, pool=PoolSizes(4, 0))
    try:
        remote.warm_up()
        done = remote.run(
            "compile", ["sh", "-c", 'cp in "$OUT/out"; echo said'], {"in": b"x" * 5_000_000}, timeout_s=30
        )
        assert (done.exit_code, done.stderr, len(done.files["out"])) == (0, "said\n", 5_000_000)
    finally:
        remote.close()


# docker-py leaves the socket of a connect that fails to the garbage collector.
@pytest.mark.filterwarnings("ignore:.*unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.sandbox
def test_a_tunnel_that_was_lost_is_opened_again_for_the_next_job(
    sandbox: Sandbox, gpu1: "subprocess.Popen[bytes]"
) -> None:
    sandboxes = Sandboxes(load_settings({"hosts": {"gpu1": "ssh://gpu1"}}))
    on_host = Target("gpu1", "emulator", "gfx942", "MI300X", host="gpu1")
    try:
        first = sandboxes.of(on_host)
        assert sandboxes.of(on_host) is first
        # Its pools are full first: docker-py leaves a socket open when the tunnel ends while it connects.
        assert isinstance(first, DockerSandbox)
        while not all(first._pools[kind]._waiting for kind in ("compile", "run")):
            time.sleep(0.1)
        subprocess.run(["pkill", "-P", str(gpu1.pid)], check=True)
        while first.is_connected():
            time.sleep(0.05)
        again = sandboxes.of(on_host)
        assert again.image_id == sandbox.image_id
        assert again.run("compile", ["true"], {}, timeout_s=30).exit_code == 0
    finally:
        sandboxes.close()


@pytest.mark.usefixtures("gpu1")
def test_a_closed_tunnel_leaves_no_ssh_and_no_socket() -> None:
    tunnel = open_tunnel("ssh://gpu1")
    path = Path(tunnel.url.removeprefix("unix://"))
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o077 == 0, "whoever opens this socket is root on the other machine"
    tunnel.close()
    assert not path.exists()


def test_a_tunnel_is_open_when_ssh_listens_not_when_its_socket_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ssh").write_text(SLOW_SSH.format(python=sys.executable))
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    tunnel = open_tunnel("ssh://gpu1")
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(tunnel.url.removeprefix("unix://"))
    finally:
        tunnel.close()


def test_a_killed_process_leaves_no_ssh_and_no_socket(tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text(SLOW_SSH.format(python=sys.executable))
    (tmp_path / "ssh").chmod(0o755)
    opens = "import sys, time; tunnel = open_tunnel('ssh://gpu1'); print(tunnel.url, flush=True); time.sleep(600)"
    client = subprocess.Popen(
        [sys.executable, "-c", f"from {open_tunnel.__module__} import open_tunnel; {opens}"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout
    with client.stdout:
        path = Path(client.stdout.readline().strip().removeprefix("unix://"))
        assert path.is_socket()
        client.kill()
        client.wait()
    deadline = time.monotonic() + 30
    while path.parent.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not path.parent.exists(), "30 s after the kill"
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(["pgrep", "-f", str(path)], check=True, capture_output=True)


def test_the_error_of_a_tunnel_quotes_ssh() -> None:
    with pytest.raises(SandboxError, match=r"fails: .*(resolve|refused|unreachable)") as caught:
        open_tunnel("ssh://me@127.0.0.1:1")
    assert caught.value.hint == "try `ssh -p 1 me@127.0.0.1 true`"


def test_the_command_takes_user_port_and_socket_from_the_url() -> None:
    command = ssh_command("ssh://me@gpu1:2222/run/user/1000/docker.sock", Path("/here"))
    assert command[-6:] == ["-p", "2222", "-l", "me", "--", "gpu1"]
    assert "/here:/run/user/1000/docker.sock" in command
    assert "/here:/var/run/docker.sock" in ssh_command("ssh://gpu1", Path("/here"))


def test_a_host_is_called_as_it_is_written() -> None:
    assert ssh_command("ssh://me@GPU1:22", Path("/here"))[-1] == "GPU1"
    assert ssh_command("ssh://gpu1@gpu1", Path("/here"))[-3:] == ["gpu1", "--", "gpu1"]
    assert ssh_command("ssh://[fe80::A]:22", Path("/here"))[-1] == "fe80::A"


@pytest.mark.parametrize("url", ["ssh://", "ssh://-oProxyCommand=x", "ssh://-l@gpu1", "ssh://gpu1:x", "ssh://[::1"])
def test_a_url_cannot_smuggle_an_option_into_ssh(url: str) -> None:
    with pytest.raises(SandboxError, match="names no host"):
        ssh_command(url, Path("/here"))


def test_a_machine_that_never_answers_is_given_up_after_seconds() -> None:
    assert "ConnectTimeout=10" in ssh_command("ssh://gpu1", Path("/here"))


@pytest.mark.usefixtures("gpu1")
def test_a_daemon_that_does_not_answer_behind_ssh_is_called_by_its_url() -> None:
    with pytest.raises(SandboxError, match=r"^the Docker daemon of ssh://gpu1/no/socket does not answer") as caught:
        connect("ssh://gpu1/no/socket")
    assert caught.value.hint == "try `ssh gpu1 docker info`"


def test_a_port_that_is_no_number_is_an_error_of_the_url() -> None:
    with pytest.raises(SandboxError, match=r"^'tcp://gpu1:x' is not a Docker URL") as caught:
        connect("tcp://gpu1:x")
    assert caught.value.hint == "write tcp://HOST:PORT"
