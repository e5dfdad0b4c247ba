"""The database of the history: SQLite in WAL mode, or Postgres by its URL."""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, ColumnElement, Connection, Engine, Float, create_engine, event, literal_column, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, InvalidatePoolError, SQLAlchemyError

from amdkernel_mcp.errors import DatabaseError, SettingsError

# A folder that cannot be written, such as a backup, is listed all the same: SQLite makes no files next to this one.
_READ_ONLY = {"immutable": "1", "uri": "true"}
_BUSY_S = 5.0  # for a writer that another process holds up
_SILENT_S = 15.0  # for a server that does not answer
_TRUSTED_S = 1.0  # for which a connection that answered is used without being asked again
_PG8000 = "postgresql+pg8000"
_KEPT, _MORE = 10, 5  # connections of a pool: a new one costs more than what is asked through it
_turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # by database
_NOW = {"sqlite": "(julianday('now') - 2440587.5) * 86400.0", "postgresql": "extract(epoch from clock_timestamp())"}


def open_database(url: str | None, default: Path) -> Engine:
    """A pool of connections. Raises SettingsError for a text that is not a URL, DatabaseError for a missing driver."""
    if url is None:
        default.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(default.parent, os.W_OK):
            _for_its_owner_alone(default)
        elif default.is_file() and not _log_of(default):
            return create_engine(URL.create("sqlite", database=f"file:{quote(str(default))}", query=_READ_ONLY))
    try:
        where = make_url(_with_driver(url)) if url is not None else URL.create("sqlite", database=str(default))
        dialect = where.get_backend_name()
        pg8000 = where.drivername == _PG8000
        ours: dict[str, Any] = {"pool_pre_ping": dialect != "sqlite"}
        if pg8000:
            ours = {"isolation_level": "AUTOCOMMIT", "pool_size": _KEPT, "max_overflow": _MORE, "pool_use_lifo": True}
        engine = create_engine(where, connect_args=_limits(where), **ours)
    except ArgumentError:
        raise SettingsError("database: this is not a URL such as postgresql://user@host/name") from None
    except ModuleNotFoundError as error:
        hint = "pip install 'amdkernel-mcp[postgres]'" if dialect == "postgresql" else None
        raise DatabaseError(f"the driver {error.name} of the database is not installed", hint=hint) from None
    if dialect == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    if pg8000:
        event.listen(engine, "begin", _begin)  # so that reading costs no transaction, nor the end of one
        event.listen(engine, "connect", _answered)
        event.listen(engine, "checkout", _ask_again)
    return engine


def _for_its_owner_alone(file: Path) -> None:
    """The file with mode 0600: hashes of tokens lie in it. SQLite gives its log the mode of the file.

    Never opened here: where a process closes a file, it loses the locks that SQLite has on it.
    """
    with suppress(OSError):  # where it cannot be made or is another user's, SQLite says what follows
        try:
            os.mknod(file, stat.S_IFREG | 0o600)
        except FileExistsError:
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


def _limits(where: URL) -> dict[str, Any]:
    """How long a record may wait for others: an answer waits for its record."""
    if where.get_backend_name() == "sqlite":
        return {"timeout": _BUSY_S}
    if where.drivername == _PG8000:
        limits = {"timeout": _SILENT_S, "startup_params": {"lock_timeout": str(int(_BUSY_S * 1000))}}
        # Postgres has no TLS on a socket file, and pg8000 would load all certificates before it learns that.
        return limits | ({"ssl_context": False} if "unix_sock" in where.query else {})
    return {}


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for reading alone, which waits for no writer. Raises DatabaseError."""
    with reported(), engine.connect() as connection:
        yield connection.execution_options(isolation_level="AUTOCOMMIT")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction. Raises DatabaseError.

    Threads of this process queue for SQLite's one writer: those that SQLite lets try again and again starve.
    """
    turn = _turns[str(engine.url)] if engine.dialect.name == "sqlite" else nullcontext()
    with turn, reported(), engine.begin() as connection:
        yield connection


@contextmanager
def writing_once(engine: Engine) -> Iterator[Connection]:
    """A transaction of one statement, for which Postgres needs neither begin nor commit. Raises DatabaseError."""
    with reading(engine) if engine.dialect.name == "postgresql" else writing(engine) as connection:
        yield connection


@contextmanager
def reported() -> Iterator[None]:
    """Errors of the database become DatabaseError, in its own words."""
    try:
        yield
    except SQLAlchemyError as error:
        raise DatabaseError(f"the history cannot be used: {_said(error)}") from None
    except (OSError, struct.error):  # pg8000, when the server ends in the middle of an answer; SQLAlchemy knows neither
        raise DatabaseError("the history cannot be used: the connection to the database was lost") from None
    except Exception as error:
        if not type(error).__module__.startswith("pg8000"):
            raise
        raise DatabaseError(f"the history cannot be used: {_said(error)}") from None


def now_in(database: Engine | Connection) -> ColumnElement[float]:
    """Seconds since 1970 by the clock of the database, which all servers share, as a part of a statement."""
    return literal_column(_NOW[database.dialect.name], Float)


def database_now(connection: Connection) -> float:
    """The value of `now_in`."""
    return float(connection.execute(select(now_in(connection))).scalar_one())


def _said(error: Exception) -> str:
    """The database's own sentence; pg8000 gives a mapping of fields, where `M` is the message."""
    cause = getattr(error, "orig", None) or error
    fields = cause.args[0] if cause.args and isinstance(cause.args[0], dict) else {}
    return str(fields.get("M") or cause).splitlines()[0]


def _log_of(file: Path) -> bool:
    """Whether another process may be writing: then the file alone is not all."""
    log = file.with_name(f"{file.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _with_driver(url: str) -> str:
    """A Postgres URL that names no driver gets the one that `amdkernel-mcp[postgres]` installs."""
    scheme, colon, rest = url.partition(":")
    return f"{_PG8000}:{rest}" if colon and scheme in ("postgres", "postgresql") else url


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver begins no transaction of its own: `_begin_immediate` does
    until = time.monotonic() + _BUSY_S
    while True:  # SQLite does not wait here by itself: two that open a new file at once would both change its mode
        try:
            connection.execute("pragma journal_mode = wal")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
    connection.execute("pragma synchronous = normal")  # a killed process loses nothing; a power cut the last moment


def _begin_immediate(connection: Any) -> None:
    """Wait for other writers at the start: a transaction that turns into a writer later would fail at once."""
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("begin immediate")


def _begin(connection: Any) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("begin")


def _answered(_: Any, record: Any) -> None:
    record.info["answered_s"] = time.monotonic()


def _ask_again(connection: Any, record: Any, _: Any) -> None:
    """Find out that a server was started again, though not each time: the question costs as much as a statement."""
    if time.monotonic() - record.info["answered_s"] < _TRUSTED_S:
        return
    try:
        connection.run("select 1")
    except Exception as error:  # whatever it is, the next connection is a new one
        raise InvalidatePoolError("the connection was lost") from error
    _answered(connection, record)
