"""Races in large cases are looked for in a sample of the workgroups: found there, and none invented."""

import struct
from collections.abc import Callable

import numpy as np
import pytest

from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerLaunch
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

pytestmark = pytest.mark.sandbox

GROUPS = 2000
PLANS = ("races=0,schedule_seed=0", "races=1,schedule_seed=0")
RunCases = Callable[..., RunnerReport]


def large_case(kernel: str, block: int) -> RunCase:
    """Two repeats of a case that is much larger than its budget allows to check in full."""
    items = GROUPS * block
    data = np.arange(items, dtype="f4").tobytes()
    arguments = (*map(RunnerArgument, "abc"), RunnerArgument(scalar=struct.pack("<i", items)))
    return RunCase(
        buffers=(Buffer("a", 4 * items, "in", data), Buffer("b", 4 * items, "in", data), Buffer("c", 4 * items, "out")),
        launches=(RunnerLaunch(kernel, (GROUPS, 1, 1), (block, 1, 1), 0, arguments),),
        repeats=2,
        emulator_options=PLANS,
        close_look_within=100,
    )


def sampled(run_cases: RunCases, kernel: str, *, block: int = 64) -> CaseReport:
    report = run_cases(large_case(kernel, block)).cases[0]
    assert report.status == "ok", report.message
    return report


def races(report: CaseReport) -> list[str]:
    return [finding.kind for record in report.dispatches for finding in record.findings if finding.kind == "race"]


def test_a_race_between_neighbours_is_found_in_a_sample(run_cases: RunCases) -> None:
    report = sampled(run_cases, "reads_what_the_next_group_writes")
    plain, looked = report.dispatches
    assert (plain.races_checked, looked.races_checked, looked.race_own_group) == (False, True, False)
    assert 32 <= looked.race_groups <= 200
    assert races(report)


def test_the_same_race_lies_in_the_sample_of_some_cases_and_not_in_that_of_others(run_cases: RunCases) -> None:
    reports = run_cases(*[large_case("races_in_some_neighbours", 128)] * 16).cases
    assert {report.status for report in reports} == {"ok"}
    found = [bool(races(report)) for report in reports]
    assert 0 < sum(found) < len(found), "a sample that the grid alone decides has it always or never"


def test_a_sample_of_a_sound_kernel_has_no_races(run_cases: RunCases) -> None:
    assert not races(sampled(run_cases, "turns_rows_round"))


def test_workgroups_outside_the_sample_may_order_those_in_it(run_cases: RunCases) -> None:
    report = sampled(run_cases, "hands_on")
    assert report.dispatches[1].race_own_group
    assert not races(report)


def test_a_race_within_a_workgroup_is_found_although_it_uses_atomics(run_cases: RunCases) -> None:
    report = sampled(run_cases, "races_in_lds_beside_atomics", block=128)
    assert report.dispatches[1].race_own_group
    assert races(report)
