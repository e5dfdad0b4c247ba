"""Servers that write many jobs at the same time on Postgres do not run into a deadlock."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database import leases as module
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.journal import Journal
from amdkernel_mcp.jobs.request import Request
from tests.history.postgres import postgres_server

pytestmark = pytest.mark.thorough

SERVERS, JOBS, ROUNDS = 4, 40, 10


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Settings]:
    with postgres_server() as url:
        yield load_settings({"data_dir": tmp_path / "data", "database": url}, {})


def test_servers_that_take_over_and_renew_the_same_jobs_do_not_block_each_other(
    own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEASE_S", -1.0)  # each may take what the others have
    servers = [Journal(own, "http") for _ in range(SERVERS)]
    for number in range(JOBS):
        servers[number % SERVERS].accept(Job(f"job-{number}", "ann", Request("check", {})))

    def take_and_renew(server: Journal) -> list[str]:
        errors = []
        for _ in range(ROUNDS):
            for step in (server.take_over, server.renew):
                try:
                    step()
                except DatabaseError as error:
                    errors.append(error.message)
        return errors

    with ThreadPoolExecutor(SERVERS) as pool:
        errors = [error for each in pool.map(take_and_renew, servers) for error in each]
    for server in servers:
        server.close()
    assert not errors
