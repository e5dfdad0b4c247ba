"""The verbs. What a token may do, what a job answers and what a record repeats is read off this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.engine.verbs.verb import Verb
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.results.job_answer import JobAnswer

VERBS: tuple[type[Verb[Any]], ...] = (
    Compile,
    Check,
    CheckProgram,
    Benchmark,
    Profile,
    Tune,
)
KEYS = tuple(dict.fromkeys(verb.key for verb in VERBS))
"""Of the answers in what get_job returns."""
VERB_NAMED: Mapping[str, type[Verb[Any]]] = {verb.name: verb for verb in VERBS}


def recorded_verb(name: str) -> type[Verb[Any]]:
    """The verb that repeats a record of this name. Raises HistoryError for one of another version."""
    for verb in VERBS:
        if name == verb.name or name in verb.also_recorded:
            return verb
    raise HistoryError(f"this version has no verb {name[:40]!r}, so the attempt cannot be repeated")


def answer_model(key: str, answer: Mapping[str, Any]) -> type[JobAnswer]:
    """The model of an answer under a key of get_job: of those that share the key, the one that has most of its keys."""
    sharing = [verb.answer for verb in VERBS if verb.key == key]
    return max(sharing, key=lambda model: len(model.model_fields.keys() & answer.keys()))
