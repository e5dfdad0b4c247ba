"""The fastest kernels of a team: a board for each problem, GPU, kind of evidence and case, and its times as a plot.

Whoever may use a problem sees who is how fast on it. The attempts themselves stay their owner's and an admin's.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import AmdkernelError

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.history.leaderboard import BestOfUser, TimedAttempt
    from amdkernel_mcp.pages.sign_in import Viewer
    from amdkernel_mcp.pages.status import Running
    from amdkernel_mcp.results.machine import TargetInfo

HASH_KEPT_S = 30.0  # a problem is read to know its hash
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class Board:
    """The best of each user, fastest first. `gpu`: a product, or a target that is gone. `is_now`: whether the problem
    is still as it was judged; None where the viewer has none of this name."""

    problem: str
    gpu: str
    evidence: str
    case: str | None
    is_now: bool | None
    entries: Sequence[BestOfUser]

    @property
    def best(self) -> BestOfUser:
        """The fastest of all."""
        return self.entries[0]

    @property
    def next_best(self) -> BestOfUser | None:
        """The fastest of another user."""
        return self.entries[1] if len(self.entries) > 1 else None

    def overlaps(self, entry: BestOfUser) -> bool:
        """Whether the interval of this entry's time and the best one's have times in common: no verdict then."""
        best = self.best
        if entry is best or entry.low_us is None or best.high_us is None:
            return False
        return entry.low_us <= best.high_us

    @property
    def rivals(self) -> Sequence[BestOfUser]:
        """The best of other users that are not known to be slower."""
        return [each for each in self.entries if self.overlaps(each)]

    @property
    def is_ahead(self) -> bool:
        """Whether the best is known to be faster: than its baseline, and than the best of every other user."""
        return self.best.is_decided and not self.rivals

    def of(self, user: str) -> BestOfUser | None:
        """The fastest of this user."""
        return next((each for each in self.entries if each.it.by == user), None)

    @property
    def tried(self) -> int:
        """Timed attempts."""
        return sum(each.tried for each in self.entries)


class Hashes:
    """The hashes of problems as users have them now, each kept for 30 s. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[float, str | None]] = {}

    def of(self, engine: Engine, name: str, user: str) -> str | None:
        """None where this user has no problem of this name."""
        now = self._clock()
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if now - each[0] < HASH_KEPT_S}
            if (name, user) in self._known:
                return self._known[name, user][1]
        found = None
        if _PLAIN.fullmatch(name):  # a name that a user chose must not name a path of this server
            try:
                found = engine.problem_hash(name, user)
            except AmdkernelError:
                found = None
        with self._lock:
            self._known[name, user] = now, found
        return found


@dataclass(frozen=True)
class Sight:
    """What a viewer may see of the attempts of others."""

    engine: Engine
    user: str
    admin: bool
    hashes: Hashes

    def sees(self, attempt: TimedAttempt) -> bool:
        """Their own, those on the very problem that they have as well, and for an admin all."""
        if self.admin or attempt.by == self.user:
            return True
        return attempt.problem_hash is not None and self.now(attempt.problem) == attempt.problem_hash

    def now(self, problem: str) -> str | None:
        """The hash of the viewer's problem of this name."""
        return self.hashes.of(self.engine, problem, self.user)


class Boards:
    """The boards of one server, read again once an attempt was recorded. Thread-safe."""

    def __init__(self) -> None:
        self._hashes = Hashes()
        self._lock = threading.Lock()
        self._known: tuple[int, Sequence[BestOfUser]] | None = None

    def sight(self, running: Running, viewer: Viewer) -> Sight:
        """What this viewer sees of others."""
        return Sight(running.engine, viewer.user, viewer.is_admin, self._hashes)

    def seen_by(self, running: Running, viewer: Viewer) -> list[Board]:
        """The boards as this viewer may see them. Raises DatabaseError, and what asking for targets raises."""
        attempts = running.engine.attempts
        newest = attempts.newest()
        with self._lock:
            known = self._known
        if known is None or known[0] != newest:
            known = newest, attempts.best_of_users()
            with self._lock:
                self._known = known
        return boards(known[1], self.sight(running, viewer), gpus_of(running.targets.get()))


def gpus_of(targets: Sequence[TargetInfo]) -> Mapping[str, str]:
    """The product of each target: cards of one product share a board."""
    return {
        each.name: each.gpu if each.kind == "gpu" else f"{each.gpu.removesuffix(' (emulated)')}, emulated"
        for each in targets
        if each.gpu not in ("", "unknown")
    }


def boards(found: Sequence[BestOfUser], sight: Sight, gpus: Mapping[str, str]) -> list[Board]:
    """What the viewer may see, the board with the newest best attempt first. `found`: newest first."""
    groups: dict[tuple[str | None, ...], list[BestOfUser]] = {}
    for each in found:
        it = each.it
        if sight.sees(it):
            key = (it.problem, it.problem_hash, gpus.get(it.target, it.target), it.evidence, it.timed_case)
            groups.setdefault(key, []).append(each)
    made = []
    for (problem, judged, gpu, evidence, case), rows in groups.items():
        now = sight.now(problem or "")
        is_now = None if now is None or judged is None else now == judged
        made.append(Board(problem or "", gpu or "", evidence or "", case, is_now, _one_of_each(rows)))
    return made


def _one_of_each(rows: Sequence[BestOfUser]) -> list[BestOfUser]:
    """A user's fastest of all targets of the board, with all that was tried on them."""
    of: dict[str, BestOfUser] = {}
    tried: dict[str, int] = {}
    for each in sorted(rows, key=lambda row: row.it.time_us):
        of.setdefault(each.it.by, each)
        tried[each.it.by] = tried.get(each.it.by, 0) + each.tried
    return [replace(each, tried=tried[by]) for by, each in of.items()]


def current(all_boards: Sequence[Board]) -> list[Board]:
    """For each problem, GPU and kind of evidence one board: of the problem as it is now, else the newest."""
    chosen: dict[tuple[str, str, str], Board] = {}
    for each in all_boards:
        key = each.problem, each.gpu, each.evidence
        if key not in chosen or (each.is_now and not chosen[key].is_now):
            chosen[key] = each
    return sorted(chosen.values(), key=lambda board: (board.problem, board.gpu, board.evidence))
