"""A database of an earlier version is brought up to date, and its records are still there."""

import os
import sqlite3

import pytest
from sqlalchemy import create_engine, inspect, text

from amdkernel_mcp.config import Settings
from amdkernel_mcp.database import schema
from amdkernel_mcp.database.open_database import reading
from amdkernel_mcp.database.tables import metadata
from amdkernel_mcp.errors import DatabaseError, HistoryError
from amdkernel_mcp.history.attempt import Attempt, ProblemUsed, canonical, new_id, now
from amdkernel_mcp.history.history import History
from amdkernel_mcp.history.lines import columns_of


def first_version(settings: Settings, *kept: Attempt, version: str = "0001", **columns: float) -> None:
    """A database with the first tables, or those of another version, and one record or more, with these columns."""
    url = settings.database or f"sqlite:///{settings.data_dir / 'history.sqlite3'}"
    engine = create_engine(url.replace("postgresql:", "postgresql+pg8000:"))
    with engine.begin() as connection:
        schema.migrate(connection, version)
        for attempt in kept:
            row = columns_of(attempt) | {"record": canonical(attempt), "signature": b"s", "public_key": b"k"} | columns
            del row["timed_case"], row["problem_hash"]
            names, values = ", ".join(f'"{name}"' for name in row), ", ".join(f":{name}" for name in row)
            connection.execute(text(f"insert into attempts ({names}) values ({values})"), row)
    engine.dispose()


def test_a_gain_between_two_cases_is_forgotten_and_old_times_know_their_case(own_settings: Settings) -> None:
    own_settings.data_dir.mkdir()
    problem = ProblemUsed(name="p", files={}, hash="h")
    old = [
        Attempt(
            id=new_id(), verb="benchmark", created=now(), by="local", parent=None, version="0", file_name="k.hip",
            source="0" * 64, baseline=None, problem=problem, target="emulator:gfx942", options={}, verdict="faster",
            answer={"case": case, "time_us": {"value": 8.0, "evidence": "modelled"}},
        )
        for case in ("n=1", "n=1", "n=4096")
    ]  # fmt: skip
    first_version(own_settings, *old, version="0006", gain=2.0)
    history = History(own_settings)
    found = [(line.timed_case, line.problem_hash, line.gain) for line in history.list()]
    assert found == [("n=4096", "h", None), ("n=1", "h", 2.0), ("n=1", "h", 2.0)]
    history.close()


def test_records_of_the_first_tables_are_listed_found_and_keep_their_files(own_settings: Settings) -> None:
    own_settings.data_dir.mkdir()
    settings = own_settings.model_copy(update={"keep_mib": 0})
    attempt = Attempt(
        id=new_id(), verb="compile", created=now(), by="local", parent=None, version="0", file_name="k.hip",
        source="0" * 64, baseline=None, problem=None, target=None, options={}, verdict="compiled", answer={},
    )  # fmt: skip
    first_version(settings, attempt)
    history = History(settings)
    assert [each.id for each in history.list()] == [attempt.id]
    assert history.find(attempt.id[:4]).attempt == attempt
    with reading(history._engine) as connection:
        named = connection.execute(text("select sha256, last_named from artefacts")).all()
    assert [tuple(row) for row in named] == [("0" * 64, attempt.created)]
    history.note(attempt.id, "a lesson on an old attempt")
    assert history.list()[0].note == "a lesson on an old attempt"
    history.close()


def test_a_backup_is_made_before_a_migration_and_none_for_a_new_database(file_settings: Settings) -> None:
    file_settings.data_dir.mkdir()
    History(file_settings.model_copy(update={"data_dir": file_settings.data_dir / "new"})).close()
    attempt = Attempt(
        id=new_id(), verb="compile", created=now(), by="local", parent=None, version="0", file_name="k.hip",
        source="0" * 64, baseline=None, problem=None, target=None, options={}, verdict="compiled", answer={},
    )  # fmt: skip
    first_version(file_settings, attempt)
    History(file_settings).close()
    (backup,) = file_settings.data_dir.rglob("*.backup*")
    assert backup.name == "history.sqlite3.0001.backup"
    database = sqlite3.connect(backup)
    assert database.execute("select id from attempts").fetchall() == [(attempt.id,)]
    assert not database.execute("select 1 from sqlite_master where name = 'jobs'").fetchall()
    database.close()


def test_without_room_for_a_backup_the_tables_stay_as_they_were(file_settings: Settings) -> None:
    file_settings.data_dir.mkdir()
    attempt = Attempt(
        id=new_id(), verb="compile", created=now(), by="local", parent=None, version="0", file_name="k.hip",
        source="0" * 64, baseline=None, problem=None, target=None, options={}, verdict="compiled", answer={},
    )  # fmt: skip
    first_version(file_settings, attempt)
    blocked = file_settings.data_dir / f"history.sqlite3.0001.backup.{os.getpid()}"
    blocked.mkdir()
    with pytest.raises(DatabaseError, match="were not changed"):
        History(file_settings)
    database = sqlite3.connect(file_settings.data_dir / "history.sqlite3")
    assert not database.execute("select 1 from sqlite_master where name = 'jobs'").fetchall()
    database.close()


def test_the_migrations_make_the_tables_that_the_program_declares(own_settings: Settings) -> None:
    history = History(own_settings)
    made = inspect(history._engine)
    for table in metadata.sorted_tables:
        assert {column["name"] for column in made.get_columns(table.name)} == {column.name for column in table.columns}
        declared = {index.name for index in table.indexes}
        assert declared <= {index["name"] for index in made.get_indexes(table.name)}
    history.close()


@pytest.mark.parametrize("name", ["'; drop table attempts; --", "attempts%", "A" * 1000])
def test_no_text_is_run_as_sql(own_settings: Settings, name: str) -> None:
    history = History(own_settings)
    with pytest.raises(HistoryError, match="there is no attempt"):
        history.find(name)
    assert list(history.list(by=name, problem=name)) == []
    history.close()


def test_lists_and_ids_are_found_by_an_index(file_settings: Settings) -> None:
    History(file_settings).close()
    database = sqlite3.connect(file_settings.data_dir / "history.sqlite3")
    for where in (
        "id >= 'ab' and id < 'ab~' limit 2",
        "number < 50 order by number desc limit 20",
        "by = 'u' order by number desc limit 20",
        "by = 'u' and problem = 'p' order by number desc limit 20",
        "problem = 'p' order by number desc limit 20",
        "by = 'u' and problem = 'p' and target = 't' and time_us is not null order by number desc limit 1",
    ):
        plan = database.execute(f"explain query plan select verdict from attempts where {where}").fetchall()
        said = " ".join(step[3] for step in plan)
        assert said.startswith("SEARCH"), f"{where}: {said}"
        assert "TEMP B-TREE" not in said, f"{where}: {said}"
    database.close()
