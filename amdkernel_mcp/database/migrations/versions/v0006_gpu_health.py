"""What is known of each GPU: its baseline, and why nothing may run on it."""

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Make the table."""
    change.create_table(
        connection,
        "gpu_health",
        sa.Column("gpu", sa.Text, primary_key=True),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("looked", sa.Float),
        sa.Column("state", sa.Text),
        sa.Column("baseline", sa.Text),
        sa.Column("suspect", sa.Text),
        sa.Column("quarantined", sa.Float),
        sa.Column("reason", sa.Text),
    )
