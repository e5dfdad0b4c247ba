"""A history in a folder of its own, on each kind of database, and attempts to put into it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.history.attempt import Attempt, ProblemUsed, new_id, now
from amdkernel_mcp.history.history import History
from tests.history.postgres import postgres_server

Make = Callable[..., Attempt]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes a new database on a server of this process, and returns its URL."""
    with postgres_server() as url:
        server = create_engine(url.replace("postgresql:", "postgresql+pg8000:"), isolation_level="AUTOCOMMIT")

        def made() -> str:
            name = f"history_{uuid4().hex}"
            with server.connect() as connection:
                connection.execute(text(f"create database {name}"))
            return url.replace("/postgres?", f"/{name}?")

        yield made
        server.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def own_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings with folders of their own, and a database of each kind."""
    database = request.getfixturevalue("postgres")() if request.param == "postgres" else None
    return load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache", "database": database}, {})


@pytest.fixture
def file_settings(tmp_path: Path) -> Settings:
    """Settings for what concerns the SQLite file alone."""
    return load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}, {})


@pytest.fixture
def history(own_settings: Settings) -> Iterator[History]:
    opened = History(own_settings)
    yield opened
    opened.close()


@pytest.fixture
def make(history: History) -> Make:
    """Makes and adds an attempt of `by` with this source."""

    def added(
        source: str = "// kernel",
        *,
        by: str = "local",
        verdict: str = "correct",
        problem: str | None = None,
        **more: object,
    ) -> Attempt:
        parent = history.parent(by, problem)
        attempt = Attempt(
            id=new_id(),
            verb="check",
            created=now(),
            by=by,
            parent=parent.id if parent else None,
            version="0",
            file_name="kernel.hip",
            source=history.artefacts.keep(source.encode()),
            baseline=None,
            problem=ProblemUsed(name=problem, files={}) if problem else None,
            target="emulator:gfx942",
            options={},
            verdict=verdict,
            answer={"reason": f"it is {verdict}"} | more,
        )
        history.add(attempt, parent_source=parent.source if parent else None)
        return attempt

    return added
