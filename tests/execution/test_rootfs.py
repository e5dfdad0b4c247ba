"""What the root file system of the image is made from."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.debian import Release
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.image import HIP_RELEASES, base_name
from amdkernel_mcp.execution.setup.rootfs import DebianSystem, debian_system, mmdebstrap

FORKY = Release("http://one.example/debian", "forky", None)
EXPERIMENTAL = Release("http://one.example/debian", "experimental", None)


def test_the_command_names_every_suite_package_and_preference() -> None:
    system = DebianSystem("7.2", (FORKY, EXPERIMENTAL))
    command = mmdebstrap(system, ['Acquire::Retries "3"'])
    one = "http://one.example/debian"
    assert command[-4:] == ["forky", "-", f"deb {one} forky main", f"deb {one} experimental main"]
    assert f"--include={','.join(system.packages)}" in command
    assert any("hip-7.2.pref" in word for word in command)


@pytest.mark.parametrize("hip", HIP_RELEASES)
def test_every_hip_release_has_its_packages_and_its_preferences(hip: str) -> None:
    system = DebianSystem(hip, (FORKY,))
    assert {"hipcc", "python3-numpy", "librocprim-dev"} < set(system.packages)
    assert system.preferences is not None
    assert f"Pin: version {hip}.*" in system.preferences.read_text()


def test_the_system_with_pytorch_has_no_compiler_and_nothing_setuid() -> None:
    system = DebianSystem(None, (FORKY,))
    command = mmdebstrap(system, [])
    assert "python3-torch" in system.packages
    assert not any("hip" in package for package in system.packages)
    assert any("chmod ug-s" in word for word in command)
    assert not any("setup-hook" in word for word in command)


def test_each_hip_release_has_an_image_of_its_own_and_the_newest_is_the_default() -> None:
    names = {hip: base_name(load_settings({"hip": hip}, {})) for hip in ("auto", "7.2", "6.4")}
    assert names["auto"] == names["7.2"] != names["6.4"]


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A Debian mirror that has forky and nothing else."""
    (tmp_path / "dists" / "forky").mkdir(parents=True)
    (tmp_path / "dists" / "forky" / "InRelease").write_text("Origin: Debian\nDate: Fri, 30 Oct 2026 08:08:01 UTC\n")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_mirror_without_experimental_has_hip_6_4_only(mirror: str) -> None:
    old = debian_system(load_settings({"hip": "6.4", "debian_mirror": mirror}, {}))
    assert old.described == "forky 2026-10-30T08:08:01Z"
    with pytest.raises(ToolchainError, match="does not have Debian experimental"):
        debian_system(load_settings({"hip": "7.2", "debian_mirror": mirror}, {}))
