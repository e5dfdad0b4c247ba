"""A team's server, and another whose jobs end when a test lets them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.shell import end_all_jobs
from tests.server.http_server import ANN, BOB, HttpServer, http_server

GATED = Path(__file__).resolve().parent.parent / "server/gated_server.py"


@pytest.fixture(scope="session")
def team_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("two"), tokens=f"{ANN} ann\n{BOB} bob\n") as server:
        yield server


@pytest.fixture(scope="module")
def gated_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("gated")
    with http_server(folder, tokens=f"{ANN} ann\n", program=GATED, max_workers="1") as server:
        yield server


@pytest.fixture
def gated(gated_server: HttpServer) -> Iterator[HttpServer]:
    """A job of this server ends once the file `gate` is in its data folder; one runs at a time.

    No job is left when a test ends: one at the gate would hold up those of the tests that follow.
    """
    yield gated_server
    end_all_jobs(gated_server)
