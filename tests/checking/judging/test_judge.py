from typing import Any

import numpy as np
import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.checking.judging.judge import judge_case, judge_run, tolerance_of
from amdkernel_mcp.checking.judging.tolerance import Tolerance
from amdkernel_mcp.findings.faults import Layout
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.runner_protocol.records import (
    ChangedInput,
    DispatchFault,
    DispatchFinding,
    DispatchRecord,
    GuardDamage,
    RacePartner,
    StandingWaves,
)
from amdkernel_mcp.runner_protocol.report import CaseReport

EXPECTED = np.linspace(1, 2, 40).reshape(4, 10)
RIGHT = EXPECTED.astype(np.float32)


class Line7:
    def lines_of(self, address):
        return (7,) if address == 0x1900 else ()

    lines_near = lines_of

    def is_opening(self, _address):
        return False


@pytest.fixture
def problem(tmp_path):
    return load_problem(write_problem(tmp_path))


def judged(problem, *repeats, status="ok", message="", expected=EXPECTED, arch="gfx942", returned=None, **rest):
    outputs = tuple({"y": repeat.tobytes()} for repeat in repeats)
    report = CaseReport(status, message, outputs, **rest)
    layouts = {"x": Layout(4, (4, 10)), "y": Layout(4, (4, 10))}
    last = None if returned is None else {"y": returned.tobytes()}
    return judge_run(
        problem, problem.cases[0], report, {"y": expected}, arch=arch, lines=Line7(), layouts=layouts, returned=last
    )


def kinds(run):
    return [finding.kind for finding in run.findings]


def with_value(index, value, like=RIGHT):
    out = like.copy()
    out[index] = value
    return out


def poisoned(mask, byte):
    out = RIGHT.copy()
    out.view(np.uint32)[mask] = byte * 0x01010101
    return out


def test_right_outputs_are_correct(problem):
    run = judged(problem, RIGHT, RIGHT, RIGHT)
    assert (run.verdict, run.findings, run.violations) == ("correct", (), 0)


def test_a_result_that_comes_back_with_other_roundings_is_correct(problem):
    assert judged(problem, RIGHT, returned=np.nextafter(RIGHT, np.float32(9))).verdict == "correct"


def test_a_result_that_comes_back_wrong_is_a_state_between_launches(problem):
    run = judged(problem, RIGHT, returned=with_value((3, 7), 0.5))
    assert (run.verdict, kinds(run)) == ("incorrect", ["state_between_launches"])
    assert "wrong when they run again after others: y[3, 7] is 0.5, expected 1.948718" in run.reason
    assert run.worst.index == [3, 7]


def test_a_result_that_is_wrong_from_the_start_is_no_state_between_launches(problem):
    wrong = with_value((3, 7), 0.5)
    assert kinds(judged(problem, wrong, returned=wrong)) == ["wrong_result"]


def test_a_wrong_element_is_told_with_its_place_and_both_values(problem):
    run = judged(problem, with_value((3, 7), 0.5))
    assert run.verdict == "incorrect"
    assert run.worst.index == [3, 7]
    assert (run.worst.got, run.worst.expected) == (0.5, pytest.approx(EXPECTED[3, 7]))
    assert run.reason == "1 of 40 elements of y is wrong; worst y[3, 7] is 0.5, expected 1.948718"
    assert kinds(run) == ["wrong_result"]


def test_the_worst_repeat_counts(problem):
    run = judged(problem, RIGHT, RIGHT, with_value((0, 1), 9))
    assert (run.verdict, run.violations) == ("incorrect", 1)
    assert "non_deterministic" in kinds(run)


def test_elements_that_still_hold_the_poison_were_never_written(problem):
    mask = np.zeros((4, 10), bool)
    mask[3, 7:] = True
    run = judged(problem, poisoned(mask, 0xFF), poisoned(mask, 0x3F), poisoned(mask, 0xFF))
    assert run.reason == "3 of 40 elements of y were never written; the first is y[3, 7]"
    assert run.worst.got == "never written"
    assert kinds(run) == ["not_written"]
    assert "y[3, 7] was never written" in run.findings[0].message


def test_a_result_that_hangs_on_the_poison_reads_uninitialised_memory(problem):
    first, second = with_value((0, 0), np.nan), with_value((0, 0), 1e16)
    run = judged(problem, first, second, first)
    assert run.verdict == "incorrect"
    assert set(kinds(run)) & {"uninitialised_read"}
    assert "y[0, 0]" in next(f.message for f in run.findings if f.kind == "uninitialised_read")


