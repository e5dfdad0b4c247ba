"""How much calls of each user have added to the history in the last 24 hours: no one fills the disk of a team."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import Engine, func, select

from amdkernel_mcp.database.open_database import reading
from amdkernel_mcp.database.tables import attempts
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.retention import DAY_S

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings


@dataclass
class _User:
    """`files`: those that were counted, so that the same kernel is counted once."""

    added: deque[tuple[float, int]] = field(default_factory=deque)
    bytes: int = 0
    files: set[str] = field(default_factory=set)

    def add(self, when_s: float, record_bytes: int, files: Mapping[str, int]) -> None:
        size = record_bytes + sum(size for name, size in files.items() if name not in self.files)
        self.files.update(files)
        self.added.append((when_s, size))
        self.bytes += size


class WrittenToday:
    """Of this process, and of those before it: their records and kernel files are read when a user is first met.
    Thread-safe."""

    def __init__(
        self, settings: Settings, engine: Engine, size: Callable[[str], int], clock: Callable[[], float] = time.time
    ) -> None:
        """`size`: bytes of a file by its sha256. `clock`: seconds since 1970."""
        self._settings = settings
        self._engine = engine
        self._size = size
        self._clock = clock
        self._lock = threading.Lock()
        self._users: dict[str, _User] = {}

    def check(self, by: str) -> None:
        """Raises HistoryError for a user who has added what may be added in a day, DatabaseError."""
        most = self._settings.disk_mib_of(by)
        if most is None:
            return
        user, now_s = self._of(by), self._clock()
        with self._lock:
            while user.added and now_s - user.added[0][0] >= DAY_S:
                user.bytes -= user.added.popleft()[1]
            if not user.added:
                user.files.clear()
            if user.bytes < most << 20:
                return
            frees_s = user.added[0][0] + DAY_S - now_s
            raise HistoryError(
                f"quota of files a day: {user.bytes / 2**20:.0f} MiB of {most} MiB were added; the first of them are "
                f"a day old in {frees_s:.0f} s"
            )

    def add(self, by: str, record_bytes: int, files: Mapping[str, int]) -> None:
        """Count a record and its files by their sha256."""
        if self._settings.disk_mib_of(by) is not None:
            user = self._of(by)
            with self._lock:
                user.add(self._clock(), record_bytes, files)

    def _of(self, by: str) -> _User:
        with self._lock:
            if by in self._users:
                return self._users[by]
        found = self._read(by)
        with self._lock:
            return self._users.setdefault(by, found)

    def _read(self, by: str) -> _User:
        border = datetime.fromtimestamp(self._clock() - DAY_S, UTC).isoformat(timespec="milliseconds")
        wanted = select(attempts.c.created, attempts.c.source, func.length(attempts.c.record).label("bytes"))
        mine = (attempts.c.by == by, attempts.c.created >= border.replace("+00:00", "Z"))
        user = _User()
        with reading(self._engine) as connection:
            rows = connection.execute(wanted.where(*mine).order_by(attempts.c.number)).all()
        for row in rows:
            user.add(datetime.fromisoformat(row.created).timestamp(), row.bytes, {row.source: self._size(row.source)})
        return user
