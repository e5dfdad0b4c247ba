"""The README's commands work on a bare system of each kind that it names, with the pip that the system brings."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.setup.bare_systems import (
    Archive,
    Box,
    UnreachableError,
    debian_archive,
    root_file_system,
    running,
    ubuntu_archive,
)
from tests.setup.checkout import bundle_of_this_tree
from tests.setup.packages import installed, locked

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/checkout/.venv/bin/python"
SYSTEMS = {"Debian 12": "bookworm", "Debian 13": "trixie", "Ubuntu 24.04": "noble"}
CI_ITSELF = "Debian 12"  # there the pipeline runs `make demo` to its end
pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak, pytest.mark.sandbox, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `git clone` gets."""
    return bundle_of_this_tree(tmp_path_factory.mktemp("repository"))


def packages_of_the_readme() -> list[str]:
    named = re.search(r"apt-get install ([a-z0-9 -]+)", (ROOT / "README.md").read_text())
    assert named, "the README does not say what a bare system lacks"
    return named[1].split()


@pytest.fixture(scope="module", params=SYSTEMS)
def box(request: pytest.FixtureRequest, checkout: Path) -> Iterator[Box]:
    """A bare system, after `git clone`."""
    cache = load_settings().cache_dir / "test-systems"
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)  # apt reads keys as a user of its own
        root = root_file_system(archive_of(request.param, Path(scratch)), packages_of_the_readme(), cache)
    with running(root, checkout, cache / "pip") as opened:
        opened.shell("git clone --quiet /checkout.bundle /checkout")
        yield opened


def archive_of(system: str, scratch: Path) -> Archive:
    if not system.startswith("Ubuntu"):
        return debian_archive(SYSTEMS[system])
    try:
        return ubuntu_archive(SYSTEMS[system], scratch)
    except UnreachableError as error:
        pytest.skip(str(error))


def test_the_readmes_first_command_gets_to_its_end(box: Box, sandbox: Sandbox, request: pytest.FixtureRequest) -> None:
    assert sandbox.image_id, "the image is there, so that the demo builds none"
    brings = box.shell("cat /etc/os-release; python3 --version")
    box.shell("make .venv/.installed")
    have = installed(PYTHON, before=box.inside, except_for=("amdkernel-mcp",))
    locks = [locked(ROOT / "requirements" / name, PYTHON, before=box.inside) for name in ("product.txt", "build.txt")]
    assert have == locks[0] | locks[1], brings

    assert re.search(r"^amdkernel \d", box.shell(".venv/bin/amdkernel --version"))
    assert "Usage: amdkernel" in box.shell(".venv/bin/amdkernel --help")
    box.shell(".venv/bin/python -c 'import amdkernel_mcp.server.app'")
    without = box.shell("DOCKER_HOST=unix:///nowhere .venv/bin/amdkernel doctor", exits=1)
    assert "docs index" in without
    assert "amdkernel setup" in without

    if request.node.callspec.params["box"] == CI_ITSELF:
        return
    demo = box.shell("make demo")
    assert re.search(r"^Done in .+ Next: ", demo, re.MULTILINE), demo[-3000:]
    assert "ready" in box.shell(".venv/bin/amdkernel doctor")
