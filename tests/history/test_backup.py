"""A backup is one moment of a database that is in use; a restore happens only while no process has it open."""

import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amdkernel_mcp.access.opened import open_access
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database.backup import back_up, restore
from amdkernel_mcp.errors import DatabaseError, InputError
from tests.server.http_server import ANN, HttpServer, http_server
from tests.waiting import AT_MOST_S


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"data_dir": tmp_path / "data"}, {})


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "it's a backup.sqlite3"


def add_user(settings: Settings, name: str) -> None:
    database = open_access(settings)
    TokenStore(database).add(name, ["docs"])
    database.dispose()


def users(settings: Settings) -> set[str]:
    database = open_access(settings)
    try:
        return TokenStore(database).users()
    finally:
        database.dispose()


def test_a_restored_database_is_that_of_the_backup_and_the_old_one_is_kept(settings: Settings, backup: Path) -> None:
    add_user(settings, "ann")
    made = back_up(settings, backup)
    assert made.bytes == backup.stat().st_size
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600, "it has what tokens are verified with"
    add_user(settings, "bob")
    done = restore(settings, backup)
    assert users(settings) == {"ann"}
    assert done.kept is not None
    with closing(sqlite3.connect(done.kept)) as old:
        assert {name for (name,) in old.execute("select user from tokens")} == {"ann", "bob"}
    assert [each.name for each in settings.data_dir.glob(".*")] == [], "nothing half-written is left"


def test_a_token_that_was_revoked_since_the_backup_stays_revoked(settings: Settings, backup: Path) -> None:
    add_user(settings, "ann")
    add_user(settings, "bob")
    back_up(settings, backup)
    database = open_access(settings)
    [token] = [token.id for token in TokenStore(database).list() if token.user == "bob"]
    TokenStore(database).revoke(token)
    database.dispose()
    done = restore(settings, backup)
    assert (done.revoked_again, done.note) == ([token], None)
    assert users(settings) == {"ann"}


def test_a_token_that_was_rotated_since_the_backup_ends_as_it_would_have(settings: Settings, backup: Path) -> None:
    add_user(settings, "ann")
    back_up(settings, backup)
    database = open_access(settings)
    [token] = TokenStore(database).list()
    TokenStore(database).rotate(token.id, overlap_s=3600)
    [ends] = [each.expires_s for each in TokenStore(database).list() if each.id == token.id]
    database.dispose()
    done = restore(settings, backup)
    database = open_access(settings)
    [restored] = TokenStore(database).list()
    database.dispose()
    assert token.expires_s is None
    assert (restored.id, restored.expires_s) == (token.id, ends)
    assert ends is not None
    assert done.revoked_again == [], "it is valid until then"


def test_where_revocations_cannot_be_read_a_restore_says_so(settings: Settings, backup: Path) -> None:
    add_user(settings, "ann")
    back_up(settings, backup)
    (settings.data_dir / "history.sqlite3").write_bytes(b"nothing of a database" * 500)
    done = restore(settings, backup)
    assert done.note is not None
    assert "cannot be read" in done.note


def test_a_backup_of_a_database_that_is_written_to_is_whole(settings: Settings, tmp_path: Path) -> None:
    database = open_access(settings)
    store, ended, written = TokenStore(database), threading.Event(), threading.Event()

    def write() -> None:
        while not ended.is_set():
            store.add("ann", ["docs"])
            written.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(60)
        counts = []
        for number in range(5):
            file = tmp_path / str(number)
            back_up(settings, file)
            with closing(sqlite3.connect(file)) as copy:
                assert copy.execute("pragma integrity_check").fetchone() == ("ok",)
                counts.append(copy.execute("select count(*) from tokens").fetchone()[0])
    finally:
        ended.set()
        writer.join()
        database.dispose()
    assert counts == sorted(counts)
    assert counts[-1] >= counts[0] > 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    with http_server(tmp_path, tokens=f"{ANN} ann\n") as served:
        yield served


@pytest.mark.thorough
def test_while_a_server_runs_there_are_backups_and_no_restore(
    server: HttpServer, settings: Settings, backup: Path
) -> None:
    add_user(settings, "bob")
    back_up(settings, backup)
    with pytest.raises(DatabaseError, match="a server or another command uses") as refused:
        restore(settings, backup)
    assert "stop it" in str(refused.value.hint)
    assert server.post().status_code == 200, "the server does not notice"
    server.process.terminate()
    server.process.wait(timeout=AT_MOST_S)
    assert restore(settings, backup).kept is not None
    assert users(settings) == {"bob"}


def test_a_damaged_database_is_replaced_as_well(settings: Settings, backup: Path) -> None:
    add_user(settings, "ann")
    back_up(settings, backup)
    (settings.data_dir / "history.sqlite3").write_bytes(b"not a database" * 1000)
    restore(settings, backup)
    assert users(settings) == {"ann"}


def test_what_is_not_a_backup_changes_nothing(settings: Settings, backup: Path, tmp_path: Path) -> None:
    add_user(settings, "ann")
    back_up(settings, backup)
    other, newer = tmp_path / "other", tmp_path / "newer"
    with closing(sqlite3.connect(other)) as database:
        database.execute("create table attempts (id)")
    shutil.copy(backup, newer)
    with closing(sqlite3.connect(newer)) as database:
        database.execute("update alembic_version set version_num = '9999'")
        database.commit()
    damaged = tmp_path / "damaged"
    damaged.write_bytes(backup.read_bytes()[:20000])
    for file, said in (
        (tmp_path / "none", "there is no file"),
        (Path(__file__), "is not a backup"),
        (other, "is not a database of amdkernel-mcp"),
        (newer, "newer version"),
        (damaged, "damaged|malformed"),
    ):
        with pytest.raises(InputError, match=said):
            restore(settings, file)
    assert users(settings) == {"ann"}
    with pytest.raises(InputError, match="is there already"):
        back_up(settings, backup)


def test_a_folder_without_a_database_gets_that_of_the_backup(settings: Settings, backup: Path, tmp_path: Path) -> None:
    add_user(settings, "ann")
    back_up(settings, backup)
    new = load_settings({"data_dir": tmp_path / "new"}, {})
    with pytest.raises(InputError, match="no database at"):
        back_up(new, tmp_path / "another")
    assert restore(new, backup).kept is None
    assert users(new) == {"ann"}


def test_a_backup_that_cannot_be_written_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    add_user(settings, "ann")
    with pytest.raises(DatabaseError, match="No such file"):
        back_up(settings, tmp_path / "missing" / "backup")


def test_for_postgres_its_own_commands_are_named_without_the_password(tmp_path: Path) -> None:
    url = "postgresql://amd:secret@db.example.com/kernels"
    settings = load_settings({"data_dir": tmp_path, "database": url}, {})
    for verb, command in ((back_up, "pg_dump --format=custom"), (restore, "pg_restore --clean")):
        with pytest.raises(InputError, match="Postgres") as refused:
            verb(settings, tmp_path / "file")
        hint = str(refused.value.hint)
        assert command in hint
        assert "postgresql://amd@db.example.com/kernels" in hint
        assert "secret" not in hint
