"""Brings the tables of a database to this version's."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from amdkernel_mcp.errors import DatabaseError

HEAD = "0006"
_TABLE = "alembic_version"
_MIGRATING = threading.Lock()  # Alembic keeps the migration that runs in variables of its module
_LOCK = 0x616D646B  # any number that no other program locks in this database


def bring_up_to_date(engine: Engine) -> None:
    """Make or migrate the tables. Raises DatabaseError for the tables of a newer version of this program."""
    with engine.connect() as connection:
        found = _revision(connection)
    if found == HEAD:
        return  # without Alembic, whose import takes longer than many records
    if found is not None and found > HEAD:
        raise DatabaseError(
            f"the history has the tables of a newer version ({found}; this one knows {HEAD})",
            hint="install the newer amdkernel-mcp again",
        )
    if found is not None and engine.dialect.name == "sqlite" and engine.url.database:
        _back_up(Path(engine.url.database), found)
    with _MIGRATING, engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"select pg_advisory_xact_lock({_LOCK})"))  # SQLite begins with the lock
        if _revision(connection) != HEAD:  # another process may have been quicker
            _migrate(connection)


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


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
