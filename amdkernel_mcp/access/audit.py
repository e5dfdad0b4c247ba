"""The audit log: who did what, from where, and whether it was refused. No secrets, no sources, no arguments.

What was done is written by a thread, in batches, so that no answer waits for it; a refusal is written at once. A log
that cannot be written costs no answer: the server's own log says so, with each refusal.
"""

from __future__ import annotations

import getpass
import logging
import os
import queue
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import delete, func, insert, or_, select

from amdkernel_mcp.database.open_database import reading, writing
from amdkernel_mcp.database.tables import audit
from amdkernel_mcp.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Engine

MOST_WAITING = 10_000
AGAIN_S = 60.0
_MOST_KEYS = 4096
_BATCH = 500
_PRUNE_EVERY_S = 3600.0
_LONGEST_TEXT = 200
_log = logging.getLogger(__name__)

Outcome = Literal["done", "failed", "refused"]


@dataclass(frozen=True)
class Event:
    """A line of the audit log. `at`: seconds since 1970 by the server's clock."""

    at: float
    user: str
    token: str | None
    address: str
    action: str
    target: str | None
    job: str | None
    attempt: str | None
    outcome: Outcome
    reason: str | None


def by_command(action: str, target: str | None = None) -> Event:
    """What a user of a shell did now with the server's database."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in a container
        user = str(os.getuid())
    return Event(time.time(), f"shell:{user}", None, "", action, target, None, None, "done", None)


class Repeated:
    """Lets one of the same refusals through each minute, so that no caller can fill the log. Of one thread alone."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], tuple[float, int]] = {}  # until when they are only counted, and how many

    def reason(self, reason: str, *key: str) -> str | None:
        """The reason with the number of those left out since the last line; None: this one is only counted."""
        now = time.monotonic()
        until, more = self._seen.get(key, (0.0, 0))
        if now < until:
            self._seen[key] = (until, more + 1)
            return None
        if len(self._seen) >= _MOST_KEYS:
            self._seen.clear()
        self._seen[key] = (now + AGAIN_S, 0)
        return f"{reason}, and {more} more since the last line" if more else reason


class AuditLog:
    """Writes and lists the audit log. Thread-safe. `close` writes what waits; the caller disposes of the engine."""

    def __init__(self, engine: Engine, *, keep_days: int) -> None:
        self._engine = engine
        self._keep_s = keep_days * 86400.0
        self._waiting: queue.Queue[Event | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._next_prune = 0.0

    def note(self, event: Event) -> None:
        """Write it soon. It is left out, and the server's log says so, when 10,000 others wait."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_waiting, name="audit", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            _log.warning("the audit log is behind: %s of %s is left out", event.action, _visible(event.user))

    def write(self, *events: Event) -> None:
        """Write these now. Raises nothing: a log that cannot be written is reported in the server's own."""
        rows = [_short(asdict(event)) for event in events]
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(audit), rows)
                if time.time() >= self._next_prune:
                    self._next_prune = time.time() + _PRUNE_EVERY_S
                    connection.execute(delete(audit).where(audit.c.at < time.time() - self._keep_s))
        except DatabaseError as error:
            _log.warning("%d lines of the audit log are lost: %s", len(rows), error.message)
            for event in events:
                if event.outcome == "refused":
                    _log.warning("refused: %s of %s from %s", event.action, _visible(event.user), event.address)

    def list(self, *, user: str | None = None, limit: int = 50) -> Sequence[Event]:
        """The last lines, newest first. Raises DatabaseError."""
        wanted = select(*(column for column in audit.c if column.name != "number"))
        if user is not None:
            wanted = wanted.where(audit.c.user == user)
        with reading(self._engine) as connection:
            found = connection.execute(wanted.order_by(audit.c.number.desc()).limit(limit))
            return [Event(**row._mapping) for row in found]

    def workers(self) -> Mapping[str, Event]:
        """The last line of each worker, `worker NAME connected` or `left`. Raises DatabaseError."""
        theirs = or_(*(audit.c.action.like(f"worker % {what}") for what in ("connected", "left")))
        last = select(func.max(audit.c.number)).where(theirs).group_by(audit.c.action)
        wanted = select(*(column for column in audit.c if column.name != "number")).where(audit.c.number.in_(last))
        with reading(self._engine) as connection:
            found = [Event(**row._mapping) for row in connection.execute(wanted.order_by(audit.c.number))]
        return {event.action.split(" ")[1]: event for event in found}

    def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._waiting.put(None)
            thread.join()

    def _write_waiting(self) -> None:
        while True:
            batch = [self._waiting.get()]
            with suppress(queue.Empty):
                while batch[-1] is not None and len(batch) < _BATCH:
                    batch.append(self._waiting.get_nowait())
            if events := [event for event in batch if event is not None]:
                self.write(*events)
            if batch[-1] is None:
                return


def _short(row: dict[str, object]) -> dict[str, object]:
    """Bounded and on one line, whatever a caller sent as a name."""
    return {name: _visible(value) if isinstance(value, str) else value for name, value in row.items()}


def _visible(text: str) -> str:
    text = text[:_LONGEST_TEXT]
    return text if text.isprintable() else ascii(text)[1:-1][:_LONGEST_TEXT]
