"""The verbs on attempts: list, show, note, export, verify, replay, prune. Commands and tools call them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from amdkernel_mcp.errors import AmdkernelError, DocumentationError, HistoryError
from amdkernel_mcp.kernel_source import is_attempt
from amdkernel_mcp.quoting import harmless
from amdkernel_mcp.results.history import AttemptList, AttemptShown, Export, Lesson, Pruned, Replay
from amdkernel_mcp.results.history import ListedAttempt as Line
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.rewards import RewardList, RewardOfAttempt
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt
    from amdkernel_mcp.history.export import Exported
    from amdkernel_mcp.history.history import History, StoredRecord
    from amdkernel_mcp.history.leaderboard import BestOfUser, SameText, TimedAttempt
    from amdkernel_mcp.history.lessons import Lesson as KeptLesson
    from amdkernel_mcp.history.recorder import Recorder
    from amdkernel_mcp.results.documentation import Card, SearchResult
    from amdkernel_mcp.results.job_answer import JobAnswer
    from amdkernel_mcp.results.kernels import CompileResult
    from amdkernel_mcp.results.server import BestTime
    from amdkernel_mcp.reward import RewardOptions

_O = TypeVar("_O")

MOST_LISTED = 200
MOST_ON_BOARDS = 1000
MOST_IN_PLOT = 2000
MOST_LESSONS = 3
"""In one answer of a search."""


@dataclass(frozen=True)
class RecordedCompile:
    """A compile as it was, with its flags."""

    result: CompileResult
    flags: tuple[str, ...] | None


class Verbs(Protocol):
    """What a replay needs of the engine."""

    def repeat(
        self,
        attempt: Attempt,
        *,
        source: str,
        baseline: str | None,
        problem: str,
        target: str | None,
        work: Work,
    ) -> JobAnswer:
        """Run the verb of `attempt` again."""

    def problem_hash(self, name: str, by: str) -> str | None:
        """The hash of the problem of this name as it is now; None where there is none."""


class Attempts:
    """The attempts of one data folder. Methods raise DatabaseError, and HistoryError for what is not there."""

    def __init__(self, recorder: Recorder, verbs: Verbs) -> None:
        self._recorder = recorder
        self._verbs = verbs

    def list(
        self,
        *,
        by: str | None = None,
        problem: str | None = None,
        before: str | None = None,
        limit: int = 20,
        **more: str | None,
    ) -> AttemptList:
        """The last attempts, newest first, at most 200. `more`: `verdict`, `target` and `whose` of `History.list`."""
        limit = max(1, min(limit, MOST_LISTED))
        found = self._history.list(by=by, problem=problem, before=before, limit=limit + 1, **more)
        shown = [
            Line.model_validate(asdict(each) | {"note": each.note and harmless(each.note)}) for each in found[:limit]
        ]
        return AttemptList(attempts=shown, next=shown[-1].id if len(found) > limit else None)

    def best(self, *, by: str) -> Sequence[BestTime]:
        """The fastest kernels of one user: one for each problem, target and kind of evidence, at most 200."""
        return self._history.best(by, MOST_LISTED)

    def newest(self) -> int:
        """Another number once an attempt was recorded."""
        return self._history.newest()

    def best_of_users(self) -> Sequence[BestOfUser]:
        """The fastest kernels of all users, the newest 1000: who may see which is the caller's to decide."""
        return self._history.best_of_users(MOST_ON_BOARDS)

    def timed(self, problem: str) -> Sequence[TimedAttempt]:
        """The newest 2000 timed attempts of all users on a problem of this name, oldest first."""
        return self._history.timed(problem, MOST_IN_PLOT)

    def same_texts(self, sources: Sequence[str], *, by: str, problem: str) -> Sequence[SameText]:
        """A user's attempts on a problem with one of these texts, named by sha256, newest first."""
        return self._history.same_texts(sources, by=by, problem=problem)

    def show(self, name: str, *, other: str | None = None, by: str | None = None) -> AttemptShown:
        """One attempt with its source, its lessons and the difference from its parent's source, or from `other`'s."""
        from amdkernel_mcp.history.signing import fingerprint

        stored = self._history.find(name, by=by)
        attempt, source = stored.attempt, self._text(stored.attempt.source)
        compared = self._compared_with(attempt, other, by)
        return AttemptShown(
            attempt=attempt.model_dump(mode="json"),
            source=source,
            diff=self._diff(compared, attempt, source) if compared else None,
            compared_with=compared.id if compared else None,
            lessons=[_lesson(each) for each in self._history.lessons(attempt.id)],
            key=fingerprint(stored.public_key),
        )

    def named_source(self, text: str | None, file_name: str, *, by: str) -> tuple[str | None, str]:
        """A kernel's text and file name; those of an attempt where the text is `attempt:ID`. Raises HistoryError."""
        if text is None or not is_attempt(text):
            return text, file_name
        attempt = self._history.find(text.strip().partition(":")[2], by=by).attempt
        return self._text(attempt.source), attempt.file_name

    def recorded_compile(self, name: str, *, by: str) -> RecordedCompile | None:
        """What the compile of `attempt:ID` answered; None for an attempt of another verb. Raises HistoryError."""
        from pydantic import ValidationError

        from amdkernel_mcp.results.kernels import CompileResult

        attempt = self._history.find(name.strip().partition(":")[2], by=by).attempt
        if attempt.verb != "compile":
            return None
        try:
            result = CompileResult.model_validate(attempt.answer)
        except ValidationError:  # of another version: its source is compiled again
            return None
        return RecordedCompile(result, tuple(attempt.ran.flags) if attempt.ran else None)

    def whole_id(self, name: str, *, by: str) -> str:
        """The id of the attempt of `by` that a name stands for. Raises HistoryError where there is none."""
        return self._history.find(name, by=by).attempt.id

    def note(self, name: str, text: str, *, by: str | None = None) -> Lesson:
        """Keep what was learnt from an attempt."""
        return _lesson(self._history.note(name, text, by=by))

    def search(self, query: str, pages: Callable[[], SearchResult], *, by: str) -> SearchResult:
        """What `pages` finds in the documentation, with the user's own lessons, which need no index."""
        from amdkernel_mcp.results.documentation import SearchResult

        try:
            return self.with_lessons(pages(), by=by)
        except DocumentationError as error:
            found = self.with_lessons(SearchResult(query=query, results=[], note=_with_hint(error)), by=by)
            if not found.lessons:
                raise
            return found

    def with_lessons(self, result: SearchResult, *, by: str) -> SearchResult:
        """The answer of a search with the user's own lessons. A history that cannot be read costs them alone."""
        if not self._recorder.has_lessons():
            return result
        from amdkernel_mcp.history.quoted import lesson_hit

        try:
            found = self._history.search_lessons(result.query, by=by, limit=MOST_LESSONS)
        except AmdkernelError as error:
            note = " ".join(filter(None, [result.note, f"Your lessons cannot be searched: {error.message}."]))
            return result.model_copy(update={"note": note})
        return result.model_copy(update={"lessons": [lesson_hit(*each) for each in found]})

    def page(self, name: str, *, by: str | None = None) -> Card:
        """An attempt as a page to read in pieces."""
        from amdkernel_mcp.history.quoted import page_of

        return page_of(self.show(name, by=by))

    def prune(self) -> Pruned:
        """Remove the files that no recent attempt names. The caches are the caller's to prune."""
        return Pruned(**asdict(self._history.prune()), cache_bytes=0)

    def export(self, name: str, folder: Path | None = None) -> Export:
        """Write a folder, by default attempt-ID, that anybody can verify."""
        from amdkernel_mcp.history.export import verify_export, write_export
        from amdkernel_mcp.history.trusted_keys import OWN

        stored = self._history.find(name)
        folder = folder or Path(f"attempt-{stored.attempt.id}")
        write_export(stored, self._history.artefacts, folder)
        return _exported(folder, verify_export(folder), known=True, owner=OWN)

    def rewards(
        self,
        names: Sequence[str],
        *,
        exports: Sequence[tuple[bytes, bytes]] = (),
        options: RewardOptions | None = None,
        by: str | None = None,
    ) -> RewardList:
        """The rewards of attempts, or of folders of exports, and of exported records with their signatures.

        `by`: only this user's attempts can be named. Raises HistoryError for a record that this server did not sign.
        """
        from amdkernel_mcp.history.signed import exported_record, record_in, stored_record
        from amdkernel_mcp.reward import RewardOptions, rewards

        options = options or RewardOptions()
        found = [
            record_in(self._history, Path(name))
            if by is None and (Path(name) / "attempt.json").is_file()
            else stored_record(self._history, name, by=by)
            for name in names
        ]
        found += [exported_record(self._history, record, signature) for record, signature in exports]
        values = rewards([attempt.model_dump(mode="json") for attempt in found], options)
        shown = [
            RewardOfAttempt(
                attempt=attempt.id,
                verb=attempt.verb,
                verdict=attempt.verdict,
                reward=round(each.value, 6),
                because=each.because,
            )
            for attempt, each in zip(found, values, strict=True)
        ]
        return RewardList(rewards=shown, modelled=options.modelled)

    def replay(self, name: str, *, target: str | None = None, work: Work | None = None) -> Replay:
        """Run an attempt, or an export, again; on `target` instead of the one it names. Says whether it holds."""
        attempt, read = self._open(name)
        with tempfile.TemporaryDirectory(prefix="amdkernel-replay-") as folder:
            problem = _restore(attempt, read, Path(folder))
            answer = self._verbs.repeat(
                attempt,
                source=_decoded(read(attempt.source)),
                baseline=_decoded(read(attempt.baseline)) if attempt.baseline else None,
                problem=str(problem or ""),
                target=target or attempt.target,
                work=work or Work(),
            )
        return _compared(attempt, answer, self._changes(attempt, answer))

    @property
    def _history(self) -> History:
        return self._recorder.history()

    def _open(self, name: str) -> tuple[Attempt, Callable[[str], bytes]]:
        """The attempt with the reader of its artefacts: of an export where `name` is a folder."""
        if (Path(name) / "attempt.json").is_file():
            from amdkernel_mcp.history.export import verify_export

            exported = verify_export(Path(name))
            return exported.attempt, exported.artefacts.__getitem__
        stored: StoredRecord = self._history.find(name)
        return stored.attempt, self._history.artefacts.read

    def _compared_with(self, attempt: Attempt, other: str | None, by: str | None) -> Attempt | None:
        if name := other or attempt.parent:
            return self._history.find(name, by=by).attempt
        return None

    def _diff(self, before: Attempt, after: Attempt, source: str) -> str:
        from amdkernel_mcp.history.difference import unified

        try:
            text = self._text(before.source)
        except HistoryError as error:
            return f"{before.id} cannot be compared: {error.message}"
        return unified(text, source, (f"{before.id}/{before.file_name}", f"{after.id}/{after.file_name}"))

    def _changes(self, then: Attempt, answer: JobAnswer) -> Sequence[str]:
        """What is not as it was: a verdict may differ for that reason."""
        changed = []
        if then.problem and then.problem.hash:
            here = self._verbs.problem_hash(then.problem.name, then.by)
            changed += ["problem"] if here not in (None, then.problem.hash) else []
        try:
            now = self._history.find(answer.attempt).attempt if answer.attempt else None
        except AmdkernelError:
            now = None
        if now and now.ran and then.ran:
            names = ("image", "toolchain", "code_object")
            changed += [name for name in names if getattr(now.ran, name) != getattr(then.ran, name)]
        return changed + (["version"] if now and now.version != then.version else [])

    def _text(self, name: str) -> str:
        return _decoded(self._history.artefacts.read(name))