def test_bits_that_change_within_the_tolerance_are_told_and_forgiven(problem):
    other = np.nextafter(RIGHT, np.float32(9))
    run = judged(problem, RIGHT, RIGHT, other)
    assert (run.verdict, kinds(run)) == ("correct", [])
    assert "y[0, 0] is 1 in run 1 (the plain order)" in run.notes[0]
    assert "within the tolerance" in run.notes[0]


@pytest.mark.parametrize("on_all_cores", [RIGHT, np.nextafter(RIGHT, np.float32(9))])
def test_the_order_that_is_named_does_not_hang_on_the_run_on_all_cores(problem, on_all_cores):
    other = np.nextafter(RIGHT, np.float32(9))
    run = judged(problem, on_all_cores, RIGHT, other, other, other)
    assert "y[0, 0] is 1 in run 2 (the plain order) and 1 in run 4" in run.notes[0], run.notes
    run = judged(problem, on_all_cores, other, other, other, other)
    assert [("in run 1" in note, "in run 3" in note) for note in run.notes] == [(True, True)] * (on_all_cores is RIGHT)


@pytest.mark.parametrize("on_all_cores", [RIGHT, with_value((1, 2), 9.0), with_value((3, 3), 7.0)])
def test_the_element_that_is_named_does_not_hang_on_the_run_on_all_cores(problem, on_all_cores):
    run = judged(problem, on_all_cores, RIGHT, RIGHT, with_value((3, 3), 7.0))
    assert (run.verdict, run.worst.index, run.max_abs_err) == ("incorrect", [3, 3], pytest.approx(7 - EXPECTED[3, 3]))


def test_a_wrong_element_of_the_run_on_all_cores_alone_is_named(problem):
    run = judged(problem, with_value((1, 2), 9.0), RIGHT, RIGHT, RIGHT)
    assert (run.verdict, run.worst.index) == ("incorrect", [1, 2])


def test_a_race_is_not_called_memory_of_an_earlier_launch(problem):
    other = RacePartner(pc=0x1900, workgroup=(0, 0, 0), wave=0, lane=63, access="store", atomic=False)
    race = DispatchFinding(
        kind="race", pc=0x1900, workgroup=(1, 0, 0), wave=0, lane=0, instruction="", space="global", address=64,
        bytes=4, store=True, count=1, partner=other,
    )  # fmt: skip
    record = DispatchRecord(
        kernel="k", grid=(2, 1, 1), block=(64, 1, 1), lds_bytes=0, seconds=0.0, counters={}, pcs=None, fault=None,
        findings=[race],
    )  # fmt: skip
    assert kinds(judged(problem, RIGHT, RIGHT, returned=with_value((3, 3), 7.0))) == ["state_between_launches"]
    run = judged(problem, RIGHT, RIGHT, returned=with_value((3, 3), 7.0), dispatches=(record,))
    assert (run.verdict, kinds(run), run.violations) == ("incorrect", ["race"], 0)


def test_a_poison_that_was_copied_is_no_unwritten_element(problem):
    copied = poisoned(np.eye(4, 10, dtype=bool), 0xFF)
    run = judged(problem, copied, copied, copied)
    assert kinds(run) == ["nan_or_inf"]


def test_a_nan_is_a_finding(problem):
    run = judged(problem, with_value((1, 2), np.nan))
    assert kinds(run) == ["nan_or_inf"]
    assert run.worst.got == "nan"


def test_a_kernel_that_writes_its_input_is_incorrect_though_its_output_is_right(problem):
    run = judged(problem, RIGHT, inputs_modified=(ChangedInput(buffer="x", repeat=0),))
    assert (run.verdict, kinds(run)) == ("incorrect", ["input_modified"])
    assert run.reason == "changed the input array x"


@pytest.mark.parametrize(
    ("side", "offset", "said"),
    [("after", 0, "1 element past its end"), ("before", -8, "2 elements before its start")],
)
def test_damage_beside_an_array_is_incorrect_though_the_output_is_right(problem, side, offset, said):
    damage = GuardDamage(buffer="y", side=side, offset=offset, bytes=4, repeat=0)
    run = judged(problem, RIGHT, guard_damage=(damage,))
    assert (run.verdict, kinds(run)) == ("incorrect", ["out_of_bounds"])
    assert said in run.reason


