"""Tokens of users, and the audit log."""

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Make the tables and their indexes."""
    change.create_table(
        connection,
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expires", sa.Float),
        sa.Column("last_used", sa.Float),
        sa.Column("revoked", sa.Float),
    )
    change.create_table(
        connection,
        "audit",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("token", sa.Text),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text),
        sa.Column("job", sa.Text),
        sa.Column("attempt", sa.Text),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sqlite_autoincrement=True,
    )
    change.create_index(connection, "audit_of_user", "audit", ["user", "number"])
    change.create_index(connection, "audit_by_age", "audit", ["at"])
