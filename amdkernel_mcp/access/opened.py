"""The database of tokens and audit log: that of the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.database.schema import open_tables

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from amdkernel_mcp.config import Settings


def open_access(settings: Settings) -> Engine:
    """A pool of connections to tables of this version; the caller disposes of it. Raises DatabaseError."""
    return open_tables(settings, "the tokens")


@contextmanager
def admin_database() -> Iterator[Engine]:
    """The database that the settings in force name. Raises what `open_access` raises, SettingsError."""
    engine = open_access(load_settings())
    try:
        yield engine
    finally:
        engine.dispose()
