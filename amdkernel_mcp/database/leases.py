"""What all leases in the database have in common: rows that one process holds until a deadline, and renews.

A row of the table says who holds it (`holder`), until when by the clock of the database (`lease_until`), and under
which number (`fence`): each later write names that number, and a late one is not taken. Who lives renews its rows;
what was not renewed in time, or is held by a process that has ended, is over and another may have it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Table, update

from amdkernel_mcp.database.holder import is_dead

LEASE_S = 30.0

Moment = TypeVar("Moment", float, ColumnElement[float])


def deadline(now: Moment) -> Moment:
    """Until when a lease is held that is taken or renewed now, a number or a part of a statement."""
    return now + LEASE_S


def is_over(row: Row[Any], now: float, holder: str) -> bool:
    """Whether another may have the row. `holder`: this process, which lives."""
    if row.lease_until <= now:
        return True
    return bool(row.holder != holder) and is_dead(row.holder)


def mend_deadline(connection: Connection, table: Table, row: Row[Any], now: float, *same: ColumnElement[bool]) -> None:
    """Bring a deadline back that is too far away because the clock was set back: who lives renews it in time.

    `same`: what finds the row.
    """
    if row.lease_until > now + 2 * LEASE_S:
        connection.execute(update(table).where(*same).values(lease_until=deadline(now)))


def renew(connection: Connection, table: Table, now: Moment, *mine: ColumnElement[bool]) -> int:
    """Hold the rows that `mine` finds for LEASE_S more. Returns how many there are: none, and the lease is lost."""
    return int(connection.execute(update(table).where(*mine).values(lease_until=deadline(now))).rowcount)
