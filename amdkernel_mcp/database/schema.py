"""Opens the database, and brings its tables to this version's."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from sqlalchemy import Column, Connection, Engine, MetaData, PrimaryKeyConstraint, String, Table, inspect, text

from amdkernel_mcp.config import Settings
from amdkernel_mcp.database.migrations import versions
from amdkernel_mcp.database.open_database import open_database, reported
from amdkernel_mcp.errors import DatabaseError

HEAD = "0007"
_TABLE = "alembic_version"
_LOCK = 0x616D646B  # any number that no other program locks in this database


def open_tables(settings: Settings, kept: str) -> Engine:
    """A pool of connections to tables of this version; the caller disposes of it.

    kept: what the caller keeps there, for the sentence of an error. Raises DatabaseError, SettingsError.
    """
    try:
        engine = open_database(settings.database, settings.data_dir / "history.sqlite3")
    except OSError as error:
        raise DatabaseError(f"{kept} in {settings.data_dir} cannot be used: {error.strerror}") from None
    try:
        with reported():
            bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def bring_up_to_date(engine: Engine) -> None:
    """Make or migrate the tables. Raises DatabaseError for the tables of a newer version of this program."""
    with engine.connect() as connection:
        found = _revision(connection)
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        raise DatabaseError(
            f"the history has the tables of a newer version ({found}; this one knows {HEAD})",
            hint="install the newer amdkernel-mcp again",
        )
    if found is not None and engine.dialect.name == "sqlite" and engine.url.database:
        _back_up(Path(engine.url.database), found)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"select pg_advisory_xact_lock({_LOCK})"))  # SQLite begins with the lock
        if _revision(connection) != HEAD:  # another process may have been quicker
            migrate(connection)


def _back_up(file: Path, revision: str) -> None:
    """Keep the database as it was before the migration. Raises DatabaseError, and then nothing is changed."""
    backup = file.with_name(f"{file.name}.{revision}.backup")
    if backup.exists():  # of an earlier try, or of another process that migrates now
        return
    started = file.with_name(f"{backup.name}.{os.getpid()}")
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(started)) as copy:
            source.backup(copy)
        os.replace(started, backup)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            started.unlink(missing_ok=True)
        raise DatabaseError(
            f"{backup} cannot be written, so the tables of version {revision} were not changed: {error}",
            hint="make room in that folder; the backup is as large as the database",
        ) from None


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_TABLE):
        return None
    return connection.execute(text(f"select version_num from {_TABLE}")).scalar()


def migrate(connection: Connection, until: str = HEAD) -> None:
    """Run the migrations that the database lacks, up to this version."""
    found = _revision(connection) or ""
    if not found:
        column = Column("version_num", String(32), nullable=False)
        Table(_TABLE, MetaData(), column, PrimaryKeyConstraint(column, name=f"{_TABLE}_pkc")).create(connection)
    for module in iter_modules(versions.__path__):
        version = module.name[1:5]  # v0001_attempts
        if found < version <= until:
            import_module(f"{versions.__name__}.{module.name}").upgrade(connection)
    connection.execute(text(f"DELETE FROM {_TABLE}"))
    connection.execute(text(f"INSERT INTO {_TABLE} VALUES ('{until}')"))
