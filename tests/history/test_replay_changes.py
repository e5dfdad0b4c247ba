"""A replay names what is not as it was: the image, the compiler, the code it made, our version, the problem."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.history.attempt import Ran
from amdkernel_mcp.history.attempts import Attempts
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult

RAN = Ran(
    code_object="a" * 64, flags=[], arch="gfx942", toolchain="clang 21", image="sha256:then", isolation="docker"
)  # fmt: skip
PROBLEM = load_problem("vector_add")


@dataclass
class Verbs:
    """Those of a machine with another image: to build one takes minutes."""

    repeat: Callable[..., CheckResult]
    problem_hash: Callable[..., str | None]


def elsewhere(recorder: Recorder, ran: Ran, problem: str | None, verdict: str = "correct") -> Attempts:
    return Attempts(recorder, Verbs(lambda *_, **__: recorded(recorder, ran, verdict), lambda *_: problem))


def recorded(recorder: Recorder, ran: Ran, verdict: str = "correct") -> CheckResult:
    answer = CheckResult.model_validate({"verdict": verdict, "target": "emulator:gfx942"})
    return recorder.record(Tried("check", "// k", "k.hip", problem=PROBLEM, ran=lambda: [ran]), answer)


CHANGES = {
    "nothing": ({}, PROBLEM.hash, []),
    "the image": ({"image": "sha256:now"}, PROBLEM.hash, ["image"]),
    "image, compiler and code": (
        {"image": "sha256:now", "toolchain": "clang 22", "code_object": "b" * 64},
        PROBLEM.hash,
        ["image", "toolchain", "code_object"],
    ),
    "the problem": ({}, "sha256:another", ["problem"]),
    "a problem that is gone": ({}, None, []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_replay_names_what_changed(file_settings: Settings, name: str) -> None:
    update, problem, expected = CHANGES[name]
    recorder = Recorder(file_settings)
    attempt = recorded(recorder, RAN).attempt or ""
    replayed = elsewhere(recorder, RAN.model_copy(update=update), problem).replay(attempt)
    assert (replayed.holds, replayed.changed) == (True, expected)
    assert replayed.reason == "correct again" + (f" (changed since: {', '.join(expected)})" if expected else "")
    recorder.close()


def test_a_verdict_that_differs_does_not_hold_whatever_changed(file_settings: Settings) -> None:
    recorder = Recorder(file_settings)
    attempt = recorded(recorder, RAN).attempt or ""
    now = RAN.model_copy(update={"image": "sha256:now"})
    replayed = elsewhere(recorder, now, None, "incorrect").replay(attempt)
    assert not replayed.holds
    assert replayed.reason.startswith("it was correct and is incorrect now (changed since: image)")
    recorder.close()
