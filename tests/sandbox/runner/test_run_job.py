"""What the trusted host program finds out about kernels, on the emulator."""

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runner_cases import A, N, three_buffers

from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerLaunch, Timing
from amdkernel_mcp.runner_protocol.records import ChangedInput
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

pytestmark = pytest.mark.sandbox

Run = Callable[..., CaseReport]
RunCases = Callable[..., RunnerReport]


def c_of(case: CaseReport, repeat: int = 0) -> Any:
    assert case.status == "ok", case.message
    return np.frombuffer(case.outputs[repeat]["c"], "f4")


def scalar(n: int) -> RunnerArgument:
    return RunnerArgument(scalar=struct.pack("<i", n))


def test_a_right_kernel_gives_the_same_outputs_in_every_repeat(run: Run) -> None:
    case = run("vector_add", repeats=3)
    assert [np.array_equal(c_of(case, repeat), A + 1) for repeat in range(3)] == [True] * 3
    assert (case.guard_damage, case.inputs_modified) == ((), ())


def test_each_dispatch_has_a_record_with_its_counts(run: Run) -> None:
    records = run("vector_add", repeats=2).dispatches
    assert [(record.kernel, record.grid, record.block) for record in records] == [
        ("vector_add", (4, 1, 1), (256, 1, 1))
    ] * 2
    assert records[0].counters["SQ_WAVES"] == 16
    assert records[0].counters["SQ_INSTS_VALU"] > 0


def test_an_output_that_nobody_writes_is_poison_of_two_kinds(run: Run) -> None:
    case = run("does_nothing", repeats=2)
    assert case.outputs[0]["c"] == b"\xff" * 4 * N
    assert case.outputs[1]["c"] == b"\x3f" * 4 * N


def test_a_kernel_that_writes_its_input_is_found_out(run: Run) -> None:
    case = run("spoils_its_input")
    assert case.inputs_modified == tuple(ChangedInput(buffer="a", repeat=turn) for turn in range(2))
    assert np.array_equal(c_of(case), A + 1)


def test_a_write_beside_a_buffer_is_a_fault_with_its_place(run: Run) -> None:
    case = run("writes_beside")
    fault = case.dispatches[-1].fault
    assert case.status == "fault"
    assert fault is not None
    assert (fault.kind, fault.store, fault.region, fault.offset) == ("out_of_bounds", True, "c", 4 * N)
    assert (fault.workgroup, fault.region_bytes) == ((3, 0, 0), 4 * N)


def test_of_several_faults_that_of_the_first_workgroup_is_told_though_others_come_sooner(run: Run) -> None:
    fault = run("overruns_sooner_in_later_workgroups", block=64).dispatches[-1].fault
    assert fault is not None
    assert (fault.workgroup, fault.offset) == ((0, 0, 0), 4 * N)


def test_a_read_before_a_buffer_is_a_fault_with_its_place(run: Run) -> None:
    case = run("reads_before")
    fault = case.dispatches[-1].fault
    assert case.status == "fault"
    assert fault is not None
    assert (fault.store, fault.region, fault.offset, fault.lane) == (False, "a", -8, 0)


def test_outputs_that_differ_between_repeats_all_come_back(run: Run) -> None:
    case = run("depends_on_addresses", repeats=3)
    assert len({outputs["c"] for outputs in case.outputs}) == 3


def test_a_kernel_that_can_never_end_is_ended_at_once(run_cases: RunCases) -> None:
    case = run_cases(three_buffers("never_ends")).cases[0]
    assert case.status == "timeout", case.message
    fault = case.dispatches[-1].fault
    assert fault is not None
    assert fault.standstill
    assert case.dispatches[-1].counters["SQ_INSTS"] < 10**8


def test_a_kernel_that_counts_for_ever_is_ended_by_its_instructions(run_cases: RunCases) -> None:
    case = run_cases(three_buffers("counts_without_end"), case_instructions=300_000).cases[0]
    assert case.status == "timeout", case.message
    fault = case.dispatches[-1].fault
    assert fault is not None
    assert not fault.standstill
    assert case.dispatches[-1].counters["SQ_INSTS"] == pytest.approx(300_000, rel=0.05)


def test_after_a_hang_the_other_cases_are_not_tried(run_cases: RunCases) -> None:
    cases = run_cases(three_buffers("never_ends"), three_buffers("vector_add")).cases
    assert [case.status for case in cases] == ["timeout", "not_run"]