def verify(folder: Path, *, key: str | None = None, data_dir: Path | None = None) -> Export:
    """Verify the signature and the hashes of an export; needs no server. Raises HistoryError with what is wrong.

    `key`: the fingerprint that the signing key must have. `data_dir`: where the keys are that are known here. Without
    either the answer says that an unknown key signed it: whoever changes a record can sign it with a key of their own.
    """
    from amdkernel_mcp.history.export import verify_export
    from amdkernel_mcp.history.trusted_keys import owner_of

    exported = verify_export(folder)
    if key is not None:
        if key.lower() != exported.fingerprint:
            raise HistoryError(f"the key {exported.fingerprint} signed this export, not {key[:100]}")
        return _exported(folder, exported, known=True)
    owner = owner_of(exported.fingerprint, data_dir) if data_dir else None
    return _exported(folder, exported, known=owner is not None, owner=owner)


def _with_hint(error: AmdkernelError) -> str:
    return f"{error.message}: {error.hint}" if error.hint else error.message


def _exported(folder: Path, exported: Exported, *, known: bool, owner: str | None = None) -> Export:
    attempt = exported.attempt
    return Export(
        folder=str(folder),
        attempt=attempt.id,
        verb=attempt.verb,
        verdict=attempt.verdict,
        by=attempt.by,
        created=attempt.created,
        key=exported.fingerprint,
        known_key=known,
        key_owner=owner,
        warnings=list(exported.warnings),
    )


