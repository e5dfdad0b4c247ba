"""Records the verbs of an engine. A record that cannot be made is a remark in the answer, never an error."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.kernels import BenchmarkResult, CompileResult, ProfileResult

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.history.attempt import Attempt, ProblemUsed, Ran, Verb
    from amdkernel_mcp.history.history import History
    from amdkernel_mcp.problems.problem import Problem

LOCAL = "local"
"""Who acts where there are no users."""

_A = TypeVar("_A", bound=JobAnswer)
_PRUNING_S = 10.0  # that `close` waits for the removal of old files

_NOT_RECORDED = frozenset({"isa", "status", "job_id", "progress", "attempt", "not_recorded", "artefacts", "left_out"})


@dataclass(frozen=True)
class Tried:
    """What the caller gave to a verb."""

    verb: Verb
    source: str
    file_name: str
    by: str = LOCAL
    problem: Problem | None = None
    baseline: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    """Where it had to be known before: rows name the sweep that they belong to."""
    parent: str | None = None
    """None: the user's attempt before this one on the problem."""
    ran: Callable[[], Sequence[Ran]] = tuple
    """What ran: the candidate, then the baseline. Called while the record is made, so that its failure costs that."""


class Recorder:
    """Opens the history while the first work runs, so that its start costs no time. Thread-safe."""

    def __init__(self, settings: Settings, *, daily: Callable[[], object] = lambda: None) -> None:
        """`daily`: called when the history is opened, once a day, after old files were removed."""
        self._settings = settings
        self._daily = daily
        self._lock = threading.Lock()
        self._opening: Future[History] | None = None
        self._thread: threading.Thread | None = None

    def warm_up(self) -> None:
        """Begin to open the history, where that has not begun yet."""
        with self._lock:
            if self._opening is None:
                self._opening = Future()
                self._thread = threading.Thread(target=self._open, args=(self._opening,), name="history", daemon=True)
                self._thread.start()

    def history(self) -> History:
        """The history. Raises DatabaseError, HistoryError, SettingsError."""
        self.warm_up()
        assert self._opening is not None
        return self._opening.result()

    def has_lessons(self) -> bool:
        """Whether there may be lessons. False is sure, and spares a search at a shell the opening of the history."""
        file = self._settings.data_dir / "history.sqlite3"
        if self._settings.database is not None or self._opening is not None:
            return True
        if not file.is_file():
            return file.parent.exists() and not file.parent.is_dir()
        try:
            with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                return connection.execute("SELECT 1 FROM lessons LIMIT 1").fetchone() is not None
        except sqlite3.Error:
            return True  # what is wrong with it is said where it is opened

    def record(self, tried: Tried, answer: _A) -> _A:
        """The answer with the id of its record, or with the reason why there is none."""
        whole, answer = answer, _without_samples(answer)
        try:
            history = self.history()
            history.written.check(tried.by)
            parent = history.parent(tried.by, tried.problem.name if tried.problem else None, tried.parent)
            if parent is not None and (note := _changed_problem(history, tried, parent.id)) is not None:
                whole, answer = _noted(whole, note), _noted(answer, note)
            attempt = _attempt(history, tried, whole, parent.id if parent else tried.parent)
            history.add(attempt, parent_source=parent.source if parent else None)
        except AmdkernelError as error:
            self._forget_failed()
            return answer.model_copy(update={"not_recorded": error.message})
        except OSError as error:
            return answer.model_copy(update={"not_recorded": f"the artefacts cannot be written: {error.strerror}"})
        except Exception as error:  # whatever it is, the answer was worked out and is given
            logging.getLogger(__name__).exception("an attempt was not recorded")
            return answer.model_copy(update={"not_recorded": f"internal error ({type(error).__name__})"})
        return answer.model_copy(update={"attempt": attempt.id})

    def close(self) -> None:
        """Close the history, if it was opened."""
        with self._lock:
            opening, self._opening = self._opening, None
        if self._thread:
            self._thread.join(_PRUNING_S)
        if opening and opening.exception() is None:
            opening.result().close()

    def _open(self, opening: Future[History]) -> None:
        from amdkernel_mcp.history.history import History

        try:
            opening.set_result(history := History(self._settings))
        except BaseException as error:  # not swallowed: `history` raises it
            opening.set_exception(error)
            return
        with contextlib.suppress(AmdkernelError, OSError):  # the next start tries again
            if history.prune_daily():
                self._daily()

    def _forget_failed(self) -> None:
        """The next call tries again: a disk may be writable by then."""
        with self._lock:
            if self._opening and self._opening.exception() is not None:
                self._opening = None


def _without_samples(answer: _A) -> _A:
    """The answer without the many numbers that are only in its record."""
    if not isinstance(answer, BenchmarkResult) or answer.timing is None:
        return answer
    return answer.model_copy(update={"timing": answer.timing.model_copy(update={"samples_us": []})})


def _changed_problem(history: History, tried: Tried, parent: str) -> str | None:
    """What to say where another user has changed the problem since the attempt before; None where it is the same."""
    if tried.problem is None or tried.problem.author is None:
        return None
    before = history.find(parent).attempt.problem
    if before is None or before.name != tried.problem.name or before.hash == tried.problem.hash:
        return None
    return (
        f"{tried.problem.author} has changed {tried.problem.name} since your attempt {parent}: "
        "what was judged before is about another problem"
    )


def _noted(answer: _A, note: str) -> _A:
    notes = getattr(answer, "notes", None)
    return answer if notes is None else answer.model_copy(update={"notes": [*notes, note]})


def _attempt(history: History, tried: Tried, answer: _A, parent: str | None) -> Attempt:
    from amdkernel_mcp.history.attempt import Attempt, new_id, now, storable

    keep = history.artefacts.keep
    ran = [*tried.ran(), None, None]
    return Attempt(
        id=tried.id or new_id(),
        verb=tried.verb,
        created=now(),
        by=tried.by,
        parent=parent,
        version=__version__,
        file_name=storable(tried.file_name),
        source=keep(tried.source.encode()),
        baseline=None if tried.baseline is None else keep(tried.baseline.encode()),
        problem=None if tried.problem is None else _problem(history, tried.problem),
        ran=ran[0],
        baseline_ran=ran[1],
        target=answer.target,
        options=storable(tried.options),
        verdict=verdict_of(answer),
        answer=storable(answer.model_dump(mode="json", by_alias=True, exclude=set(_NOT_RECORDED))),
    )


def _problem(history: History, problem: Problem) -> ProblemUsed:
    from amdkernel_mcp.history.attempt import ProblemUsed

    texts = {"problem.toml": problem.declaration, "reference.py": problem.reference}
    return ProblemUsed(
        name=problem.name,
        files={name: history.artefacts.keep(text.encode()) for name, text in texts.items()},
        hash=problem.hash,
    )


def verdict_of(answer: JobAnswer) -> str:
    """The verdict of an answer in one word; that of a compile and of a profile is ours."""
    if isinstance(answer, CompileResult):
        return "compiled" if answer.ok else "compile_error"
    if isinstance(answer, ProfileResult):
        return "profiled" if answer.kernels else "not_profiled"
    return getattr(answer, "verdict", None) or "not_measured"