@pytest.mark.parametrize(
    ("kernel", "options", "words"),
    [
        ("vector_add", {"block": 2048}, "hipErrorInvalidConfiguration"),
        ("vector_add", {"lds_bytes": 70_000}, "hipErrorInvalidValue"),
        ("at_most_128", {"block": 256}, "hipErrorLaunchFailure"),
        ("no_such_kernel", {}, "has no kernel no_such_kernel"),
    ],
)
def test_a_launch_that_the_runtime_refuses_is_a_launch_error(
    run: Run, kernel: str, options: dict[str, int], words: str
) -> None:
    case = run(kernel, **options)
    assert case.status == "launch_error"
    assert words in case.message


def test_a_code_object_that_is_none_is_a_launch_error(run_cases: RunCases) -> None:
    case = run_cases(three_buffers("vector_add"), code=b"\x7fELF garbage" * 100).cases[0]
    assert case.status == "launch_error"
    assert "cannot be loaded" in case.message


def test_a_fault_in_one_case_leaves_the_others_alone(run_cases: RunCases) -> None:
    report = run_cases(*(three_buffers(kernel) for kernel in ("vector_add", "writes_beside", "vector_add")))
    assert [case.status for case in report.cases] == ["ok", "fault", "ok"]
    assert report.device is not None
    assert report.device.emulated


def in_place(n: int, *, repeats: int = 2) -> RunCase:
    launch = RunnerLaunch("doubles_in_place", (-(-n // 256), 1, 1), (256, 1, 1), 0, (RunnerArgument("c"), scalar(n)))
    data = np.arange(n, dtype="f4").tobytes()
    return RunCase((Buffer("c", 4 * n, "inout", data),), (launch, launch), repeats=repeats)


def test_launches_run_in_order_on_fresh_data_in_every_repeat(run_cases: RunCases) -> None:
    case = run_cases(in_place(N)).cases[0]
    assert [np.array_equal(c_of(case, repeat), 4 * A) for repeat in range(2)] == [True, True]


def test_timed_launches_give_a_time_each_and_outputs_afterwards(run_cases: RunCases) -> None:
    timed = replace(in_place(N, repeats=1), timing=Timing(warmups=1, samples=5, buffer_sets=2, kept=(4,)))
    case = run_cases(timed, mode="time").cases[0]
    assert [len(sample) for sample in case.events_us] == [2] * 5
    assert all(time > 0 for sample in case.events_us for time in sample)
    assert [np.array_equal(c_of(case, repeat), 4 * A) for repeat in range(2)] == [True, True]


def test_a_profile_tells_how_often_each_instruction_ran(run_cases: RunCases) -> None:
    record = run_cases(in_place(N, repeats=1), mode="profile").cases[0].dispatches[0]
    assert record.pcs
    assert sum(executions for _, executions, *_ in record.pcs) == record.counters["SQ_INSTS"]
    assert record.counters["cache_lines_loaded"] > 0


def test_scalars_of_all_widths_arrive(run_cases: RunCases) -> None:
    data = np.arange(64, dtype="f8")
    arguments = (
        RunnerArgument("a"),
        RunnerArgument("c"),
        RunnerArgument(scalar=struct.pack("<d", 0.5)),
        RunnerArgument(scalar=struct.pack("<b", -3)),
        scalar(64),
    )
    launch = RunnerLaunch("double_precision", (1, 1, 1), (64, 1, 1), 0, arguments)
    case = run_cases(RunCase((Buffer("a", 512, "in", data.tobytes()), Buffer("c", 512, "out")), (launch,))).cases[0]
    assert case.status == "ok", case.message
    assert np.array_equal(np.frombuffer(case.outputs[0]["c"], "f8"), data * 0.5 - 3)


def test_large_outputs_come_back_whole(run_cases: RunCases) -> None:
    n = 4 << 20
    launch = RunnerLaunch("doubles_in_place", (1, 1, 1), (64, 1, 1), 0, (RunnerArgument("c"), scalar(64)))
    data = np.random.default_rng(0).random(n, dtype="f4")
    case = run_cases(RunCase((Buffer("c", 4 * n, "inout", data.tobytes()),), (launch,), repeats=2)).cases[0]
    data[:64] *= 2
    assert np.array_equal(c_of(case, 1), data)
