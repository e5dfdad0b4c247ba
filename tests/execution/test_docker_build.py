"""Docker alone makes the sandbox image that mmdebstrap makes: the same packages, and the same verdicts in it."""

import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.debian import find_release, host_allows_expired
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.image import DATE, SUITES, settled
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.setup.build import setup
from amdkernel_mcp.execution.setup.docker_build import arguments, build_from, labels
from amdkernel_mcp.execution.setup.packages import debian_packages
from amdkernel_mcp.selftest.run import selftest

# What only a Debian image has: apt, and what apt alone needs.
APT = {"apt", "debian-archive-keyring", "libapt-pkg7.0", "libhogweed6t64", "libseccomp2", "sqv"}


def test_the_dockerfile_by_hand_installs_what_the_default_settings_ask_for() -> None:
    dockerfile = (folder("sandbox") / "image" / "Dockerfile").read_text()
    defaults = {name: value.strip('"') for name, value in re.findall(r"^ARG (\w+)=(.*)$", dockerfile, re.MULTILINE)}
    asked = arguments("debian:forky-slim", load_settings({}, {}))
    assert defaults == asked | {"MIRROR": "", "ALLOW_EXPIRED": ""}


def test_settings_reach_the_dockerfile() -> None:
    chosen = {"hip": "6.4", "debian_mirror": "http://one.example/debian", "allow_expired_release": True}
    asked = arguments("mine:1", load_settings(chosen, {}))
    assert asked == {
        "BASE": "mine:1",
        "HIP": "6.4",
        "SUITES": "forky",
        "MIRROR": "http://one.example/debian",
        "ALLOW_EXPIRED": "1",
    }


def test_the_labels_are_those_of_an_image_that_mmdebstrap_made() -> None:
    found = labels("forky Fri, 30 Oct 2026 08:08:01 UTC\nexperimental Sat, 31 Oct 2026 08:00:00 UTC\n")
    assert found[SUITES] == "forky 2026-10-30T08:08:01Z, experimental 2026-10-31T08:00:00Z"
    assert found[DATE] == "2026-10-31T08:00:00+00:00"


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    opened.close()


@pytest.fixture
def repository(daemon: Daemon) -> Iterator[str]:
    """A repository for images of this test only. Layers on them go with them."""
    name = f"amdkernel-test-build-{secrets.token_hex(4)}"
    yield name
    for image in daemon.client.images.list(name):
        for tag in image.tags:
            if tag.startswith(f"{name}:"):  # an image may have tags of others too
                daemon.client.images.remove(tag, force=True)


@pytest.fixture
def debian(repository: str, tmp_path: Path) -> str:
    """An image of Debian with apt, as registries have it, made of packages."""
    mirror = find_release("forky", load_settings().debian_mirror).mirror
    command = ["mmdebstrap", "--mode=root", "--variant=apt", "--format=tar", "forky", f"{tmp_path}/debian.tar", mirror]
    if host_allows_expired():
        command.insert(1, '--aptopt=Acquire::Check-Valid-Until "false"')
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["docker", "import", f"{tmp_path}/debian.tar", f"{repository}:debian"], check=True)
    return f"{repository}:debian"


@pytest.mark.sandbox
def test_an_image_that_is_no_debian_is_refused_with_what_the_build_said(
    daemon: Daemon, sandbox: Sandbox, repository: str, settings: Settings
) -> None:
    with pytest.raises(ToolchainError, match=f"cannot be built from {sandbox.image_id}:.*non-zero code"):
        build_from(sandbox.image_id, daemon, f"{repository}:no", settings, lambda _: None)


@pytest.mark.sandbox
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_docker_alone_makes_an_image_with_the_same_packages_that_passes_the_self_test(
    daemon: Daemon, sandbox: Sandbox, settings: Settings, debian: str, repository: str
) -> None:
    wanted = settled(daemon, settings)
    base = build_from(debian, daemon, f"{repository}:base", wanted, print)
    assert base.labels[SUITES] == daemon.client.images.get(sandbox.image_id).labels[SUITES]
    mine = settings.model_copy(update={"image": f"{repository}:base"})
    report = setup(mine, print)
    try:
        built = DockerSandbox(connect(settings.docker_host), report.image_id)
        packages = set(debian_packages(built))
        built.close()
        reference = set(debian_packages(sandbox))
        assert {package.name for package in packages - reference} == APT
        assert not reference - packages
        result = selftest(mine)
        assert result.ok, result
    finally:
        for name in reversed(report.built):
            daemon.client.images.remove(name, force=True)
