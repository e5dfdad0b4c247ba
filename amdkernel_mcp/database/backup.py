"""A copy of the SQLite database while servers use it, and its way back while none does."""

from __future__ import annotations

import fcntl
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import URL
from sqlalchemy.engine import make_url

from amdkernel_mcp.database.schema import HEAD
from amdkernel_mcp.errors import DatabaseError, InputError
from amdkernel_mcp.results.access import BackupResult, RestoreResult

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings

# Every open connection to a WAL database holds a read lock on these bytes. Source: SQLite, "File Locking And
# Concurrency", and its constants SHARED_FIRST and SHARED_SIZE.
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
_BESIDE = ("artefacts", "problems", "judged", "noise_floors", "signing_key.pem", "secret")


def back_up(settings: Settings, file: Path) -> BackupResult:
    """Write the database to `file`, as it is at one moment; writers do not wait.

    Raises InputError for a file that exists, a missing database and Postgres; DatabaseError.
    """
    database = _sqlite_file(settings, f"pg_dump --format=custom --file={shlex.quote(str(file))} ")
    if file.exists():
        raise InputError(f"{file} is there already", hint="name a new file: no backup is written over another")
    if not database.is_file():
        raise InputError(f"there is no database at {database} yet")
    with _written_whole(file) as started, closing(sqlite3.connect(started)) as copy:
        with closing(sqlite3.connect(_read_only(database), uri=True, timeout=30)) as source:
            source.backup(copy)
        copy.execute("pragma journal_mode = delete")  # one file, without a log next to it
        version = _examined(copy, database)
    beside = [str(settings.data_dir / name) for name in _BESIDE if (settings.data_dir / name).exists()]
    return BackupResult(file=str(file), bytes=file.stat().st_size, version=version, not_in_it=beside)


def restore(settings: Settings, file: Path) -> RestoreResult:
    """Make `file` the database. The old one is kept next to it, and what it revokes stays revoked.

    Raises InputError for a file that is not a backup and for Postgres; DatabaseError while a process has it open.
    """
    database = _sqlite_file(
        settings, f"pg_restore --clean --if-exists --single-transaction {shlex.quote(str(file))} --dbname="
    )
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ends = _ends(database)  # before the lock, which is lost where this process closes the file
    with _alone(database), _written_whole(database) as started:
        with (
            closing(sqlite3.connect(started)) as copy,
            closing(sqlite3.connect(_read_only(file), uri=True)) as source,
        ):
            try:
                version = _examined(source, file)
                source.backup(copy)
            except sqlite3.DatabaseError as error:
                raise InputError(f"{file} is not a backup: {error}") from None
            again = _end(copy, ends or {})
        kept = _set_aside(database)
    unread = "which tokens were revoked since the backup cannot be read: look at `amdkernel admin tokens list`"
    return RestoreResult(
        file=str(file),
        version=version,
        kept=str(kept) if kept else None,
        revoked_again=again,
        note=unread if kept is not None and ends is None else None,
    )


def _ends(database: Path) -> dict[str, tuple[float | None, float | None]] | None:
    """Of each token with an end: when it was revoked and when it expires; None: the database cannot be read."""
    wanted = "select id, revoked, expires from tokens where revoked is not null or expires is not null"
    try:
        with closing(sqlite3.connect(_read_only(database), uri=True, timeout=30)) as source:
            return {token: (revoked, expires) for token, revoked, expires in source.execute(wanted)}
    except sqlite3.Error:
        return None


def _end(copy: sqlite3.Connection, ends: dict[str, tuple[float | None, float | None]]) -> list[str]:
    """Give tokens these ends where theirs are later: one that was rotated since expires. Returns whom it revoked."""
    tables = {name for (name,) in copy.execute("select name from sqlite_master where type = 'table'")}
    if "tokens" not in tables:
        return []
    sooner = "update tokens set expires = :at where id = :token and (expires is null or expires > :at)"
    copy.executemany(sooner, [{"token": token, "at": at} for token, (_, at) in ends.items() if at is not None])
    valid = {token for (token,) in copy.execute("select id from tokens where revoked is null")}
    again = sorted(token for token, (revoked, _) in ends.items() if token in valid and revoked is not None)
    copy.executemany("update tokens set revoked = ? where id = ?", [(ends[token][0], token) for token in again])
    copy.commit()
    return again


def _sqlite_file(settings: Settings, command: str) -> Path:
    """The file of the database. Raises InputError for Postgres with the `command`, to which its URL is appended."""
    if settings.database is None:
        return settings.data_dir / "history.sqlite3"
    where = make_url(settings.database)
    if where.get_backend_name() == "sqlite" and where.database:
        return Path(where.database)
    name, user, host = where.get_backend_name(), where.username, where.host
    url = URL.create(name, user, host=host, port=where.port, database=where.database).render_as_string()
    raise InputError(
        "the database is Postgres, whose own programs copy it while servers use it", hint=f"`{command}{url}`"
    )


def _read_only(file: Path) -> str:
    return f"file:{quote(str(file.absolute()))}?mode=ro"


def _examined(connection: sqlite3.Connection, file: Path) -> str:
    """The version of its tables. Raises InputError for a database that is damaged, not ours or too new."""
    if (found := connection.execute("pragma integrity_check(1)").fetchone()[0]) != "ok":
        raise InputError(f"{file} is damaged: {found}")
    tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    if not {"alembic_version", "attempts"} <= tables:
        raise InputError(f"{file} is not a database of amdkernel-mcp")
    version = str(connection.execute("select version_num from alembic_version").fetchone()[0])
    if version > HEAD:
        raise InputError(f"{file} has the tables of a newer version ({version}; this one knows {HEAD})")
    return version


@contextmanager
def _written_whole(file: Path) -> Iterator[Path]:
    """A file for the block to write, which becomes `file` at its end, or vanishes. Raises DatabaseError."""
    started: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # for its owner alone
        os.close(handle)
        started = Path(name)
        yield started
        with started.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(started, file)
    except (OSError, sqlite3.Error) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise DatabaseError(f"{file} cannot be written: {said}") from None
    finally:
        if started is not None:
            for part in (started, Path(f"{started}-journal")):
                with suppress(OSError):
                    part.unlink(missing_ok=True)


@contextmanager
def _alone(database: Path) -> Iterator[None]:
    """A block in which no other process can use the database. Raises DatabaseError where one has it open."""
    try:
        handle = os.open(database, os.O_RDWR)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise DatabaseError(f"{database} cannot be opened: {error.strerror}") from None
    try:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
        except OSError:
            raise DatabaseError(
                f"a server or another command uses {database}",
                hint="stop it, such as with `systemctl stop amdkernel`, and end the editors that use it",
            ) from None
        yield
    finally:
        os.close(handle)


def _set_aside(database: Path) -> Path | None:
    """Keep the old database with its log under a name of its own; it stays in its place until it is replaced."""
    if not database.exists():
        return None
    kept = database.with_name(f"{database.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    os.link(database, kept)
    with suppress(FileNotFoundError):
        os.rename(f"{database}-wal", f"{kept}-wal")
    Path(f"{database}-shm").unlink(missing_ok=True)
    return kept
