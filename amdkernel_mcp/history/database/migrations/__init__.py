"""The changes of the tables, as Alembic runs them."""
