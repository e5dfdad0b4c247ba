"""The table of attempts."""

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Make the table and the indexes of the lists."""
    change.create_table(
        connection,
        "attempts",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("parent", sa.Text),
        sa.Column("problem", sa.Text),
        sa.Column("file_name", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("target", sa.Text),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("speedup", sa.Float),
        sa.Column("time_us", sa.Float),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.Column("signature", sa.LargeBinary, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    change.create_index(connection, "attempts_by_user", "attempts", ["by", "problem", "number"])
    change.create_index(connection, "attempts_by_problem", "attempts", ["problem", "number"])