def _restore(attempt: Attempt, read: Callable[[str], bytes], folder: Path) -> Path | None:
    """The problem as it was, in a folder of the same name."""
    if attempt.problem is None:
        return None
    known = {"problem.toml", "reference.py"}
    name = attempt.problem.name
    if set(attempt.problem.files) != known or set("/\0") & set(name) or name in ("", ".", "..") or len(name) > 100:
        raise HistoryError(f"attempt {attempt.id} names files that a problem does not have")
    problem = folder / attempt.problem.name
    problem.mkdir()
    for name, digest in attempt.problem.files.items():
        (problem / name).write_bytes(read(digest))
    return problem


def read_options(kind: type[_O], given: Mapping[str, Any]) -> _O:
    """The options of a record, which may be that of an export by anybody. Raises HistoryError."""
    from pydantic import TypeAdapter, ValidationError

    unknown = set(given) - set(getattr(kind, "__dataclass_fields__", ()))
    try:
        if not unknown:
            return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as error:
        unknown = {str(error.errors()[0]["loc"][0])}
    raise HistoryError(f"the options of this attempt cannot be used: {min(unknown)[:100]}")


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise HistoryError("the kernel file of this attempt is not UTF-8 text") from None


def _lesson(kept: KeptLesson) -> Lesson:
    return Lesson(
        attempt=kept.attempt, problem=kept.problem, kind=kept.kind, created=kept.created, text=harmless(kept.text)
    )


