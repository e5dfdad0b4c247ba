"""Which images `amdkernel setup --prune` removes, and which it leaves."""

import secrets
from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.image import image_name
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.setup.prune import layer_names, remove_images

pytestmark = pytest.mark.sandbox


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    opened.close()


@pytest.fixture
def repository(daemon: Daemon, sandbox: Sandbox) -> Iterator[str]:
    """A repository of our own with an image of two versions, so that no other images are at stake."""
    name = f"amdkernel-prune-{secrets.token_hex(4)}"
    for version in ("old", "current"):
        container = daemon.client.containers.create(sandbox.image_id, command=["true"])
        container.commit(name, version)
        container.remove()
    yield name
    for image in daemon.client.images.list(name):
        for tag in image.tags:
            daemon.client.images.remove(tag, force=True)


def test_images_of_other_versions_are_removed_and_this_version_s_stay(daemon: Daemon, repository: str) -> None:
    removed = remove_images(daemon, [repository], keep=frozenset({f"{repository}:current"}))
    assert removed == (f"{repository}:old",)
    assert [image.tags for image in daemon.client.images.list(repository)] == [[f"{repository}:current"]]


def test_an_image_that_a_container_uses_stays(daemon: Daemon, repository: str) -> None:
    user = daemon.client.containers.create(f"{repository}:old", command=["sleep", "60"])
    try:
        assert remove_images(daemon, [repository], keep=frozenset({f"{repository}:current"})) == ()
    finally:
        user.remove(force=True)


def test_no_layer_of_this_version_counts_as_unused() -> None:
    settings = load_settings()
    assert image_name(settings) in layer_names(settings)
    assert len(layer_names(settings)) == 4, "the base image and its three layers"
