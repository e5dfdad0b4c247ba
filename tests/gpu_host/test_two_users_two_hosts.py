"""Every command of docs/team.md, in its order, in an empty folder: two users, one server, two GPU hosts in a box."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_host_box import GpuHost, start_gpu_host
from rocm_image import ROCM, give_rocm_image

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.server.http_server import free_port

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(1800)]

PAGE = (Path(__file__).resolve().parents[2] / "docs/team.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(console|toml)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def hosts(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[list[GpuHost]]:
    started: list[GpuHost] = []
    try:
        for machine in (1, 2):
            started.append(start_gpu_host(tmp_path_factory.mktemp(f"gpu{machine}"), {}, machine=machine))
            give_rocm_image(started[-1], sandbox)
        yield started
    finally:
        for host in started:
            host.stop()


@pytest.fixture
def environment(hosts: list[GpuHost], tmp_path: Path) -> dict[str, str]:
    """Of a user whose ssh knows both hosts, and who has nothing else yet."""
    (tmp_path / "bin").mkdir()
    config = tmp_path / "ssh_config"
    config.write_text("\n".join((host.folder / "ssh_config").read_text() for host in hosts))
    ssh = tmp_path / "bin" / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
    ssh.chmod(0o755)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "wheels").symlink_to(load_settings().cache_dir / "wheels")
    own = hosts[0].environment
    own.pop("AMDKERNEL_CONFIG")
    return own | {
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{own['PATH'].partition(':')[2]}",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "AMDKERNEL_DATA_DIR": str(tmp_path / "data"),
        "AMDKERNEL_CACHE_DIR": str(tmp_path / "cache"),
        "AMDKERNEL_IMAGE": ROCM,
    }


def test_a_team_that_follows_the_page_shares_two_hosts(environment: dict[str, str], tmp_path: Path) -> None:
    port, servers = str(free_port()), []
    try:
        for kind, text in BLOCKS:
            text = text.replace("server.example.com", "localhost").replace("8080", port)
            if kind == "toml":
                (tmp_path / "config" / "amdkernel").mkdir(parents=True)
                (tmp_path / "config" / "amdkernel" / "config.toml").write_text(text)
            elif text.startswith("amdkernel serve"):
                servers.append(subprocess.Popen(text.split(), env=environment, cwd=tmp_path))
            else:
                for line in text.replace("&\n", "& ").splitlines():
                    run(line, environment, tmp_path)
    finally:
        for server in servers:
            server.terminate()
            server.wait(timeout=120)
    assert servers, "the page starts the server"


def run(line: str, environment: dict[str, str], folder: Path) -> None:
    """One line of the page. What follows two spaces and a `#` is printed."""
    command, _, expected = line.partition("  #")
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert ended.returncode == 0, f"{line}\n{ended.stdout}{ended.stderr}"
    assert expected.strip() in ended.stdout, f"{line}\n{ended.stdout}{ended.stderr}"
