"""Fixtures that all tests share."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox
from amdkernel_mcp.execution.sandbox import Sandbox


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """This machine's settings, with folders of their own so that no test sees another's cache or history."""
    folder = tmp_path_factory.mktemp("amdkernel")
    return load_settings({"data_dir": folder / "data", "cache_dir": folder / "cache"})


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The open sandbox, shared by all tests of a process; the image's own layers are made anew if sandbox/ changed.

    Fails, never skips, when there is no Docker or no base image.
    """
    try:
        opened = _open_with_image_of_this_checkout()
    except AmdkernelError as error:
        pytest.fail(f"{error.message}\nremedy: {error.hint}", pytrace=False)
    opened.warm_up()
    yield opened
    opened.close()


def _open_with_image_of_this_checkout() -> DockerSandbox:
    """Takes seconds, and only after a change of sandbox/; the base image takes minutes: left to `amdkernel setup`."""
    from amdkernel_mcp.execution.docker.daemon import connect
    from amdkernel_mcp.execution.docker.image import base_name, find_image, sandbox_image_id, settled
    from amdkernel_mcp.execution.setup.build import setup

    mine = load_settings()
    daemon = connect(mine.docker_host)
    mine = settled(daemon, mine)
    if find_image(daemon, base_name(mine)) is None:
        sandbox_image_id(daemon, mine)  # raises, with the remedy
    return DockerSandbox(daemon, setup(mine, print).image_id)
