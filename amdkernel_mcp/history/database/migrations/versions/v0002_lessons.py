"""Lessons, the artefacts that records name, and what an attempt changed and gained."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns, tables and indexes; the records that exist name their artefacts."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("attempts", "id", type_=sa.Text(collation="C"))
    op.add_column("attempts", sa.Column("changed", sa.Text))
    op.add_column("attempts", sa.Column("gain", sa.Float))
    op.create_index("attempts_of_user", "attempts", ["by", "number"])
    timed = sa.text("time_us IS NOT NULL")
    columns = ["by", "problem", "target", "number"]
    op.create_index("attempts_timed", "attempts", columns, sqlite_where=timed, postgresql_where=timed)
    op.create_table(
        "artefacts",
        sa.Column("sha256", sa.Text, primary_key=True),
        sa.Column("last_named", sa.Text, nullable=False),
    )
    op.create_table(
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
    op.create_index("lessons_of_user", "lessons", ["by", "number"])
    op.create_index("lessons_of_attempt", "lessons", ["attempt", "number"])
    _name_artefacts(op.get_bind())


def downgrade() -> None:
    """Refused: records are never removed by a program."""
    raise NotImplementedError("an older version would not know which artefacts are needed")


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
        op.bulk_insert(sa.table("artefacts", sa.column("sha256"), sa.column("last_named")), rows)
