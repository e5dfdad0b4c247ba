"""A verb says all that the rest of the code reads off it, and its request survives being stored."""

import json
import re
from typing import Any

import pytest

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.engine.tuning.space import TuneOptions
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.engine.verbs.table import (
    OURS,
    VERB_NAMED,
    VERBS,
    answer_model,
    recorded_verb,
    verb_named,
    verb_of,
    with_added,
)
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.engine.verbs.verb import Verb
from amdkernel_mcp.errors import HistoryError, InfrastructureError, InputError, JobError
from amdkernel_mcp.profiling.options import ProfileOptions
from amdkernel_mcp.results.kernels import CheckResult

REQUESTS: tuple[Verb[Any], ...] = (
    Compile(source="k", file_name="\udcff.hip", flags=("-O2",), isa=True, compare_to="b", old_flags=()),
    Check(problem="p", source="k", options=CheckOptions(seeds=(1, 2), schedules=3)),
    CheckProgram(problem="p", source="k", seed_key="00"),
    Benchmark(problem="p", source="k", baseline="b", values={"TILE": "16"}),
    Profile(problem="p", source="k", target="emulator:gfx942", options=ProfileOptions("memory", "b")),
    Tune(problem="p", source="k", options=TuneOptions(rows=8, seed=3)),
    Port(source="k", options=PortOptions(others={"a.h": "1"}, keep_warps=True, arguments=("64",))),
)


def test_each_verb_of_the_table_is_tried_here() -> None:
    assert [type(request) for request in REQUESTS] == list(VERBS)


@pytest.mark.parametrize("request_of_verb", REQUESTS, ids=lambda request: str(request.name))
def test_a_request_is_read_back_as_it_was_stored(request_of_verb: Verb[Any]) -> None:
    stored = json.loads(json.dumps(request_of_verb.arguments()))
    assert VERB_NAMED[request_of_verb.name].read(stored) == request_of_verb


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_verb_is_found_by_its_record_and_by_its_answer(verb: type[Verb[Any]]) -> None:
    assert recorded_verb(verb.name) is verb
    answer = verb.answer()
    assert verb_of(answer) is verb
    assert answer_model(verb.key, answer.model_dump()) is verb.answer
    assert isinstance(verb.good(answer), bool)
    assert all(hasattr(answer, step.field.partition(".")[0]) for step in verb.shortened if step.field)


@pytest.mark.parametrize(
    "arguments",
    [
        {"problem": "p", "source": "k", "schedulez": 1},
        {"problem": "p", "source": "k", "options": {"schedulez": 1}},
        {"problem": "p"},
    ],
)
def test_stored_arguments_that_the_verb_does_not_have_are_an_error_of_the_job(arguments: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="this job cannot be read: check"):
        Check.read(arguments)


def test_the_row_of_a_sweep_is_repeated_as_a_benchmark_and_an_unknown_verb_not_at_all() -> None:
    assert recorded_verb("tune_row") is Benchmark
    with pytest.raises(HistoryError, match="no verb 'simulate'"):
        recorded_verb("simulate")
    with pytest.raises(JobError, match="no package here has the verb 'simulate'"):
        verb_named("simulate")


class Answer(CheckResult):
    """Of the verb of another package."""


def added(**fixed: object) -> type[Verb[Any]]:
    own = {"name": "prove", "tool": "prove_kernel", "key": "proof", "answer": Answer}
    return type("Prove", (Check,), own | fixed)


def test_a_verb_of_another_package_comes_after_ours() -> None:
    assert with_added(OURS, [prove := added()]) == (*OURS, prove)


class Bare(Verb[Answer]):
    """Says nothing of itself."""


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (Bare, "the verb Bare, which a package adds, has no `again`"),
        (added(name="check"), "'check' of the verb Prove"),
        (added(tool="check_kernel"), "'check_kernel' of the verb Prove"),
        (added(key="status"), "'status' of the verb Prove"),
        (added(answer=CheckResult), "has the answer of another"),
    ],
)
def test_a_verb_that_lacks_something_or_takes_a_name_is_refused(verb: type[Verb[Any]], said: str) -> None:
    with pytest.raises(InfrastructureError, match=re.escape(said)):
        with_added(OURS, [verb])


@pytest.mark.parametrize(
    "asked",
    [
        Check(problem="p", source="k", options=CheckOptions(seed_key="00")),
        CheckProgram(problem="p", source="k", seed_key="00"),
        Tune(problem="p", source="k", options=TuneOptions(seed=1)),
        Profile(problem="p", source="k", options=ProfileOptions(compare_file="r.csv", compare_with_recording=True)),
        Benchmark(problem="p", source="k", values={"TILE": "16"}),
        Compile(source="k", compare_to="b", old_flags=()),
    ],
    ids=lambda asked: str(asked.name),
)
def test_what_no_tool_takes_is_not_sent_to_a_server(asked: Verb[Any]) -> None:
    with pytest.raises(InputError):
        asked.options_of_tool()
