"""Which jobs of a user have not ended, for whoever revokes their tokens. Needs the database alone, no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from amdkernel_mcp.database.open_database import reading
from amdkernel_mcp.database.tables import jobs
from amdkernel_mcp.jobs.job import FINISHED

if TYPE_CHECKING:
    from sqlalchemy import Engine


def unfinished_jobs(database: Engine, user: str) -> list[str]:
    """The ids, oldest first, of what servers run or will run for the user of a token. Raises DatabaseError."""
    mine = (jobs.c.service == "http", jobs.c.owner == f"user:{user}", jobs.c.status.not_in(FINISHED))
    with reading(database) as connection:
        return [row.id for row in connection.execute(select(jobs.c.id).where(*mine).order_by(jobs.c.created))]
