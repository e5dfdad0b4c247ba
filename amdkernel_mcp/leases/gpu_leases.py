"""Leases of GPUs in the database, which all servers and command lines that share it respect.

A request is a row, and its number is the fence of the lease. Rows are granted in their order: an exclusive lease when
no other is held or was asked for before; a shared one when no exclusive one is held or was asked for before. A lease
that is not renewed ends at its deadline, by the clock of the database, or as soon as its process is known to be dead.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import ColumnElement, Connection, Engine, Row, case, delete, func, insert, select, text, update

from amdkernel_mcp.database.holder import new_holder
from amdkernel_mcp.database.leases import LEASE_S, deadline, is_over, mend_deadline, renew
from amdkernel_mcp.database.open_database import (
    database_now,
    now_in,
    reading,
    writing,
    writing_once,
)
from amdkernel_mcp.database.schema import open_tables
from amdkernel_mcp.database.tables import gpu_leases
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.leases.gpu_health import GpuHealth, mark_suspect

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings

DAY_S = 86400.0
_KEPT_S = 8 * DAY_S
PRUNE_EVERY = 64  # leases

Kind = Literal["exclusive", "shared"]


@dataclass(frozen=True)
class Asked:
    """A lease that was asked for. `fence`: its number, which each later write names."""

    fence: int
    gpu: str
    kind: Kind


@dataclass(frozen=True)
class Ahead:
    """What is before a lease that was asked for. `holder`: who has had the GPU for longest; None: no one has it."""

    count: int
    holder: str | None
    seconds: float


@dataclass(frozen=True)
class HeldLease:
    """A lease that is held, and for how long by now."""

    gpu: str
    kind: Kind
    owner: str
    seconds: float


@dataclass(frozen=True)
class PastLease:
    """A lease of the last days. Seconds before now: it was held from `from_s` to `until_s`, which is 0 for now."""

    gpu: str
    kind: Kind
    owner: str
    from_s: float
    until_s: float


class GpuLeases:
    """The leases that this process holds and waits for. Thread-safe. Methods raise DatabaseError."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: Engine | None = None
        self._changed: defaultdict[str, threading.Condition] = defaultdict(threading.Condition)  # by GPU
        self._holder = new_holder()
        self.health = GpuHealth(self._engine)

    def ask(self, gpu: str, kind: Kind, owner: str) -> tuple[Asked, bool]:
        """Ask for a lease, and whether it was granted at once."""
        with writing(self._engine()) as connection:
            granted = not any(_is_in_the_way(row, kind) for row in self._begin(connection, gpu))
            now = now_in(connection)
            row = {"gpu": gpu, "kind": kind, "owner": owner, "holder": self._holder}
            times = {"asked": now, "lease_until": deadline(now)} | ({"granted": now} if granted else {})
            made = connection.execute(insert(gpu_leases).values(row | times))
            key = made.inserted_primary_key
            assert key is not None
            asked = Asked(int(key[0]), gpu, kind)
            if granted:
                self._prune(connection, asked)
            return asked, granted

    def take(self, asked: Asked, *, woken: bool = False) -> bool:
        """Whether the lease is granted by now. Raises DatabaseError also when it was asked for too long ago.

        `woken`: another lease has just ended, as `wait` returned.
        """
        if not woken and self._is_in_vain(asked):
            return False
        with writing(self._engine()) as connection:
            rows = self._begin(connection, asked.gpu)
            granted = not any(_is_in_the_way(row, asked.kind, asked.fence) for row in rows)
            now = now_in(connection)
            change = {"lease_until": deadline(now)} | ({"granted": now} if granted else {})
            if not connection.execute(update(gpu_leases).where(*_open(asked)).values(change)).rowcount:
                raise DatabaseError(f"the place in the queue of GPU {asked.gpu} was lost: it was not renewed in time")
            if granted:
                self._prune(connection, asked)
            return granted

    def _is_in_vain(self, asked: Asked) -> bool:
        """Whether others hold the GPU, asked without a wait for writers. False also when the place must be renewed."""
        with reading(self._engine()) as connection:
            rows = _open_rows(connection, asked.gpu)
        mine = next((row for row in rows if row.fence == asked.fence), None)
        if mine is None or mine.lease_until < mine.now + LEASE_S / 2:
            return False
        in_the_way = [row for row in rows if _is_in_the_way(row, asked.kind, asked.fence)]
        return any(not is_over(row, row.now, self._holder) for row in in_the_way)

    def renew(self, asked: Asked) -> bool:
        """Whether the lease is still held; then it is for LEASE_S more."""
        with writing_once(self._engine()) as connection:
            now = now_in(connection)
            alive = (*_open(asked), gpu_leases.c.lease_until > now)
            return bool(renew(connection, gpu_leases, now, *alive))

    def end(self, asked: Asked) -> bool:
        """Give the lease back. False: it was lost before, and what was measured under it counts for nothing."""
        try:
            with writing_once(self._engine()) as connection:
                now = now_in(connection)
                held = (*_open(asked), gpu_leases.c.granted.is_not(None), gpu_leases.c.lease_until > now)
                return bool(connection.execute(update(gpu_leases).where(*held).values(ended=now)).rowcount)
        finally:
            self._wake(asked)

    def withdraw(self, asked: Asked) -> None:
        """Wait for it no longer."""
        with suppress(DatabaseError), writing(self._engine()) as connection:
            connection.execute(delete(gpu_leases).where(*_open(asked), gpu_leases.c.granted.is_(None)))
        self._wake(asked)

    def wait(self, asked: Asked, timeout_s: float) -> bool:
        """Whether a lease of this process on the same GPU ended within `timeout_s`."""
        with self._changed[asked.gpu]:
            return self._changed[asked.gpu].wait(timeout_s)

    def ahead(self, asked: Asked) -> Ahead:
        """How many hold the GPU or asked for it before, and who has held it for how many seconds."""
        with reading(self._engine()) as connection:
            rows = [row for row in _open_rows(connection, asked.gpu) if row.fence < asked.fence]
        first = min((row for row in rows if row.granted), key=lambda row: row.granted, default=None)
        return Ahead(len(rows), first and first.owner, first.now - first.granted if first else 0.0)

    def is_alone(self, asked: Asked) -> bool:
        """Whether no other lease of the GPU is held."""
        with reading(self._engine()) as connection:
            rows = _open_rows(connection, asked.gpu)
        return not any(row.granted is not None and row.fence != asked.fence for row in rows)

    def held(self) -> Sequence[HeldLease]:
        """The leases that are held now, by anyone, oldest first."""
        with reading(self._engine()) as connection:
            now = database_now(connection)
            granted = (gpu_leases.c.granted.is_not(None), gpu_leases.c.ended.is_(None), gpu_leases.c.lease_until > now)
            rows = connection.execute(select(gpu_leases).where(*granted).order_by(gpu_leases.c.granted)).all()
        return [HeldLease(row.gpu, row.kind, row.owner, max(0.0, now - row.granted)) for row in rows]

    def past(self, days: int) -> Sequence[PastLease]:
        """All leases that were held within the last days (at most 8 are kept), oldest first."""
        with reading(self._engine()) as connection:
            now = database_now(connection)
            until = _until(now)
            wanted = select(
                *(gpu_leases.c.gpu, gpu_leases.c.kind, gpu_leases.c.owner, gpu_leases.c.granted, until.label("until"))
            ).where(gpu_leases.c.granted.is_not(None), until > now - days * DAY_S)
            rows = connection.execute(wanted.order_by(gpu_leases.c.granted)).all()
        return [
            PastLease(row.gpu, row.kind, row.owner, min(now - row.granted, days * DAY_S), max(0.0, now - row.until))
            for row in rows
        ]

    def used_s(self, owner: str) -> tuple[float, float]:
        """GPU seconds of exclusive leases that a user held in the last 24 hours, and in how many seconds the oldest of
        them are a day old."""
        with reading(self._engine()) as connection:
            now = database_now(connection)
            until = _until(now)
            start = case((gpu_leases.c.granted < now - DAY_S, now - DAY_S), else_=gpu_leases.c.granted)
            of_owner = (
                gpu_leases.c.owner == owner,
                gpu_leases.c.kind == "exclusive",
                gpu_leases.c.granted.is_not(None),
                until > now - DAY_S,
            )
            total, oldest = connection.execute(select(func.sum(until - start), func.min(until)).where(*of_owner)).one()
        return float(total or 0.0), max(float(oldest) + DAY_S - now, 0.0) if oldest else 0.0

    def close(self) -> None:
        """Give everything back and close the connections."""
        with self._lock:
            engine, self._opened = self._opened, None
        if engine is None:
            return
        mine = (gpu_leases.c.holder == self._holder, gpu_leases.c.ended.is_(None))
        with suppress(DatabaseError), writing(engine) as connection:
            connection.execute(delete(gpu_leases).where(*mine, gpu_leases.c.granted.is_(None)))
            for gpu in connection.execute(select(gpu_leases.c.gpu).where(*mine)).scalars().all():
                mark_suspect(connection, gpu, "the server was stopped while a job used the GPU")
            connection.execute(update(gpu_leases).where(*mine).values(ended=database_now(connection)))
        engine.dispose()

    def _engine(self) -> Engine:
        with self._lock:
            if self._opened is None:
                self._opened = open_tables(self._settings, "the leases of GPUs")
            return self._opened

    def _begin(self, connection: Connection, gpu: str) -> list[Row[Any]]:
        """One process at a time decides about a GPU; what has ended is removed. What holds it or waits for it."""
        if connection.dialect.name == "postgresql":
            number = int.from_bytes(hashlib.sha256(gpu.encode()).digest()[:8], "big", signed=True)
            # Without a parameter the driver sends one message instead of three.
            connection.execute(text(f"select pg_advisory_xact_lock({number})"))
        return [row for row in _open_rows(connection, gpu) if not self._expired(connection, row)]

    def _expired(self, connection: Connection, row: Row[Any]) -> bool:
        this = gpu_leases.c.fence == row.fence
        if not is_over(row, row.now, self._holder):
            mend_deadline(connection, gpu_leases, row, row.now, this)
            return False
        if row.granted is None:
            connection.execute(delete(gpu_leases).where(this))
        else:
            connection.execute(update(gpu_leases).where(this).values(ended=min(row.now, row.lease_until)))
            mark_suspect(connection, row.gpu, "the process that used it ended without giving it back")
        return True

    def _prune(self, connection: Connection, granted: Asked) -> None:
        if granted.fence % PRUNE_EVERY == 0:
            connection.execute(delete(gpu_leases).where(gpu_leases.c.ended < now_in(connection) - _KEPT_S))

    def _wake(self, asked: Asked) -> None:
        with self._changed[asked.gpu]:
            self._changed[asked.gpu].notify_all()


def _open_rows(connection: Connection, gpu: str) -> Sequence[Row[Any]]:
    """What holds a GPU or waits for it, each with the time `now`."""
    found = select(gpu_leases, now_in(connection).label("now"))
    return connection.execute(found.where(gpu_leases.c.gpu == gpu, gpu_leases.c.ended.is_(None))).all()


def _until(now: float) -> ColumnElement[float]:
    """When a lease ended; now where it is held. One whose holder is gone ended at its deadline, also while no row says
    so: that is written when the GPU is next asked for, which may be days later."""
    deadline_or_now = case((gpu_leases.c.lease_until < now, gpu_leases.c.lease_until), else_=now)
    return func.coalesce(gpu_leases.c.ended, deadline_or_now)


def _is_in_the_way(row: Row[Any], kind: Kind, fence: int | None = None) -> bool:
    """Whether a row keeps the request with this fence from being granted. None: one that comes after all."""
    if row.fence == fence or (kind == "shared" and row.kind == "shared"):
        return False
    return row.granted is not None or fence is None or row.fence < fence


def _open(asked: Asked) -> tuple[Any, ...]:
    return gpu_leases.c.fence == asked.fence, gpu_leases.c.ended.is_(None)
