"""Leases of GPUs, so that no two processes time on one at once; how often each job was begun."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table and its indexes, and add the column."""
    op.add_column("jobs", sa.Column("tries", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
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
    op.create_index("gpu_leases_of_gpu", "gpu_leases", ["gpu", "ended"])
    op.create_index("gpu_leases_of_user", "gpu_leases", ["owner", "ended"])


def downgrade() -> None:
    """Refused: an older version would time without leases."""
    raise NotImplementedError("install the newer amdkernel-mcp again")
