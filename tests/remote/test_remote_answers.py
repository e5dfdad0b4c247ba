"""Answers of servers that are newer, older or have kept nothing, and errors in a server's words."""

import pytest

from amdkernel_mcp.errors import InfrastructureError, InputError
from amdkernel_mcp.profiling.brief import sparse
from amdkernel_mcp.remote.answers import read_answer, read_whole
from amdkernel_mcp.remote.calls import raise_error
from amdkernel_mcp.results.job_answer import Artefact
from amdkernel_mcp.results.kernels import CaseResult, CheckResult, KernelProfile, ProfileResult
from amdkernel_mcp.results.quantity import Metric

URL = "http://gpus.example/mcp"
CASE = CaseResult(case="n=4", held_out=False, verdict="correct", reason="")
WHOLE = CheckResult(
    verdict="correct", cases=[CASE, CASE], artefacts=[Artefact(name="x", path="/a", sha256="", bytes=1)]
)
SHORT = WHOLE.model_copy(update={"cases": [CASE], "next": f'read_doc(ref="artefact:{"0" * 64}")'}).model_dump(
    mode="json"
)


def test_keys_of_a_newer_server_are_left_out_wherever_they_are() -> None:
    answer = WHOLE.model_dump(mode="json")
    answer["new"] = 1
    answer["cases"][0]["newer"] = {"x": []}
    assert read_answer(CheckResult, answer, URL) == WHOLE


@pytest.mark.parametrize("answer", [None, [], {"verdict": "splendid"}, {"cases": [{}]}, {"cases": 3}])
def test_an_answer_that_is_none_is_an_infrastructure_error_in_one_sentence(answer: object) -> None:
    with pytest.raises(InfrastructureError) as error:
        read_answer(CheckResult, answer, URL)
    assert URL in error.value.message
    assert "\n" not in error.value.message
    assert "same version" in (error.value.hint or "")


def test_a_shortened_answer_is_read_whole_and_without_paths_of_the_server() -> None:
    asked: list[str] = []

    def resource(uri: str) -> str:
        asked.append(uri)
        return WHOLE.model_dump_json()

    found = read_whole(CheckResult, SHORT, URL, resource)
    assert asked == [f"amdkernel://artefact/{'0' * 64}"]
    assert found.cases == WHOLE.cases
    assert [each.path for each in found.artefacts] == [""]


@pytest.mark.parametrize("kept", ["cut off: {", None])
def test_where_the_rest_was_not_kept_the_short_answer_is_used(kept: str | None) -> None:
    def resource(_: str) -> str:
        if kept is None:
            raise InputError("the token has no scope for it")
        return kept

    assert read_whole(CheckResult, SHORT, URL, resource).cases == [CASE]


def test_a_lost_connection_is_not_taken_for_a_short_answer() -> None:
    def resource(_: str) -> str:
        raise InfrastructureError("away")

    with pytest.raises(InfrastructureError, match="away"):
        read_whole(CheckResult, SHORT, URL, resource)


def test_a_profile_without_its_empty_texts_is_read() -> None:
    static, none = (
        Metric(value=1.0, evidence="static", unit=""),
        Metric(value=None, evidence="not_measured", unit=""),
    )
    metrics = {"VGPRs": static, "Time": none}
    kernel = KernelProfile(name="k", dispatches=1, metrics=metrics, bound=None)
    profile = ProfileResult(kernels=[kernel])
    assert read_answer(ProfileResult, sparse(profile.model_dump(mode="json", by_alias=True)), URL) == profile


def test_an_error_names_the_users_file_and_has_its_exit_code() -> None:
    with pytest.raises(InputError) as wrong:
        raise_error("kernel.hip:3: no such name\nHint: spell it right", 2, {"file_name": "softmax.hip"})
    error = wrong.value
    assert (error.message, error.file, error.line, error.hint) == ("no such name", "softmax.hip", 3, "spell it right")
    with pytest.raises(InfrastructureError, match="the GPU is gone"):
        raise_error("the GPU is gone", 3, {})
    with pytest.raises(InputError) as wrong:
        raise_error("unknown problem 'x'\nHint: list_problems lists yours; create_problem stores one", None, {})
    assert "create_problem" not in (wrong.value.hint or "")