def _compared(attempt: Attempt, answer: JobAnswer, changed: Sequence[str]) -> Replay:
    from amdkernel_mcp.history.recorder import verdict_of

    now = verdict_of(answer)
    holds, why = now == attempt.verdict, ""
    if holds and attempt.verb in ("benchmark", "tune", "tune_row"):
        holds, why = _same_speed(attempt.answer, answer.model_dump(mode="json"))
    reason = f"{now} again{why}" if holds else f"it was {attempt.verdict} and is {now} now{why}"
    if changed:
        reason += f" (changed since: {', '.join(changed)})"
    return Replay(
        holds=holds,
        reason=f"{reason}: {said}" if (said := getattr(answer, "reason", "")) else reason,
        replayed=attempt.id,
        verdict_then=attempt.verdict,
        verdict_now=now,
        changed=list(changed),
        target=answer.target,
        isolation=answer.isolation,
        attempt=answer.attempt,
        not_recorded=answer.not_recorded,
    )


def _same_speed(then: dict[str, Any], now: dict[str, Any]) -> tuple[bool, str]:
    """Whether the intervals of the two speed-ups overlap; without a baseline there is nothing to compare."""
    a, b = _interval(then), _interval(now)
    if a.value is None or b.value is None or a.low is None or a.high is None or b.low is None or b.high is None:
        return True, ""
    words = f", {a.value:.2f} times as fast then and {b.value:.2f} now"
    return a.low <= b.high and b.low <= a.high, words


def _interval(answer: dict[str, Any]) -> Interval:
    try:
        return Interval.model_validate(answer.get("speedup") or {})
    except ValueError:
        raise HistoryError("the speed-up of this attempt is not an interval") from None
