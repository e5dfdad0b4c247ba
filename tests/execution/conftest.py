"""A sandbox with so little of everything that an attack hits its limits at once; a host with a real sshd."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.limits import COMPILE_LIMITS, MIB
from amdkernel_mcp.execution.sandbox import Completed, Sandbox

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


CRAMPED = replace(
    COMPILE_LIMITS,
    processes=48,
    memory_bytes=192 * MIB,
    file_bytes=32 * MIB,
    work_bytes=48 * MIB,
    out_bytes=24 * MIB,
    scratch_bytes=24 * MIB,
    grace_s=0.5,
)

Attack = Callable[..., Completed]


@pytest.fixture(scope="session")
def cramped(sandbox: Sandbox) -> Iterator[DockerSandbox]:
    """The same image under small limits, with a warm container of each kind."""
    opened = DockerSandbox(
        connect(load_settings().docker_host),
        sandbox.image_id,
        limits={"compile": CRAMPED, "run": CRAMPED},
        pool=PoolSizes(compile=1, run=0),
    )
    opened.warm_up()
    yield opened
    opened.close()


@pytest.fixture
def attack(cramped: DockerSandbox) -> Iterator[Attack]:
    """Run Python in the cramped sandbox. Whatever it did, the next job must find an untouched one."""

    def run(program: str, *, timeout_s: float = 60) -> Completed:
        return cramped.run("compile", ["python3", "-c", program], {"marker": b"mine"}, timeout_s=timeout_s)

    yield run
    after = cramped.run("compile", ["sh", "-c", "ls /tmp; cat marker"], {"marker": b"clean"}, timeout_s=60)
    assert after.stderr == "clean", f"the job after the attack found: {after}"


@pytest.fixture
def gpu1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["subprocess.Popen[bytes]"]:
    """The sshd of a host called gpu1 in the settings of ssh, with this machine behind it."""
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
    keys = ["ssh-keyscan", "-p", str(port), "127.0.0.1"]
    try:
        while subprocess.run(keys, capture_output=True, check=False).stdout == b"":
            time.sleep(0.05)
        yield server
    finally:
        server.terminate()
        server.wait()
