"""Which elements the workgroups of a sample wrote, and how only these are judged."""

import numpy as np
import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.judging.bias import find_bias
from amdkernel_mcp.checking.judging.judge import is_right
from amdkernel_mcp.checking.judging.sampled_outputs import narrowest_store, written_elements
from amdkernel_mcp.checking.judging.tolerance import Tolerance, compare
from amdkernel_mcp.problems.dtypes import DTYPES
from amdkernel_mcp.problems.problem import Argument
from amdkernel_mcp.problems.problem_file import load_problem

F16, F32 = DTYPES["f16"], DTYPES["f32"]


@pytest.mark.parametrize(
    ("line", "width"),
    [
        ("global_store_dwordx4 v0, v[2:5], s[0:1]", 8),
        ("global_store_b64 v0, v[2:3], s[0:1]", 8),
        ("global_store_dword v0, v1, s[0:1]", 4),
        ("buffer_store_b32 v0, v1, s[0:3], 0 offen", 4),
        ("flat_store_short v[0:1], v2", 2),
        ("global_store_d16_hi_b16 v0, v1, s[0:1]", 2),
        ("global_store_byte_d16_hi v0, v1, s[0:1]", 1),
        ("global_store_b8 v0, v1, s[0:1]", 1),
        ("scratch_store_byte off, v1, s0", 8),
        ("ds_write_b8 v0, v1", 8),
    ],
)
def test_the_narrowest_store_is_read_off_the_code(line, width):
    text = f"\tglobal_store_dwordx2 v0, v[2:3], s[0:1]   // 000000001600: DC700000 00000000\n\t{line}  // 0: 0"
    assert narrowest_store(text) == width


@pytest.mark.parametrize("role", ["out", "inout"])
def test_elements_that_hold_what_they_held_before_were_not_written(tmp_path, role):
    text = TOML if role == "out" else changed('role = "out"', 'role = "inout"\ninit = "normal"')
    problem = load_problem(write_problem(tmp_path, text))
    case = problem.cases[0]
    before = np.full((4, 10), np.frombuffer(b"\xff" * 4, np.float32)[0])
    if role == "inout":
        before = np.arange(40, dtype=np.float32).reshape(4, 10)
    after = before.copy()
    after[1, 3], after[2, 0] = 7.5, np.nan
    call = Call(case, 1, {"y": before}, 0)
    mask = written_elements(problem, call, {"y": after.tobytes()}, store_bytes=4)["y"]
    assert [tuple(index) for index in np.argwhere(mask)] == [(1, 3), (2, 0)]


def test_an_element_of_which_a_store_left_a_part_was_not_written(tmp_path):
    problem = load_problem(write_problem(tmp_path))
    raw = np.full((40, 4), 0xFF, np.uint8)
    raw[5, :2], raw[6] = 1, 1
    call = Call(problem.cases[0], 1, {}, 0)
    by_width = {
        width: np.flatnonzero(written_elements(problem, call, {"y": raw.tobytes()}, store_bytes=width)["y"])
        for width in (1, 2, 4, 8)
    }
    assert {width: found.tolist() for width, found in by_width.items()} == {1: [6], 2: [6], 4: [5, 6], 8: [5, 6]}


def test_elements_that_were_not_written_are_not_compared():
    expected = np.linspace(1, 2, 100)
    got = expected.astype(np.float32)
    got[10:] = np.nan
    written = np.arange(100) < 20
    found = compare(got, expected, dtype=F32, tolerance=Tolerance(1e-5), written=written)
    assert found.max_abs_err is not None
    assert (found.elements, found.violations, found.first) == (20, 10, (10,))
    assert found.max_abs_err < 1e-6
    assert compare(got, expected, dtype=F32, tolerance=Tolerance(1e-5), written=np.arange(100) < 10).violations == 0


def test_the_scale_is_that_of_all_elements():
    """A sample of small elements, as sums that cancel leave them, is not held to their own size."""
    expected = np.full(1000, 1000.0)
    expected[:4] = 1e-3
    got = (expected + 1e-3).astype(np.float32)
    written = np.arange(1000) < 4
    assert compare(got, expected, dtype=F32, tolerance=Tolerance(1e-5), written=written).violations == 0


def test_a_bias_is_that_of_what_was_written():
    exact = np.random.default_rng(1).standard_normal((64, 100))
    down = np.nextafter(exact.astype(np.float16), np.float16(0))
    rows = np.zeros((64, 100), bool)
    rows[:40] = True
    got = np.where(rows, down, exact.astype(np.float16))
    assert find_bias(got, exact, dtype=F16, tolerance=Tolerance(1e-3, steps=1), written=rows) is not None
    assert find_bias(got, exact, dtype=F16, tolerance=Tolerance(1e-3, steps=1), written=~rows) is None


@pytest.mark.parametrize("shape", [(20_000,), (64, 300), (7, 40, 50)])
def test_a_wrong_element_of_a_sample_is_named_by_its_place_in_the_output(shape):
    random = np.random.default_rng(1)
    expected = random.normal(size=shape)
    written = random.random(shape) < 0.01
    got = np.where(written, expected, np.nan).astype(np.float32)
    place = tuple(int(i) for i in np.argwhere(written)[-1])
    got[place] += 1
    found = compare(got, expected, dtype=F32, tolerance=Tolerance(1e-4), written=written)
    assert (found.elements, found.violations) == (int(np.count_nonzero(written)), 1)
    assert found.first == found.worst == place
    assert np.argwhere(found.wrong).tolist() == [list(place)]


def test_a_part_is_right_beyond_doubt_only_if_all_rules_say_so():
    exact = np.random.default_rng(3).normal(size=4096)
    scale = np.ones(exact.size)
    right = exact.astype(np.float32)

    def holds(*runs, dtype=F32):
        argument = Argument("y", dtype, None, "out", None, None)
        return is_right(argument, runs, exact, scale, tolerance=Tolerance(dtype.rtol, steps=1))

    assert holds(right, right.copy())
    wrong = right.copy()
    wrong[17] += 1
    assert not holds(wrong), "an element is off"
    assert not holds(right, wrong), "two runs differ"
    cut = (right.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float16)
    assert not holds(np.where(np.abs(cut) > np.abs(exact), np.nextafter(cut, np.float16(0)), cut), dtype=F16), "a bias"
