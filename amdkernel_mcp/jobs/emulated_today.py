"""For how long jobs of each user ran on emulators in the last day. In a file, or a restart would be a new budget."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.request import is_emulator

DAY_S = 86400.0
_TOGETHER_S: Final = 60.0
"""Jobs that end within it are one entry, so that a user has 1,440 at most."""
_VERSION: Final = 1


class EmulatedToday:
    """Not thread-safe: the store has a lock. What other servers of a team emulated is not in it."""

    def __init__(
        self, clock: Callable[[], float], file: Path | None = None, today: Callable[[], float] = time.time
    ) -> None:
        """`clock`: of jobs. `file`: where it is kept; one that cannot be read is as none. `today`: since 1970."""
        self._clock, self._today, self._file = clock, today, file
        self._used: dict[str, deque[tuple[float, float]]] = {}  # by user: when it ended, and its seconds
        if file is not None:
            with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
                self._load(file)

    def add(self, job: Job, seconds: float) -> None:
        """Count a job that has ended."""
        if not is_emulator(job.lane):
            return
        mine = self._used.setdefault(job.owner, deque())
        if mine and self._clock() - mine[-1][0] < _TOGETHER_S:
            mine[-1] = (mine[-1][0], mine[-1][1] + seconds)
        else:
            mine.append((self._clock(), seconds))
        self._save()

    def of(self, owner: str, running: Iterable[Job]) -> tuple[float, float]:
        """The seconds, those of what runs included, and in how many seconds the first of them are a day old."""
        now_s, mine = self._clock(), self._used.get(owner, deque())
        while mine and now_s - mine[0][0] >= DAY_S:
            mine.popleft()
        ages_s = [now_s - (job.begun_s or now_s) for job in running if job.owner == owner and is_emulator(job.lane)]
        return sum(seconds for _, seconds in mine) + sum(ages_s), mine[0][0] + DAY_S - now_s if mine else DAY_S

    def _load(self, file: Path) -> None:
        saved = json.loads(file.read_bytes())
        if saved["version"] != _VERSION:
            return
        ago_s = self._clock() - self._today()
        now_s = self._today()
        for owner, entries in saved["used"].items():
            mine = [(float(at), float(seconds)) for at, seconds in entries if 0 <= now_s - float(at) < DAY_S]
            self._used[str(owner)] = deque((at + ago_s, seconds) for at, seconds in mine)

    def _save(self) -> None:
        """A disk that is full costs what a restart would forget, and nothing now."""
        if self._file is None:
            return
        since_s = self._today() - self._clock()
        used = {owner: [(at + since_s, seconds) for at, seconds in mine] for owner, mine in self._used.items() if mine}
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
                json.dump({"version": _VERSION, "used": used}, opened)
            new.replace(self._file)
