"""The turns of a case in one process: repeats, other inputs, the first ones again; and where their buffers lie."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runner_cases import A, B, three_buffers

from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerJob, Timing
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport
from amdkernel_mcp.runner_protocol.turns import by_inputs, turns_of

pytestmark = pytest.mark.sandbox

RunCases = Callable[..., RunnerReport]
OTHERS = tuple({"a": (A + number).tobytes(), "b": B.tobytes()} for number in (10, 20, 30))
RIGHT = [A + 1, A + 1, A + 11, A + 21, A + 31, A + 1]


def with_others(kernel: str, *, repeats: int = 2) -> RunCase:
    return replace(three_buffers(kernel, repeats=repeats), more_inputs=OTHERS)


def right(case: CaseReport) -> list[bool]:
    return [np.array_equal(np.frombuffer(each["c"], "f4"), c) for each, c in zip(case.outputs, RIGHT, strict=False)]


def test_every_input_runs_once_after_the_repeats_and_the_first_again(run_cases: RunCases) -> None:
    case = with_others("vector_add")
    report = run_cases(case).cases[0]
    assert turns_of(case, "check") == [0, 0, 1, 2, 3, 0]
    assert right(report) == [True] * 6
    assert (report.guard_damage, report.inputs_modified, len(report.dispatches)) == ((), (), 6)


def test_a_static_variable_lives_from_one_turn_to_the_next(run_cases: RunCases) -> None:
    report = run_cases(with_others("right_at_its_first_launch")).cases[0]
    assert report.status == "ok", report.message
    assert right(report) == [True] + [False] * 5


def test_an_address_does_not_stand_for_one_input(run_cases: RunCases) -> None:
    launch = replace(three_buffers("knows_places_again").launches[0], grid=(1, 1, 1))
    report = run_cases(replace(with_others("knows_places_again"), launches=(launch,))).cases[0]
    assert report.status == "ok", report.message
    assert right(report) == [True, True, True, False, True, False], "the third and the last find the place they know"


def test_a_workspace_holds_what_the_turn_before_left_at_that_place(run_cases: RunCases) -> None:
    plain = with_others("trusts_its_workspace")
    arguments = (*plain.launches[0].arguments[:3], RunnerArgument("kept"), plain.launches[0].arguments[3])
    kept = Buffer("kept", 2 * A.nbytes, "workspace")
    case = replace(plain, buffers=(*plain.buffers, kept), launches=(replace(plain.launches[0], arguments=arguments),))
    report = run_cases(case).cases[0]
    assert report.status == "ok", report.message
    assert right(report) == [True, True, True, False, True, False], "the second at a place finds the first one's"


def test_a_fault_leaves_the_turns_before_it_and_names_its_own(run_cases: RunCases) -> None:
    negative = {"a": (A - 1).tobytes(), "b": B.tobytes()}
    case = replace(with_others("stops_at_negative_numbers"), more_inputs=(OTHERS[0], negative, OTHERS[1]))
    report = run_cases(case).cases[0]
    assert report.status == "fault"
    assert len(report.outputs) == 3
    cut = by_inputs(case, "check", report)
    assert [each and each.status for each in cut.inputs] == ["ok", "ok", "fault", None]
    assert cut.returned is None
    failed = cut.inputs[2]
    assert failed is not None
    assert failed.dispatches[-1].fault is not None
    assert failed.outputs == ()


def test_the_budget_of_a_case_begins_again_with_each_of_its_inputs(run_cases: RunCases) -> None:
    forever = {"a": (A - 1).tobytes(), "b": B.tobytes()}
    case = replace(with_others("waits_at_negative_numbers"), more_inputs=(OTHERS[0], forever))
    report = run_cases(case, case_instructions=300_000).cases[0]
    assert (report.status, len(report.outputs)) == ("timeout", 3), report.message


def test_outputs_of_the_chosen_timed_samples_come_back_with_the_inputs_of_their_set(run_cases: RunCases) -> None:
    timing = Timing(warmups=1, samples=5, buffer_sets=2, kept=(0, 3, 4))
    case = replace(with_others("vector_add", repeats=1), timing=timing)
    report = run_cases(case, mode="time").cases[0]
    assert turns_of(case, "time") == [0, 0, 1, 0]
    found = [np.frombuffer(outputs["c"], "f4") for outputs in report.outputs]
    assert [np.array_equal(c, right) for c, right in zip(found, (A + 1, A + 1, A + 11, A + 1), strict=True)] == [
        True
    ] * 4


def test_a_kernel_that_is_wrong_after_its_first_launch_is_wrong_in_a_timed_sample(run_cases: RunCases) -> None:
    timing = Timing(warmups=1, samples=3, kept=(0, 2))
    case = replace(three_buffers("right_at_its_first_launch", repeats=1), timing=timing)
    report = run_cases(case, mode="time").cases[0]
    assert right(report) == [True, False, False]


def test_a_kernel_that_idles_in_later_samples_leaves_no_earlier_outputs_behind(run_cases: RunCases) -> None:
    launch = replace(three_buffers("idle_after_three_launches").launches[0], grid=(1, 1, 1))
    case = replace(
        three_buffers("idle_after_three_launches", repeats=1),
        launches=(launch,),
        timing=Timing(warmups=1, samples=4, kept=(0, 3)),
    )
    report = run_cases(case, mode="time").cases[0]
    written = [np.array_equal(np.frombuffer(each["c"], "f4")[:32], (A + 1)[:32]) for each in report.outputs]
    assert written == [True, True, False]


def places(report: RunnerReport) -> Any:
    """Addresses of a, b, c, of a static variable and of the arguments: for each case those of its first turn."""
    assert all(case.status == "ok" for case in report.cases), report.cases
    return np.array([np.frombuffer(case.outputs[0]["c"], "u8")[:5] for case in report.cases])


@pytest.fixture(scope="module")
def drawn_places(run_job_with: Callable[[RunnerJob], RunnerReport], code_object: bytes) -> dict[str, Any]:
    case = replace(three_buffers("stores_addresses", repeats=1), timing=Timing(warmups=0, samples=1))

    def drawn(mode: Any, seed: str) -> Any:
        return places(run_job_with(RunnerJob("gfx942", code_object, (case,) * 24, mode, 30, seed)))

    return {"check": drawn("check", "s"), "profile": drawn("profile", "s"), "time": drawn("time", "s")} | {
        "other": drawn("check", "t")
    }


def test_no_address_tells_a_kernel_whether_it_is_checked_profiled_or_timed(drawn_places: dict[str, Any]) -> None:
    assert np.array_equal(drawn_places["check"], drawn_places["profile"])
    assert np.array_equal(drawn_places["check"], drawn_places["time"])


def test_every_bit_of_an_address_but_the_alignment_is_drawn(drawn_places: dict[str, Any]) -> None:
    found = np.concatenate([drawn_places["check"], drawn_places["other"]])
    for column in range(3):
        bits = [bit for bit in range(64) if len(set((found[:, column] >> np.uint64(bit)) & np.uint64(1))) == 2]
        assert bits == list(range(8, 39)), "256 bytes of alignment below, the address space above"
    for one, other in ((0, 1), (1, 2), (0, 2)):
        distances = found[:, other] - found[:, one]
        assert len(set(distances.tolist())) == len(distances)
