"""Leases of GPUs, so that no two processes time on one at once; how often each job was begun."""

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Make the table and its indexes, and add the column."""
    change.add_column(connection, "jobs", sa.Column("tries", sa.Integer, nullable=False, server_default="0"))
    change.create_table(
        connection,
        "gpu_leases",
        sa.Column("fence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("gpu", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("asked", sa.Float, nullable=False),
        sa.Column("lease_until", sa.Float, nullable=False),
        sa.Column("granted", sa.Float),
        sa.Column("ended", sa.Float),
        sqlite_autoincrement=True,
    )
    change.create_index(connection, "gpu_leases_of_gpu", "gpu_leases", ["gpu", "ended"])
    change.create_index(connection, "gpu_leases_of_user", "gpu_leases", ["owner", "ended"])
