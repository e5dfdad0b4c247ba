"""What a call costs on Postgres: kept connections and few statements. Counted, not timed."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, text

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database import open_database as module
from amdkernel_mcp.database.open_database import open_database, reading
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.journal import Journal
from amdkernel_mcp.jobs.request import Request
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from tests.history.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def own(postgres: PostgresServer, tmp_path: Path) -> Settings:
    return load_settings({"data_dir": tmp_path / "data", "database": str(postgres)}, {})


@pytest.fixture
def opened(postgres: PostgresServer, tmp_path: Path) -> Iterator[Engine]:
    engine = open_database(str(postgres), tmp_path / "none")
    yield engine
    engine.dispose()


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What is sent to the database from here on."""
    sent: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


def test_connections_are_kept_for_the_next_round_of_threads(opened: Engine) -> None:
    connects: list[object] = []
    event.listen(opened, "connect", lambda *given: connects.append(given))
    count = 8
    together = threading.Barrier(count)

    def read(_: int) -> None:
        for _ in range(5):
            with reading(opened) as connection:
                together.wait(60)
                connection.execute(text("select 1"))
            together.wait(60)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(read, range(count)))
    assert len(connects) == count


def test_a_server_that_was_started_again_costs_no_error(
    opened: Engine, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TRUSTED_S", 0.0)
    for _ in range(3):
        with reading(opened) as one, reading(opened) as other:
            assert [each.execute(text("select 1")).scalar() for each in (one, other)] == [1, 1]
        postgres.restart()


def test_a_connection_that_just_answered_is_not_asked_again(opened: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(module, "_TRUSTED_S", 600.0)
    monkeypatch.setattr(module, "_answered", lambda *given: asked.append(given))
    for _ in range(5):
        with reading(opened) as connection:
            connection.execute(text("select 1"))
    assert not asked


def test_a_lease_of_a_free_gpu_takes_four_statements_and_its_end_one(own: Settings, statements: list[str]) -> None:
    leases = GpuLeases(own)
    leases.ask("another", "exclusive", "ann")
    statements.clear()
    asked, granted = leases.ask("free", "exclusive", "ann")
    assert granted
    assert _sent(statements) == ["begin", "select", "select", "insert"]
    assert leases.end(asked)
    assert _sent(statements) == ["update"]
    leases.close()


def test_a_look_whether_the_gpu_is_free_by_now_is_one_statement(own: Settings, statements: list[str]) -> None:
    leases = GpuLeases(own)
    leases.ask("busy", "exclusive", "ann")
    waits, _ = leases.ask("busy", "exclusive", "bob")
    statements.clear()
    assert not leases.take(waits)
    assert _sent(statements) == ["select"]
    leases.close()


@pytest.mark.parametrize("step", ["begin", "end"])
def test_each_step_of_a_job_is_one_statement(own: Settings, statements: list[str], step: str) -> None:
    journal = Journal(own, "http")
    job = Job(f"job-{step}", "ann", Request("check", {}))
    job.fence = journal.accept(job)
    statements.clear()
    steps: dict[str, Callable[[], object]] = {
        "begin": lambda: journal.begin(job),
        "end": lambda: journal.end(job, "failed", "no"),
    }
    steps[step]()
    assert _sent(statements) == ["update"]
    journal.close()


def _sent(statements: list[str]) -> list[str]:
    verbs = [statement.split()[0].lower() for statement in statements]
    statements.clear()
    return verbs
