"""What is known of each GPU: its baseline, and why nothing may run on it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
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


def downgrade() -> None:
    """Refused: an older version would use quarantined GPUs."""
    raise NotImplementedError("install the newer amdkernel-mcp again")