def stopped_by(problem, status="fault", arch="gfx942", **fault):
    place: dict[str, Any] = {
        "pc": 0x1900,
        "workgroup": (1, 0, 0),
        "wave": 0,
        "lane": 5,
        "instruction": "global_store_dword v0, v1, s[0:1]",
    }
    record = DispatchRecord(
        kernel="softmax", grid=(2, 1, 1), block=(64, 1, 1), lds_bytes=0, seconds=0.0, counters={}, pcs=None,
        fault=DispatchFault(**(place | fault)),
    )  # fmt: skip
    return judged(problem, status=status, message="stopped", arch=arch, dispatches=(record,))


@pytest.mark.parametrize(
    ("offset", "verdict", "said"),
    [
        (160, "incorrect", "writes y[4, 0], but y has the shape [4, 10]"),
        (-4, "incorrect", "writes y[-1, 9], before the start"),
        (1 << 20, "crashed", "writes y[26214, 4], but y has the shape [4, 10]"),
    ],
)
def test_a_store_beside_an_array_has_line_and_element(problem, offset, verdict, said):
    run = stopped_by(
        problem, kind="out_of_bounds", space="global", store=True, bytes=4, address=4096, region="y", offset=offset,
        region_bytes=160, region_live=True,
    )  # fmt: skip
    assert (run.verdict, kinds(run)) == (verdict, ["out_of_bounds"])
    assert run.findings[0].line == 7
    assert said in run.findings[0].message
    assert "line 7" in run.reason


@pytest.mark.parametrize(("region", "offset"), [("the kernel's arguments", 1 << 34), ("y", -(1 << 45)), ("y", 1 << 45)])
def test_what_lies_far_from_all_arrays_is_not_put_down_to_one(problem, region, offset):
    run = stopped_by(
        problem, kind="out_of_bounds", space="global", store=False, bytes=4, address=0x7F0000001000, region=region,
        offset=offset, region_bytes=160, region_live=True,
    )  # fmt: skip
    assert "reads 4 bytes at an address outside every array (0x7f0000001000)" in run.findings[0].message


@pytest.mark.parametrize(
    ("status", "fault", "verdict", "kind", "said"),
    [
        ("fault", {"kind": "out_of_bounds", "space": "lds", "store": False, "bytes": 4, "address": 70000},
         "incorrect", "out_of_bounds", "reads 4 bytes at byte 70000 of LDS"),
        ("fault", {"kind": "out_of_bounds", "space": "lds", "store": True, "bytes": 4, "address": 500,
                   "region_bytes": 400, "instruction": "flat_store_dword v[0:1], v2"},
         "incorrect", "out_of_bounds", "writes 4 bytes at byte 500 of LDS"),
        ("fault", {"kind": "out_of_bounds", "space": "lds", "store": True, "bytes": 4, "address": 512,
                   "region_bytes": 400, "instruction": "flat_store_dword v[0:1], v2"},
         "crashed", "out_of_bounds", "writes 4 bytes at byte 512 of LDS"),
        ("fault", {"kind": "out_of_bounds", "space": "lds", "store": True, "bytes": 4, "address": 0, "region_bytes": 0},
         "incorrect", "out_of_bounds", "third in <<<>>>, or `lds=` in a launch"),
        ("fault", {"kind": "out_of_bounds", "space": "global", "store": True, "bytes": 4, "address": 0},
         "crashed", "out_of_bounds", "set the pointer before it is used"),
        ("fault", {"kind": "out_of_bounds", "space": "global", "store": True, "bytes": 4, "address": 0x7F0000001000,
                   "host": True},
         "crashed", "out_of_bounds", "at 0x7f0000001000, host memory that HIP neither allocated"),
        ("fault", {"kind": "read_only", "space": "global", "store": True, "bytes": 4, "region": "x", "offset": 8,
                   "region_bytes": 160, "region_live": True},
         "incorrect", "input_modified", "writes x[0, 2], which is an input"),
        ("fault", {"kind": "misaligned", "space": "global", "store": False, "bytes": 16},
         "crashed", "misaligned", "not aligned as"),
        ("not_emulated", {"kind": "not_emulated", "instruction": "v_new_thing v0, v1"},
         "not_emulated", "not_emulated", "v_new_thing"),
        ("timeout", {"kind": "step_limit"}, "timeout", "timeout", "was still running after 0 instructions"),
        ("timeout", {"kind": "step_limit", "timed": True}, "timeout", "timeout", "was still running after 0.0 s"),
        ("timeout", {"kind": "step_limit", "standstill": True}, "timeout", "timeout", "never ends"),
        ("timeout", {"kind": "residency", "started": 304, "fit": 304, "fit_by": "lds"}, "deadlock", "deadlock",
         "workgroups fit on MI300X at once (limited by LDS); the rest start when these end"),
        ("timeout", {"kind": "deadlock", "standing": [StandingWaves(
            pc=0x1900, workgroup=(0, 0, 0), wave=1, waves=1, at_barrier=True)]},
         "timeout", "timeout", "1 at the barrier of line 7"),
        ("fault", {"kind": "trap", "instruction": "s_trap 2"}, "crashed", "crashed", "s_trap"),
        ("fault", {"kind": "bad_pc"}, "crashed", "crashed", "where no instruction begins"),
    ],
)  # fmt: skip
def test_each_way_to_stop_has_its_verdict_and_line(problem, status, fault, verdict, kind, said):
    run = stopped_by(problem, status, **fault)
    assert (run.verdict, kinds(run), run.findings[0].line) == (verdict, [kind], 7)
    assert said in run.reason


