"""Servers that several tests meet as clients do."""

from collections.abc import Iterator

import pytest

from tests.server.http_server import ANN, BOB, HttpServer, http_server


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server for two named users."""
    with http_server(tmp_path_factory.mktemp("team"), tokens=f"# who\n{ANN} ann\n{BOB} bob\n") as server:
        yield server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
