"""The statements that a migration consists of, as SQLAlchemy writes them for each database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn


def create_table(
    connection: sa.Connection, name: str, *columns: sa.Column[Any], sqlite_autoincrement: bool = False
) -> None:
    """Make a table. `sqlite_autoincrement`: the number of a row that was removed is never used again."""
    sa.Table(name, sa.MetaData(), *columns, sqlite_autoincrement=sqlite_autoincrement).create(connection)


def create_index(
    connection: sa.Connection, name: str, table: str, columns: Sequence[str], where: sa.TextClause | None = None
) -> None:
    """Make an index of these columns, in this order. `where`: of these rows only."""
    indexed = sa.Table(table, sa.MetaData(), *map(sa.Column, columns))
    sa.Index(name, *indexed.columns, sqlite_where=where, postgresql_where=where).create(connection)


def add_column(connection: sa.Connection, table: str, column: sa.Column[Any]) -> None:
    """Add a column; one that may not be null has a default."""
    sa.Table(table, sa.MetaData(), column)
    declared = CreateColumn(column).compile(dialect=connection.dialect)
    connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {declared}"))
