"""Jobs, so that what a server accepted survives it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table and its indexes."""
    op.create_table(
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
    op.create_index("jobs_of_user", "jobs", ["owner", "created"])
    op.create_index("jobs_unfinished", "jobs", ["status", "lease_until"])


def downgrade() -> None:
    """Refused: an older version would lose the jobs."""
    raise NotImplementedError("install the newer amdkernel-mcp again")
