"""The reason of a check and its first finding are about the same case and inputs, whichever runs went wrong."""

from amdkernel_mcp.checking.judging.judge import RunJudgement
from amdkernel_mcp.checking.judging.judge_report import CaseJudgement
from amdkernel_mcp.checking.judging.summary import summarise
from amdkernel_mcp.problems.problem import Case
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult, Finding

RIGHT = RunJudgement("correct", "")
RACE = RunJudgement("incorrect", "line 7: a race", (Finding(kind="race", message="a race", line=7),), violations=0)
STOPPED = RunJudgement(
    "crashed", "line 9: far outside", (Finding(kind="out_of_bounds", message="far outside", line=9),)
)


def wrong(count: int, inputs: str = "") -> RunJudgement:
    finding = Finding(kind="wrong_result", message=f"{count} outside the tolerance")
    return RunJudgement("incorrect", f"{count} elements are wrong", (finding,), violations=count, inputs=inputs)


def answer(**cases: list[RunJudgement]) -> CheckResult:
    judged = [CaseJudgement(Case(name, {}, held_out=False, line=None), tuple(runs)) for name, runs in cases.items()]
    return summarise(load_problem("vector_add"), judged, [], seeds=5)


def test_a_race_of_the_first_inputs_explains_more_wrong_values_of_others() -> None:
    said = answer(a=[RACE, RIGHT, wrong(30, "inputs 3 of 6")])
    assert said.reason == "case a: line 7: a race"
    assert said.findings[0].kind == "race"


def test_wrong_values_of_later_inputs_are_the_reason_and_the_first_finding() -> None:
    said = answer(a=[RIGHT, wrong(2, "inputs 2 of 6"), wrong(30, "inputs 3 of 6")])
    assert said.reason == "case a, inputs 3 of 6: 30 elements are wrong"
    assert [finding.message for finding in said.findings] == ["30 outside the tolerance"]
    assert said.cases[0].reason == "inputs 3 of 6: 30 elements are wrong"


def test_the_worst_case_has_the_first_finding_though_another_comes_before_it() -> None:
    said = answer(a=[wrong(5)], b=[RIGHT], c=[STOPPED])
    assert (said.verdict, said.reason) == ("crashed", "case c: line 9: far outside")
    assert [finding.kind for finding in said.findings] == ["out_of_bounds", "wrong_result"]


def test_of_two_wrong_cases_the_one_with_a_cause_is_the_reason() -> None:
    said = answer(a=[wrong(500)], b=[RACE])
    assert said.reason == "case b: line 7: a race"
    assert said.findings[0].line == 7


def test_a_race_explains_words_that_were_not_yet_written_in_runs_with_more_wrong_values() -> None:
    unwritten = Finding(kind="uninitialised_read", message="never written", line=8)
    late = RunJudgement("incorrect", "line 8: never written; 30 elements are wrong", (unwritten,), violations=30)
    for runs in ({"a": [RACE, late]}, {"b": [late], "c": [RACE]}):
        assert answer(**runs).findings[0].kind == "race"