@pytest.mark.parametrize(("arch", "granule"), [("gfx942", 512), ("gfx950", 1280), ("gfx1100", 512)])
def test_the_rest_of_the_last_granule_of_lds_would_not_stop_a_gpu(problem, arch, granule):
    beyond = {"kind": "out_of_bounds", "space": "lds", "store": True, "bytes": 4, "region_bytes": 400,
              "instruction": "flat_store_dword v[0:1], v2"}  # fmt: skip
    assert stopped_by(problem, arch=arch, address=granule - 4, **beyond).verdict == "incorrect"
    assert stopped_by(problem, arch=arch, address=granule, **beyond).verdict == "crashed"


@pytest.mark.parametrize(
    ("status", "verdict", "kind"),
    [
        ("launch_error", "invalid", "launch_error"),
        ("fault", "crashed", "out_of_bounds"),
        ("timeout", "timeout", "timeout"),
        ("unfinished", "not_measured", "timeout"),
        ("not_emulated", "not_emulated", "not_emulated"),
        ("crashed", "crashed", "crashed"),
    ],
)
def test_a_stop_without_a_record_has_the_runners_message(problem, status, verdict, kind):
    run = judged(problem, status=status, message="hipErrorSomething")
    assert (run.verdict, kinds(run), run.reason) == (verdict, [kind], "hipErrorSomething")


def test_a_case_is_as_bad_as_its_worst_seed(problem):
    runs = [judged(problem, RIGHT), judged(problem, with_value((0, 0), 5)), judged(problem, RIGHT)]
    case = judge_case(problem.cases[0], runs)
    assert (case.case, case.verdict, case.violations) == ("rows=4, cols=10", "incorrect", 1)


def test_a_problems_tolerance_is_for_floats_where_there_are_any(tmp_path):
    counts = '[[arguments]]\nname = "n"\ndtype = "i32"\nshape = [3]\nrole = "out"\n\n[[cases]]'
    problem = load_problem(write_problem(tmp_path / "a", changed("[[cases]]", counts)))
    assert [tolerance_of(problem, output).rtol for output in problem.outputs] == [1e-5, None]
    whole = changed('name = "y"\ndtype = "f32"', 'name = "y"\ndtype = "i32"')
    problem = load_problem(write_problem(tmp_path / "b", whole))
    assert tolerance_of(problem, problem.outputs[0]).rtol == 1e-5
    problem = load_problem(write_problem(tmp_path / "c", TOML.replace("[tolerance]\nrtol = 1e-5\n", "")))
    assert tolerance_of(problem, problem.outputs[0]).rtol == 1e-5


def with_tolerance(tmp_path, table, *, dtype="f32"):
    text = changed('name = "y"\ndtype = "f32"', f'name = "y"\ndtype = "{dtype}"')
    return load_problem(write_problem(tmp_path, changed("rtol = 1e-5", table, text)))


def test_an_outputs_own_tolerance_goes_before_the_problems(tmp_path):
    table = "rtol = 1e-5\n[tolerance.y]\nrtol = 1e-2\nsteps = 3\nmax_bias = 1"
    problem = with_tolerance(tmp_path, table)
    assert tolerance_of(problem, problem.outputs[0]) == Tolerance(1e-2, steps=3, max_bias=1.0)


