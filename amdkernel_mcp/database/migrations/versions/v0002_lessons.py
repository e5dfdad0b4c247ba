"""Lessons, the artefacts that records name, and what an attempt changed and gained."""

import json

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Add the columns, tables and indexes; the records that exist name their artefacts."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text('ALTER TABLE attempts ALTER COLUMN id TYPE TEXT COLLATE "C"'))
    change.add_column(connection, "attempts", sa.Column("changed", sa.Text))
    change.add_column(connection, "attempts", sa.Column("gain", sa.Float))
    change.create_index(connection, "attempts_of_user", "attempts", ["by", "number"])
    timed = sa.text("time_us IS NOT NULL")
    columns = ["by", "problem", "target", "number"]
    change.create_index(connection, "attempts_timed", "attempts", columns, where=timed)
    change.create_table(
        connection,
        "artefacts",
        sa.Column("sha256", sa.Text, primary_key=True),
        sa.Column("last_named", sa.Text, nullable=False),
    )
    change.create_table(
        connection,
        "lessons",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("attempt", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("problem", sa.Text),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sqlite_autoincrement=True,
    )
    change.create_index(connection, "lessons_of_user", "lessons", ["by", "number"])
    change.create_index(connection, "lessons_of_attempt", "lessons", ["attempt", "number"])
    _name_artefacts(connection)


def _name_artefacts(connection: sa.Connection) -> None:
    last: dict[str, str] = {}
    for created, record in connection.execute(sa.text("select created, record from attempts order by number")):
        found = json.loads(bytes(record))
        files = (found.get("problem") or {}).get("files", {})
        for name in (found["source"], found["baseline"], *files.values()):
            if name:
                last[name] = created
    rows = [{"sha256": name, "last_named": created} for name, created in last.items()]
    if rows:
        connection.execute(sa.insert(sa.table("artefacts", sa.column("sha256"), sa.column("last_named"))), rows)
