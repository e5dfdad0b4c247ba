"""Alembic's entry: `schema.py` gives it a connection."""

from alembic import context

from amdkernel_mcp.history.database.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