@pytest.mark.parametrize(("table", "steps"), [("", 1), ("rtol = 0", 0), ("y = {rtol = 0}", 0), ("y = {steps = 0}", 0)])
def test_a_zero_rtol_requires_equality_and_other_floats_may_be_one_step_off(tmp_path, table, steps):
    problem = with_tolerance(tmp_path, table)
    assert tolerance_of(problem, problem.outputs[0]).steps == steps


def quantised(tmp_path, table, got):
    problem = with_tolerance(tmp_path, table, dtype="i8")
    return judged(problem, got.astype(np.int8), expected=EIGHT)


EIGHT = np.arange(40).reshape(4, 10).astype(np.int8)


def test_a_quantised_output_may_be_one_step_off(tmp_path):
    got = EIGHT + (EIGHT % 10 == 3)
    assert quantised(tmp_path / "a", "y = {steps = 1}", got).verdict == "correct"
    run = quantised(tmp_path / "b", "", got)
    assert (run.verdict, run.violations) == ("incorrect", 4)
    assert "the worst is off by 1, allowed: no difference" in run.findings[0].message


def test_integers_next_to_floats_have_their_own_tolerance(tmp_path):
    counts = '[[arguments]]\nname = "n"\ndtype = "i8"\nshape = [3]\nrole = "out"\n\n[[cases]]'
    text = changed("rtol = 1e-5", "rtol = 1e-5\nn = {steps = 1}", changed("[[cases]]", counts))
    problem = load_problem(write_problem(tmp_path, text))
    assert [tolerance_of(problem, output) for output in problem.outputs] == [
        Tolerance(1e-5, steps=1), Tolerance(None, steps=1),
    ]  # fmt: skip


def large(tmp_path, dtype, table=""):
    """A problem with 64 rows of 64 elements."""
    text = changed('name = "y"\ndtype = "f32"', f'name = "y"\ndtype = "{dtype}"')
    text = changed("rows = 4\ncols = 10", "rows = 64\ncols = 64", text)
    return load_problem(write_problem(tmp_path, changed("rtol = 1e-5", table, text)))


def test_truncation_is_incorrect_though_each_element_is_within_the_tolerance(tmp_path):
    problem = large(tmp_path, "bf16")
    exact = np.random.default_rng(1).standard_normal((64, 64))
    bits = exact.astype(np.float32).view(np.uint32)
    cut = (bits >> 16).astype(np.uint16)
    to_nearest = exact.astype(problem.outputs[0].dtype.numpy)
    run = judged(problem, cut, expected=exact)
    assert (run.verdict, kinds(run), run.violations, run.worst) == ("incorrect", ["wrong_result"], 0, None)
    assert "y is biased: each error is within the tolerance" in run.reason
    assert "0.5 steps of bf16 towards zero, more than 0.3; look for truncation" in run.reason
    assert judged(problem, to_nearest, expected=exact).verdict == "correct"


def test_a_bias_in_a_later_repeat_counts(tmp_path):
    problem = large(tmp_path, "f32")
    exact = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32).astype(np.float64)
    right, low = exact.astype(np.float32), (exact - 6e-6).astype(np.float32)
    run = judged(problem, right, right, low, expected=exact)
    assert run.verdict == "incorrect"
    assert "of the tolerance too low, more than 0.3; look for a missing term" in run.reason


def test_forgiven_outliers_are_a_note(tmp_path):
    problem = large(tmp_path, "f16", "y = {matched_ratio = 0.99, max_error = 0.2}")
    expected = np.ones((64, 64))
    got = expected.astype(np.float16)
    got[0, :5] = 1.1
    run = judged(problem, got, expected=expected)
    assert (run.verdict, run.findings, run.violations) == ("correct", (), 5)
    assert "5 of 4096 elements of y are outside the tolerance, which matched_ratio allows" in run.notes[0]
    got[0, 0] = 9
    run = judged(problem, got, expected=expected)
    assert (run.verdict, run.worst.index) == ("incorrect", [0, 0])
    assert "none of the others may exceed max_error 0.2" in run.findings[0].message


def test_an_element_that_was_never_written_is_not_forgiven(tmp_path):
    problem = large(tmp_path, "i8", "y = {steps = 1, matched_ratio = 0.9, max_error = 9}")
    expected = np.full((64, 64), 60, np.int8)
    first, second = expected.copy(), expected.copy()
    first[3, 3], second[3, 3] = -1, 0x3F
    run = judged(problem, first, second, first, expected=expected)
    assert (run.verdict, kinds(run)) == ("incorrect", ["not_written"])
