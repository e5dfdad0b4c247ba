"""Truncates an answer to what a model should read at once; the whole goes to a file that the answer names."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from amdkernel_mcp.cache_folder import answers_folder
from amdkernel_mcp.engine.verbs.shorten import STRINGS, Cut, Keep, KeepFirst, Step
from amdkernel_mcp.engine.verbs.table import VERBS
from amdkernel_mcp.profiling.brief import brief
from amdkernel_mcp.results.documentation import ReadResult, SearchResult
from amdkernel_mcp.results.history import AttemptList, AttemptShown
from amdkernel_mcp.results.job_answer import Artefact, JobAnswer
from amdkernel_mcp.results.jobs import JobResult
from amdkernel_mcp.results.kernels import ProfileResult
from amdkernel_mcp.results.port import PortResult
from amdkernel_mcp.results.quantity import Result
from amdkernel_mcp.server.delivery.short_search import short_search

LIMIT_BYTES = 8000
_BRIEF_BYTES = 2048  # of a port: verdict and lines; the HIP source is in the file

_R = TypeVar("_R", bound=Result)
_GOOD = frozenset({"correct", "warning", "note", "remark", "better", "same"})
_REASON_CHARS = 160
_TEXT_CHARS = (2000, 800, 300, 100)
_OF_AN_ATTEMPT = frozenset(
    {"format", "id", "verb", "created", "by", "parent", "version", "target", "verdict", "file_name"}
)
_SECTIONS_BYTES = 2000
_OF_A_SEARCH: tuple[Step, ...] = (
    Keep("near", 3),
    Cut("results", 420),
    Cut("lessons", 300),
    Cut("results", 320),
    Keep("results", 10),
    Cut("exact", 1200),
    Cut("results", 200),
    Keep("results", 6),
    *STRINGS,
)


def size(result: Result) -> int:
    """Bytes of the answer as JSON."""
    return len(result.model_dump_json(by_alias=True).encode())


def truncate(result: _R, folder: Path, *, limit: int = LIMIT_BYTES) -> _R:
    """`result` if it fits into `limit` bytes; else its most important part, with `left_out` and a file in `folder`."""
    if isinstance(result, ProfileResult) and result.kernels:
        result = _brief_profile(result, folder)  # type: ignore[assignment]
    if isinstance(result, PortResult):
        limit = min(limit, _BRIEF_BYTES)
    if isinstance(result, JobResult):
        return _truncate_job(result, folder, limit)  # type: ignore[return-value]
    if isinstance(result, SearchResult):
        result = short_search(result)  # type: ignore[assignment]
    if size(result) <= limit:
        return result
    if isinstance(result, ReadResult):
        return _truncate_reading(result, limit)  # type: ignore[return-value]  # a ReadResult again, which mypy cannot see
    if isinstance(result, AttemptList):
        return _truncate_attempts(result, limit)  # type: ignore[return-value]
    whole = result
    left_out: dict[str, str] = {}
    for step in _steps_of(result):
        result = _apply(result, step, whole, left_out)
        noted = _note(result, list(left_out.values()))
        if size(noted) <= limit - 300:  # room for the artefact's entry
            break
    return _with_artefact(_note(result, list(left_out.values())), whole, folder)


def _truncate_job(result: JobResult, folder: Path, limit: int) -> JobResult:
    """A profile is brief in a small answer too."""
    result = result.with_answer(lambda answer: truncate(answer, folder, limit=max(limit, size(answer))))
    if size(result) <= limit:
        return result
    return result.with_answer(lambda answer: truncate(answer, folder, limit=limit - 500))  # room for the job's fields


def _brief_profile(result: ProfileResult, folder: Path) -> ProfileResult:
    """Few findings and numbers. `next` brings the rest; its artefact is named there and nowhere else."""
    if result.next:
        return result  # it is brief already
    whole = _with_artefact(result, result, folder)
    small = brief(result)
    return small.model_copy(update={"next": whole.next, "not_cached": whole.not_cached})


def _steps_of(result: Result) -> tuple[Step, ...]:
    if isinstance(result, SearchResult):
        return _OF_A_SEARCH
    return next((verb.shortened for verb in VERBS if type(result) is verb.answer), ())


def _apply(result: _R, step: Step, whole: Result, left_out: dict[str, str]) -> _R:
    field, _, inner = step.field.partition(".")
    if isinstance(step, Cut):
        if not field:
            return _map_strings(result, step.characters)
        value = getattr(result, field)
        cut = _cut(value, step.characters)
        if cut != value:
            left_out[f"{field} text"] = f"parts of the text in {field}"
        return result.model_copy(update={field: cut})
    value = getattr(result, field)
    if inner and not isinstance(value, list):
        one = value and _apply(value, replace(step, field=inner), getattr(whole, field), left_out)
        return result.model_copy(update={field: one})
    if inner:
        shorter = [item.model_copy(update={inner: _kept(getattr(item, inner), step.most)}) for item in value]
        if shorter != value:
            left_out[step.field] = f"all but {step.most} {inner} of each of the {field}"
        return result.model_copy(update={field: shorter})
    if len(value) > step.most:
        left_out[field] = f"{len(getattr(whole, field)) - step.most} of {len(getattr(whole, field))} {field}"
    kept = value[: step.most] if isinstance(step, KeepFirst) else _kept(value, step.most)
    return result.model_copy(update={field: kept})


def _kept(items: Any, most: int) -> Any:
    if isinstance(items, dict):
        return dict(list(items.items())[:most])
    ranked = sorted(range(len(items)), key=lambda i: (_is_good(items[i]), i))[:most]
    return [items[i] for i in sorted(ranked)]


def _is_good(item: object) -> bool:
    return getattr(item, "verdict", getattr(item, "severity", None)) in _GOOD


def _cut(value: Any, characters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[: characters - 1] + "…"
    if isinstance(value, list):
        return [_cut(item, characters) for item in value]
    if isinstance(value, dict):
        return {name: _cut(item, characters) for name, item in value.items()}
    return _map_strings(value, characters) if isinstance(value, Result) else value


def _map_strings(result: _R, characters: int) -> _R:
    fields = type(result).model_fields
    return result.model_copy(update={name: _cut(getattr(result, name), characters) for name in fields})


def _note(result: _R, left_out: list[str]) -> _R:
    if isinstance(result, SearchResult):
        note = "; ".join(filter(None, [result.note, f"left out: {', '.join(left_out)}" if left_out else None]))
        return result.model_copy(update={"note": note or None})
    return result.model_copy(update={"left_out": left_out}) if isinstance(result, JobAnswer) else result


def _with_artefact(result: _R, whole: Result, folder: Path) -> _R:
    if not isinstance(result, JobAnswer):
        return result
    data = whole.model_dump_json(by_alias=True, indent=1).encode()
    digest = hashlib.sha256(data).hexdigest()
    kept = answers_folder(folder)
    name = f"{digest[:16]}.json"
    if reason := kept.write(name, data):
        return result.model_copy(
            update={"not_cached": [*result.not_cached, f"the whole answer was not kept: {reason}"]}
        )
    entry = Artefact(name="whole answer", path=str(kept.path(name)), sha256=f"sha256:{digest}", bytes=len(data))
    more = f'read_doc(ref="artefact:{digest}")'
    return result.model_copy(update={"artefacts": [*result.artefacts, entry], "next": more})


def _truncate_reading(result: ReadResult, limit: int) -> ReadResult:
    """Fewer sections, then less text; `next_start` moves so that nothing is skipped."""
    sections = _cut(result.sections, 160)
    while sum(size(section) for section in sections) > _SECTIONS_BYTES:
        sections.pop()
    result = result.model_copy(update={"sections": sections})
    while size(result) > limit and len(result.text) > 1:
        surplus = size(result) - limit
        text = result.text[: max(1, len(result.text) - max(surplus // 2, 50))]
        result = result.model_copy(update={"text": text, "next_start": result.start + len(text)})
    return result


def _truncate_attempts(result: AttemptList, limit: int) -> AttemptList:
    """Fewer lines, or the beginning of the texts of one attempt, in at most `limit` bytes."""
    if result.shown:
        return result.model_copy(update={"shown": _shorter_attempt(result.shown, limit - 100)})
    lines = [
        line.model_copy(
            update={"reason": _begun(line.reason, _REASON_CHARS), "note": line.note and _begun(line.note, 160)}
        )
        for line in result.attempts
    ]
    shorter = result.model_copy(update={"attempts": lines})
    while len(lines) > 1 and size(shorter) > limit:
        lines.pop()
        shorter = shorter.model_copy(update={"attempts": list(lines), "next": lines[-1].id})
    return shorter


def _shorter_attempt(shown: AttemptShown, limit: int) -> AttemptShown:
    record = {name: value for name, value in shown.attempt.items() if name in _OF_AN_ATTEMPT}
    record["answer"] = {"reason": _begun(str(shown.attempt["answer"].get("reason", "")), 600)}
    more = f'… read_doc("attempt:{shown.attempt["id"]}") has all of it'
    for characters in _TEXT_CHARS:
        shorter = shown.model_copy(
            update={
                "attempt": record,
                "source": _begun(shown.source, characters, more),
                "diff": shown.diff and _begun(shown.diff, characters, more),
                "lessons": [
                    each.model_copy(update={"text": _begun(each.text, characters // 4)}) for each in shown.lessons[-5:]
                ],
            }
        )
        if size(shorter) <= limit:
            break
    return shorter


def _begun(text: str, characters: int, more: str = "…") -> str:
    return text if len(text) <= characters else text[:characters] + more
