"""The verbs, ours and added ones. What a token may do, a job answers and a record repeats is read off this table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import SerializeAsAny, create_model

from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.engine.verbs.port import Port
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.engine.verbs.verb import Verb
from amdkernel_mcp.errors import HistoryError, InfrastructureError, JobError
from amdkernel_mcp.extensions import installed_classes
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.jobs import JobResult

OURS: tuple[type[Verb[Any]], ...] = (
    Compile,
    Check,
    CheckProgram,
    Benchmark,
    Profile,
    Tune,
    Port,
)


def with_added(ours: Sequence[type[Verb[Any]]], added: Iterable[type[Verb[Any]]]) -> tuple[type[Verb[Any]], ...]:
    """Ours, then those of other packages. Raises InfrastructureError for one that lacks something, or takes a name."""
    verbs = [*ours]
    for verb in added:
        lacks = sorted(verb.__abstractmethods__) + [word for word in _FIXED if not hasattr(verb, word)]
        if lacks:
            raise InfrastructureError(f"the verb {verb.__name__}, which a package adds, has no `{lacks[0]}`")
        taken = {*JobResult.model_fields, *(word for each in verbs for word in (each.name, each.tool, each.key))}
        if found := taken & {verb.name, verb.tool, verb.key}:
            raise InfrastructureError(f"{min(found)!r} of the verb {verb.__name__}, which a package adds, is taken")
        if verb.answer in {each.answer for each in verbs}:
            raise InfrastructureError(f"the verb {verb.__name__}, which a package adds, has the answer of another")
        verbs.append(verb)
    return tuple(verbs)


_FIXED = ("name", "tool", "key", "answer", "scope", "shortened")
VERBS = with_added(OURS, installed_classes("verbs", Verb))  # type: ignore[type-abstract]
KEYS = tuple(dict.fromkeys(verb.key for verb in VERBS))
"""Of the answers in what get_job returns."""
if TYPE_CHECKING:
    AnsweredJob = JobResult
else:
    AnsweredJob = create_model(
        "JobResult",
        __base__=JobResult,
        __doc__="What get_job returns: a job, and its answer under the key of its verb.",
        **{key: (SerializeAsAny[next(verb.answer for verb in VERBS if verb.key == key)] | None, None) for key in KEYS},
    )
RECORDED = (*(verb.name for verb in VERBS), *(name for verb in VERBS for name in verb.also_recorded))
"""What the `verb` of a record may be."""
VERB_NAMED: Mapping[str, type[Verb[Any]]] = {verb.name: verb for verb in VERBS}


def verb_named(name: str) -> type[Verb[Any]]:
    """The verb of a job. Raises JobError where the package that added it is not installed any more."""
    if name not in VERB_NAMED:
        raise JobError(f"no package here has the verb {name[:40]!r}")
    return VERB_NAMED[name]


def recorded_verb(name: str) -> type[Verb[Any]]:
    """The verb that repeats a record of this name. Raises HistoryError for one of another version."""
    for verb in VERBS:
        if name == verb.name or name in verb.also_recorded:
            return verb
    raise HistoryError(f"this version has no verb {name[:40]!r}, so the attempt cannot be repeated")


def verb_of(answer: JobAnswer) -> type[Verb[Any]]:
    """The verb whose answer this is."""
    return next(verb for verb in VERBS if type(answer) is verb.answer)


def answer_model(key: str, answer: Mapping[str, Any]) -> type[JobAnswer]:
    """The model of an answer under a key of get_job: of those that share the key, the one that has most of its keys."""
    sharing = [verb.answer for verb in VERBS if verb.key == key]
    return max(sharing, key=lambda model: len(model.model_fields.keys() & answer.keys()))
