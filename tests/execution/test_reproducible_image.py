"""Two builds from the same files and the same mirror state are the same bytes."""

import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.debian import Release
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.image import find_image
from amdkernel_mcp.execution.layers import Step
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.setup.build import add_layer
from amdkernel_mcp.execution.setup.rootfs import DebianSystem, byte_stream

pytestmark = pytest.mark.sandbox

SCRIPT = "image/check.sh"  # of the real layers it is the quickest
STEP = Step("unused", SCRIPT, (("image/compile", "compile"), ("image/seccomp.json", "a/b/seccomp.json")))


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    opened.close()


@pytest.fixture
def repository(daemon: Daemon) -> Iterator[str]:
    """A repository for images of this test only."""
    name = f"amdkernel-reproducible-{secrets.token_hex(4)}"
    yield name
    for image in daemon.client.images.list(name):
        for tag in image.tags:
            daemon.client.images.remove(tag, force=True)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.soak
def test_a_layer_that_is_built_twice_has_the_same_bytes(
    daemon: Daemon, sandbox: Sandbox, settings: Settings, repository: str
) -> None:
    parent = daemon.client.images.get(sandbox.image_id)
    layers = []
    for tag in ("first", "second"):
        image = add_layer(daemon, parent, STEP, f"{repository}:{tag}", settings, lambda _: None)
        layers.append(image.attrs["RootFS"]["Layers"][-1])
        time.sleep(1.1)  # files of the second build are a second younger
    assert layers[0] == layers[1]
    assert layers[0] != parent.attrs["RootFS"]["Layers"][-1], "the step made a layer"


def test_a_root_file_system_whose_build_fails_is_not_imported(daemon: Daemon, repository: str, tmp_path: Path) -> None:
    command = ["sh", "-c", "tar -cf - -C / etc/passwd; echo 'E: no space' >&2; exit 1"]
    with (
        pytest.raises(ToolchainError, match="sh failed: E: no space"),
        byte_stream(command, tmp_path, datetime.now(UTC), lambda _: None) as pieces,
    ):
        daemon.client.api.import_image_from_stream(pieces, repository=repository, tag="cut")
    assert find_image(daemon, f"{repository}:cut") is None


def test_a_system_is_dated_by_the_newest_of_its_suites() -> None:
    forky = Release("http://one.example/debian", "forky", None, datetime(2026, 10, 30, 8, tzinfo=UTC))
    experimental = Release("http://one.example/debian", "experimental", None, datetime(2026, 10, 31, 2, tzinfo=UTC))
    system = DebianSystem("7.2", (forky, experimental))
    assert system.date == experimental.date
    assert system.described == "forky 2026-10-30T08:00:00Z, experimental 2026-10-31T02:00:00Z"
