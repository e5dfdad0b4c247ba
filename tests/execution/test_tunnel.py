"""A daemon on another machine; here that is this machine, behind a real sshd of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.docker.tunnel import open_tunnel, ssh_command
from amdkernel_mcp.execution.sandbox import Sandbox

SSHD_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile {folder}/pid
StrictModes no
UsePAM no
MaxSessions 2
"""
SSH_CONFIG = """
Host gpu1
    HostName 127.0.0.1
    Port {port}
    IdentityFile {folder}/user_key
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking accept-new
    LogLevel ERROR
"""


@pytest.fixture
def gpu1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A host called gpu1 in the settings of ssh, with this machine behind it."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if sshd is None:
        pytest.fail("sshd is not installed\nremedy: sudo apt-get install openssh-server", pytrace=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    (tmp_path / "sshd_config").write_text(SSHD_CONFIG.format(port=port, folder=tmp_path))
    (tmp_path / "ssh_config").write_text(SSH_CONFIG.format(port=port, folder=tmp_path))
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {tmp_path}/ssh_config "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # root's sshd wants it
    server = subprocess.Popen([sshd, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.DEVNULL)
    while subprocess.run(["ssh-keyscan", "-p", str(port), "127.0.0.1"], capture_output=True, check=False).stdout == b"":
        time.sleep(0.05)
    yield
    server.terminate()
    server.wait()


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


@pytest.mark.usefixtures("gpu1")
def test_a_closed_tunnel_leaves_no_ssh_and_no_socket() -> None:
    tunnel = open_tunnel("ssh://gpu1")
    path = Path(tunnel.url.removeprefix("unix://"))
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o077 == 0, "whoever opens this socket is root on the other machine"
    tunnel.close()
    assert not path.exists()


def test_the_error_of_a_tunnel_quotes_ssh() -> None:
    with pytest.raises(SandboxError, match=r"fails: .*(resolve|refused|unreachable)") as caught:
        open_tunnel("ssh://me@127.0.0.1:1")
    assert caught.value.hint == "try `ssh me@127.0.0.1 true`"


def test_the_command_takes_user_port_and_socket_from_the_url() -> None:
    command = ssh_command("ssh://me@gpu1:2222/run/user/1000/docker.sock", Path("/here"))
    assert command[-6:] == ["-p", "2222", "-l", "me", "--", "gpu1"]
    assert "/here:/run/user/1000/docker.sock" in command
    assert "/here:/var/run/docker.sock" in ssh_command("ssh://gpu1", Path("/here"))


@pytest.mark.parametrize("url", ["ssh://", "ssh://-oProxyCommand=x", "ssh://-l@gpu1"])
def test_a_url_cannot_smuggle_an_option_into_ssh(url: str) -> None:
    with pytest.raises(SandboxError, match="names no host"):
        ssh_command(url, Path("/here"))
