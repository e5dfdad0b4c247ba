"""Records go in, and come out as they were signed."""

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import DatabaseError, HistoryError, SettingsError
from amdkernel_mcp.history.attempt import Attempt
from amdkernel_mcp.history.history import History
from amdkernel_mcp.history.signing import is_signed

Make = Callable[..., Attempt]


def test_a_record_comes_back_as_it_was_signed(history: History, make: Make) -> None:
    made = make()
    stored = history.find(made.id)
    assert stored.attempt == made
    assert is_signed(stored.record, stored.signature, stored.public_key)


def test_a_changed_record_is_no_longer_signed(history: History, make: Make) -> None:
    stored = history.find(make(verdict="incorrect").id)
    forged = stored.record.replace(b'"verdict":"incorrect"', b'"verdict":"correct"')
    assert forged != stored.record
    assert not is_signed(forged, stored.signature, stored.public_key)


def test_lists_are_newest_first_and_continue_after_the_last_one(history: History, make: Make) -> None:
    made = [make(f"// {n}").id for n in range(5)]
    first = history.list(limit=2)
    assert [each.id for each in first] == made[:2:-1]
    assert [each.id for each in history.list(before=first[-1].id)] == made[2::-1]


def test_a_list_is_of_one_user(history: History, make: Make) -> None:
    mine, other = make(by="user:ann"), make(by="user:bob")
    assert [each.id for each in history.list(by="user:ann")] == [mine.id]
    with pytest.raises(HistoryError, match="there is no attempt"):
        history.find(other.id, by="user:ann")


def test_the_parent_is_the_same_users_attempt_before_it(make: Make) -> None:
    first = make(by="user:ann")
    make(by="user:bob")
    assert make(by="user:ann").parent == first.id


def test_the_beginning_of_an_id_is_enough_while_it_fits_one(history: History, make: Make) -> None:
    made = [make().id for _ in range(40)]
    shared = next(a[0] for n, a in enumerate(made) if a[0] in {b[0] for b in made[:n]})
    assert history.find(made[0][:8]).attempt.id == made[0]
    with pytest.raises(HistoryError, match="several attempts"):
        history.find(shared)


@pytest.mark.parametrize("name", ["", "%", "_", "zzzzzzzzzz'", "../.."])
def test_what_is_not_an_id_finds_nothing(history: History, make: Make, name: str) -> None:
    make()
    with pytest.raises(HistoryError, match="there is no attempt"):
        history.find(name)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    with pytest.raises(DatabaseError, match="cannot be used"):
        History(load_settings({"data_dir": tmp_path / "data"}, {}))


def test_a_damaged_database_is_reported(file_settings: Settings) -> None:
    file_settings.data_dir.mkdir()
    (file_settings.data_dir / "history.sqlite3").write_bytes(b"no database at all" * 100)
    with pytest.raises(DatabaseError, match="not a database"):
        History(file_settings)


def test_a_url_that_is_none_is_a_setting_to_correct(file_settings: Settings) -> None:
    with pytest.raises(SettingsError, match="database"):
        History(file_settings.model_copy(update={"database": "nonsense"}))


def test_the_tables_of_a_newer_version_are_left_alone(file_settings: Settings) -> None:
    History(file_settings).close()
    with closing(sqlite3.connect(file_settings.data_dir / "history.sqlite3")) as database, database:
        database.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(DatabaseError, match="newer version"):
        History(file_settings)


def test_a_damaged_signing_key_is_never_replaced(file_settings: Settings) -> None:
    file_settings.data_dir.mkdir()
    key = file_settings.data_dir / "signing_key.pem"
    key.write_text("not a key")
    with pytest.raises(HistoryError, match="damaged"):
        History(file_settings)
    assert key.read_text() == "not a key"


def test_only_the_owner_can_read_the_signing_key(file_settings: Settings) -> None:
    History(file_settings).close()
    assert (file_settings.data_dir / "signing_key.pem").stat().st_mode & 0o077 == 0


def test_an_artefact_that_was_changed_is_noticed(own_settings: Settings, history: History) -> None:
    name = history.artefacts.keep(b"the source")
    (own_settings.data_dir / "artefacts" / name[:2] / name).write_bytes(b"another source")
    with pytest.raises(HistoryError, match="changed"):
        history.artefacts.read(name)


@pytest.mark.thorough
def test_processes_that_start_together_share_one_history(own_settings: Settings) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add, args=(own_settings, 5, None)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    history = History(own_settings)
    assert len(history.list(limit=100)) == 20
    assert len({bytes(history.find(each.id).public_key) for each in history.list(limit=100)}) == 1
    history.close()


def test_a_killed_process_loses_no_attempt_that_it_has_named(own_settings: Settings, tmp_path: Path) -> None:
    named = tmp_path / "named"
    context = multiprocessing.get_context("spawn")
    for after in (1, 7, 23):
        worker = context.Process(target=_add, args=(own_settings, 10_000, named))
        worker.start()
        seen = len(named.read_text().split()) if named.exists() else 0
        while not named.exists() or len(named.read_text().split()) < seen + after:
            assert worker.is_alive(), "the worker ended by itself"
        os.kill(worker.pid or 0, signal.SIGKILL)
        worker.join()
    history = History(own_settings)
    for name in named.read_text().split("\n")[:-1]:
        assert history.find(name).attempt.id == name
    history.close()


def _add(settings: Settings, count: int, named: Path | None) -> None:
    """Add attempts, and write the id of each to `named` once it is stored."""
    from amdkernel_mcp.history.attempt import new_id, now

    history = History(settings)
    for n in range(count):
        attempt = Attempt(
            id=new_id(), verb="compile", created=now(), by="local", parent=None, version="0", file_name="k.hip",
            source=history.artefacts.keep(b"%d" % n), baseline=None, problem=None, target=None, options={},
            verdict="compiled", answer={},
        )  # fmt: skip
        history.add(attempt)
        if named:
            with named.open("a") as file:
                file.write(f"{attempt.id}\n")
    history.close()


def test_two_databases_may_be_made_at_the_same_time_in_one_process(tmp_path: Path) -> None:
    """Alembic keeps the migration that runs in variables of its module."""
    failed: list[BaseException] = []

    def make(number: int) -> None:
        try:
            History(load_settings({"data_dir": tmp_path / str(number)}, {})).close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
