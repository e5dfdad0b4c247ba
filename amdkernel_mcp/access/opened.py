"""The database of tokens and audit log: that of the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.database.open_database import open_database, reported
from amdkernel_mcp.database.schema import bring_up_to_date
from amdkernel_mcp.errors import DatabaseError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from amdkernel_mcp.config import Settings


def open_access(settings: Settings) -> Engine:
    """A pool of connections to tables of this version; the caller disposes of it. Raises DatabaseError."""
    try:
        engine = open_database(settings.database, settings.data_dir / "history.sqlite3")
    except OSError as error:
        raise DatabaseError(f"the tokens in {settings.data_dir} cannot be used: {error.strerror}") from None
    try:
        with reported():
            bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def admin_database() -> Iterator[Engine]:
    """The database that the settings in force name. Raises what `open_access` raises, SettingsError."""
    engine = open_access(load_settings())
    try:
        yield engine
    finally:
        engine.dispose()
