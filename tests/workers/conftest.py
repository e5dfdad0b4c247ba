"""A server that workers reach."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.workers.server_with_workers import Server, server_with_workers


@pytest.fixture
def plain_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose workers need no sandbox."""
    with server_with_workers(tmp_path_factory.mktemp("plain_server")) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Server]:
    """A server whose workers use the image that `sandbox` has built."""
    assert sandbox.image_id
    with server_with_workers(tmp_path_factory.mktemp("server")) as running:
        yield running
