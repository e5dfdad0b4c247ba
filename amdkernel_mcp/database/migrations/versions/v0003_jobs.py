"""Jobs, so that what a server accepted survives it."""

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Make the table and its indexes."""
    change.create_table(
        connection,
        "jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("lease_until", sa.Float, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("error", sa.Text),
    )
    change.create_index(connection, "jobs_of_user", "jobs", ["owner", "created"])
    change.create_index(connection, "jobs_unfinished", "jobs", ["status", "lease_until"])
