"""AMD's own packages as the base image: which repository and packages each ROCm release takes, and what is said where
they are not available. The install script runs here with an apt-get and a curl that only note what they are asked."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.image import base_name, hip_release
from amdkernel_mcp.execution.setup.docker_build import UBUNTU, _context, _follow, arguments

RECIPES = folder("sandbox") / "image/rocm"
RADEON, AMD = "https://repo.radeon.com/rocm", "https://stable.repo.amd.com/rocm"
# By the public layout of the repositories: rocm.docs.amd.com, "Ubuntu native installation" of 6.4.3 and 7.2.2, and
# "Install ROCm" of 10.0.0; repo.radeon.com ends at 7.2.4 (HTTP 404 for apt/7.14 and apt/10.0.0).
REPOSITORIES = {
    "6.4": (f"{RADEON}/rocm.gpg.key", f"{RADEON}/apt/6.4.4 noble main", "rocprofiler-sdk"),
    "7.2": (f"{RADEON}/rocm.gpg.key", f"{RADEON}/apt/7.2.4 noble main", "rocprofiler-sdk"),
    "10.1": (f"{AMD}/gpg/packages.gpg", f"{AMD}/core/packages/ubuntu2404 stable main", "amdrocm-profiler-base10.1"),
}
NOTES = '#!/bin/sh\necho "$(basename "$0") $*" >>"$NOTED"\n'

Install = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Run the script of a release below a folder; `curl` is what that program does besides noting its words."""

    def run(release: str, *, curl: str = "", apt: str = "") -> subprocess.CompletedProcess[str]:
        for name, does in (("apt-get", apt), ("curl", curl), ("ldconfig", "")):
            (tmp_path / name).write_text(f"{NOTES}{does}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("NOTED", str(tmp_path / "noted"))
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "ROCM": release, "ROOT": str(tmp_path)}
        script = ["sh", str(RECIPES / "install.sh")]
        return subprocess.run(script, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("release", list(REPOSITORIES))
def test_each_release_is_installed_from_its_repository_with_a_profiler(
    install: Install, tmp_path: Path, release: str
) -> None:
    key, repository, profiler = REPOSITORIES[release]
    lists = tmp_path / "var/lib/apt/lists"
    host = key.split("/")[2]
    makes = f"mkdir -p {lists}; echo 'Date: Mon, 05 Oct 2026 10:00:00 UTC' >{lists}/{host}_rocm_InRelease"
    tree = f"{tmp_path}/opt/rocm/core-10.1"
    done = install(release, apt=f"{makes}; mkdir -p {tree}/bin {tree}/lib/llvm" if release == "10.1" else makes)
    assert done.returncode == 0, done.stderr
    noted = (tmp_path / "noted").read_text()
    assert f"-o {tmp_path}/etc/apt/keyrings/rocm.asc {key}\n" in noted
    line = f"deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.asc] {repository}\n"
    assert (tmp_path / "etc/apt/sources.list.d/rocm.list").read_text() == line
    assert f"Pin: origin {host}\nPin-Priority: 600\n" in (tmp_path / "etc/apt/preferences.d/rocm").read_text()
    [installed] = [each.split() for each in noted.splitlines() if profiler in each]
    assert {"python3-numpy", "make", "install"} <= set(installed)
    assert not {"key", "deb"} & set(installed)
    assert (tmp_path / "etc/amdkernel-suites").read_text() == f"rocm-{release} Mon, 05 Oct 2026 10:00:00 UTC\n"
    if release == "10.1":
        assert (tmp_path / "opt/rocm/bin").readlink() == Path("core-10.1/bin"), "where all programs look"
        assert (tmp_path / "opt/rocm/llvm").exists()


@pytest.mark.parametrize(
    ("stubs", "said"),
    [
        ({"curl": "exit 6"}, "AMD's packages cannot be fetched where Docker builds: repo.radeon.com does not answer"),
        (
            {"apt": 'case "$*" in *update*) exit 100 ;; esac'},
            "the repositories of Ubuntu cannot be reached where Docker builds",
        ),
        (
            {"apt": 'case "$*" in *rocprofiler-sdk*) exit 100 ;; esac'},
            f"ROCm 7.2 cannot be installed from {RADEON}/apt",
        ),
    ],
)
def test_what_cannot_be_reached_is_one_sentence_with_a_way_out(
    install: Install, stubs: dict[str, str], said: str
) -> None:
    done = install("7.2", **stubs)
    assert done.returncode == 1, done.stdout
    steps = [{"stream": "Step 4/4 : RUN\n"}, {"stream": done.stderr}, {"error": "returned a non-zero code: 1"}]
    with pytest.raises(ToolchainError) as caught:
        _follow(iter(steps), UBUNTU, lambda _: None)
    assert caught.value.message.startswith(f"the base image cannot be built from ubuntu:24.04: {said}")
    assert "\n" not in caught.value.message
    assert "leave `hip` at `auto`" in (caught.value.hint or "")


def test_an_image_of_ubuntu_that_cannot_be_pulled_is_named_with_another_way() -> None:
    with pytest.raises(ToolchainError, match="pull access denied") as caught:
        _follow(iter([{"error": "pull access denied for ubuntu"}]), UBUNTU, lambda _: None)
    assert caught.value.hint == "`amdkernel setup --base IMAGE` takes another image of Ubuntu 24.04 than Docker Hub's"


def test_each_choice_has_an_image_of_its_own_and_reaches_the_dockerfile() -> None:
    choices = [load_settings({"hip": f"rocm-{release}"}, {}) for release in REPOSITORIES]
    assert len({base_name(choice) for choice in (*choices, load_settings({}, {}))}) == 4
    assert [arguments(UBUNTU, choice) for choice in choices] == [
        {"BASE": UBUNTU, "ROCM": release} for release in REPOSITORIES
    ]
    assert {hip_release(choice) for choice in choices} == {path.stem for path in RECIPES.glob("rocm-*.txt")}
    assert b"install.sh" in _context(choices[0]).getvalue()
    named = load_settings({"hip": "rocm-7.2", "image": "mine:1"}, {})
    assert base_name(named) == "mine:1", "the image that a user names is taken as it is"
