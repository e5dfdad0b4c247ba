"""Truncates an answer to what a model should read at once; the whole goes to a file that the answer names."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from amdkernel_mcp.cache_folder import answers_folder
from amdkernel_mcp.profiling.brief import brief
from amdkernel_mcp.results.documentation import ReadResult, SearchResult
from amdkernel_mcp.results.history import AttemptList
from amdkernel_mcp.results.host_programs import ProgramCheckResult
from amdkernel_mcp.results.job_answer import Artefact, JobAnswer
from amdkernel_mcp.results.jobs import JobResult
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.quantity import Result
from amdkernel_mcp.results.tuning import TuneResult
from amdkernel_mcp.server.truncate_attempts import truncate_attempts

LIMIT_BYTES = 8000

_R = TypeVar("_R", bound=Result)
_GOOD = frozenset({"correct", "warning", "note", "remark"})


@dataclass(frozen=True)
class Keep:
    """Keep the `most` most important items of the list `field`: failures before successes, else the first."""

    field: str
    most: int


@dataclass(frozen=True)
class KeepFirst(Keep):
    """Keep the first `most` items, in a list whose order is their importance."""


@dataclass(frozen=True)
class Cut:
    """Cut every string inside `field` (of the whole answer if it is empty) to `characters`."""

    field: str
    characters: int


Step = Keep | Cut

_STRINGS = (Cut("", 400), Cut("", 160))
_LAST = Cut("", 80)
_SECTIONS_BYTES = 2000
_OF_A_CHECK: tuple[Step, ...] = (
    Keep("cases", 16),
    Keep("findings", 12),
    Keep("diagnostics", 10),
    Keep("cases", 8),
    *_STRINGS,
    Keep("cases", 4),
    Keep("findings", 6),
    Keep("diagnostics", 4),
    Keep("findings", 4),
    Keep("diagnostics", 2),
    _LAST,
)
_STEPS: dict[type[Result], tuple[Step, ...]] = {
    CompileResult: (
        Cut("isa", 4000),
        Keep("diagnostics", 20),
        Cut("diagnostics", 400),
        Keep("kernels", 8),
        Cut("isa", 1500),
        Keep("diagnostics", 6),
        *_STRINGS,
        Keep("kernels", 3),
    ),
    CheckResult: _OF_A_CHECK,
    ProgramCheckResult: (Keep("run_seconds", 16), *_OF_A_CHECK),
    BenchmarkResult: (
        Keep("diagnostics", 10),
        Keep("findings", 12),
        Keep("counters", 24),
        Keep("flags", 12),
        *_STRINGS,
        Keep("counters", 12),
        Keep("diagnostics", 4),
        Keep("findings", 4),
        Keep("limits_us", 8),
        Keep("flags", 6),
        Keep("counters", 6),
        _LAST,
    ),
    ProfileResult: (
        Keep("diagnostics", 8),
        Keep("findings", 8),
        Keep("warnings", 8),
        *_STRINGS,
        Keep("diagnostics", 4),
        Keep("findings", 4),
        Keep("warnings", 4),
        _LAST,
    ),
    TuneResult: (
        Cut("rows", 120),
        KeepFirst("rows", 16),
        Cut("rows", 60),
        KeepFirst("rows", 10),
        Keep("findings", 4),
        Keep("diagnostics", 4),
        *_STRINGS,
        KeepFirst("rows", 5),
        _LAST,
    ),
    SearchResult: (
        Keep("near", 3),
        Cut("results", 420),
        Cut("lessons", 300),
        Cut("results", 320),
        Keep("results", 10),
        Cut("exact", 1200),
        Cut("results", 200),
        Keep("results", 6),
        *_STRINGS,
    ),
}


def size(result: Result) -> int:
    """Bytes of the answer as JSON."""
    return len(result.model_dump_json(by_alias=True).encode())


def truncate(result: _R, folder: Path, *, limit: int = LIMIT_BYTES) -> _R:
    """`result` if it fits into `limit` bytes; else its most important part, with `left_out` and a file in `folder`."""
    if isinstance(result, ProfileResult) and result.kernels:
        result = _brief_profile(result, folder)  # type: ignore[assignment]
    if isinstance(result, JobResult) and result.profile and result.profile.kernels:
        result = result.model_copy(update={"profile": _brief_profile(result.profile, folder)})
    if size(result) <= limit:
        return result
    if isinstance(result, JobResult):
        room = limit - 500  # the job's own fields
        inner = {name: getattr(result, name) for name in ("compile", "check", "benchmark", "profile", "tune")}
        return result.model_copy(
            update={name: part and truncate(part, folder, limit=room) for name, part in inner.items()}
        )
    if isinstance(result, ReadResult):
        return _truncate_reading(result, limit)  # type: ignore[return-value]  # a ReadResult again, which mypy cannot see
    if isinstance(result, AttemptList):
        return truncate_attempts(result, limit)  # type: ignore[return-value]
    whole = result
    left_out: dict[str, str] = {}
    for step in _STEPS.get(type(result), ()):
        result = _apply(result, step, whole, left_out)
        noted = _note(result, list(left_out.values()))
        if size(noted) <= limit - 300:  # room for the artefact's entry
            break
    return _with_artefact(_note(result, list(left_out.values())), whole, folder)


def _brief_profile(result: ProfileResult, folder: Path) -> ProfileResult:
    """Few findings and numbers. `next` brings the rest; its artefact is named there and nowhere else."""
    if result.next:
        return result  # it is brief already
    whole = _with_artefact(result, result, folder)
    small = brief(result)
    return small.model_copy(update={"next": whole.next, "not_cached": whole.not_cached})


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
