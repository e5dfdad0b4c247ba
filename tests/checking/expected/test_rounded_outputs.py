"""References run with operations that round as float32 does: what moves, by how much, and what stays exact."""

from pathlib import Path

import numpy as np
import pytest

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.conditioning import conditioning_of, most_allowed, rounding_scales
from amdkernel_mcp.checking.expected.reference import expected_outputs, rounded_outputs
from amdkernel_mcp.problems.problem_file import load_problem
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

_ARRAY = '[[arguments]]\nname = "{}"\ndtype = "f32"\nshape = ["n", "n"]\nrole = "{}"\n'
_TOML = _ARRAY.format("x", "in") + _ARRAY.format("y", "out") + '[[arguments]]\nname = "n"\ndtype = "i32"\n'
STEP = 2.0**-23


@pytest.fixture
def problem_of(tmp_path: Path):
    def write(lines: str, tolerance: str = ""):
        (tmp_path / "problem.toml").write_text(_TOML + "[[cases]]\nn = 48\n" + tolerance)
        body = "".join(f"    {line}\n" for line in lines.splitlines())
        (tmp_path / "reference.py").write_text(f"import numpy as np\n\n\ndef reference(x, *, n):\n{body}")
        return load_problem(tmp_path)

    return write


def call_of(problem, seed=1):
    x = np.random.default_rng(seed).standard_normal((48, 48)).astype(np.float32)
    return Call(problem.cases[0], seed, {"x": x}, 0)


@pytest.fixture
def moves(sandbox, problem_of):
    """How far each element of `y` is off in one run, in steps of float32 at 1."""

    def run(lines):
        problem = problem_of(lines)
        call = call_of(problem)
        [exact] = expected_outputs(sandbox, problem, [call]).outputs
        [rounded] = rounded_outputs(sandbox, problem, call, [3])
        return np.abs(rounded["y"] - exact["y"]) / STEP

    return run


EXACT = {
    "a maximum": "return {'y': np.maximum(x, 0) - x.min()* 0}",
    "the largest minus itself": "m = x.max(axis=1, keepdims=True)\nreturn {'y': np.where(x == m, x - m, 0)}",
    "whole numbers": "return {'y': np.cumsum(np.ones((n, n)), axis=1) * 3 + 2}",
    "a move": "return {'y': np.roll(x.T.copy(), 3)[::-1]}",
}


@pytest.mark.parametrize("name", one_in(9, EXACT, others=pytest.mark.thorough))
def test_what_float32_can_hold_stays_exact(moves, name):
    assert moves(EXACT[name]).max() == 0


ROUNDS = {
    "a sum of two": "return {'y': x + 0.1}",
    "a product": "y = np.empty((n, n))\ny[:] = x\nreturn {'y': y * 0.1 + x * 0}",
    "in place": "y = np.zeros((n, n))\ny += x\ny *= 0.1\nreturn {'y': y}",
    "a matrix product": "return {'y': x @ x.T / n}",
    "einsum": "return {'y': np.einsum('ik,jk->ij', x, x) / n}",
    "a mean of rows": "return {'y': x - np.mean(x, axis=1, keepdims=True)}",
    "float32 inside": "return {'y': x.astype(np.float32) * np.float32(0.1)}",
    "asarray with a type": "return {'y': np.asarray(x, dtype=np.float64) / 3}",
    "a function of numbers": "import math\nf = np.vectorize(math.erf)\nreturn {'y': f(x) * 0.7}",
    "a Fourier transform": "return {'y': np.fft.ifft(np.fft.fft(x)).real}",
    "a loop over rows": "return {'y': np.stack([row / np.sqrt((row * row).sum()) for row in x])}",
}


@pytest.mark.parametrize("name", one_in(9, ROUNDS, others=pytest.mark.thorough))
def test_what_float32_cannot_hold_moves_by_a_few_steps(moves, name):
    moved = moves(ROUNDS[name])
    assert np.count_nonzero(moved) > 0.2 * moved.size
    assert moved.max() < 30


def test_what_cancels_has_the_scale_of_its_terms(sandbox, problem_of):
    problem = problem_of("e = np.exp(-np.abs(x) - 6)\nreturn {'y': (1 - e) - 1}")
    call = call_of(problem)
    [expected] = expected_outputs(sandbox, problem, [call]).outputs
    scales = rounding_scales(sandbox, problem, call, expected, {"y": 1.0})
    assert 0.3 < np.median(scales["y"]) < 3, "1 - e rounds at 1, though y is below 0.003"


@pytest.mark.thorough
def test_two_runs_are_alike(sandbox, problem_of):
    problem = problem_of("return {'y': np.tanh(x @ x)}")
    one, two = (rounded_outputs(sandbox, problem, call_of(problem), [1, 2]) for _ in range(2))
    assert all(a["y"].tobytes() == b["y"].tobytes() for a, b in zip(one, two, strict=True))
    assert one[0]["y"].tobytes() != one[1]["y"].tobytes()


@pytest.mark.thorough
def test_a_share_of_the_size_of_the_output_is_the_most(sandbox, problem_of):
    problem = problem_of("return {'y': (1e6 + x) - 1e6}")
    call = call_of(problem)
    [expected] = expected_outputs(sandbox, problem, [call]).outputs
    most = most_allowed(problem, [expected])
    assert most["y"] == pytest.approx(np.sqrt(np.mean(expected["y"] ** 2)) / 256)
    scales = rounding_scales(sandbox, problem, call, expected, most)
    assert (1e-5 * scales["y"]).max() == pytest.approx(most["y"])


@pytest.mark.parametrize("tolerance", ["[tolerance]\nrtol = 0\n", "[tolerance.y]\natol = 1e-6\n"])
def test_a_tolerance_that_the_problem_fixes_is_not_widened(problem_of, tolerance):
    problem = problem_of("return {'y': 1 - (1 - x)}", tolerance)
    assert most_allowed(problem, [{"y": np.ones((48, 48))}]) == {}


def test_an_error_that_cannot_be_allowed_runs_nothing(sandbox, problem_of):
    problem = problem_of("return {'y': 1 - (1 - x)}")
    ones = {"y": np.ones((48, 48))}
    find = conditioning_of(sandbox, problem, [ones])
    assert find(call_of(problem), ones, {"y": 0.01}) == {}
    assert set(find(call_of(problem), ones, {"y": 0.001})) == {"y"}


def test_a_reference_that_cannot_be_run_so_changes_no_scale(sandbox, problem_of):
    problem = problem_of("assert type(x) is np.ndarray\nreturn {'y': x}")
    expected = {"y": np.ones((48, 48))}
    assert rounding_scales(sandbox, problem, call_of(problem), expected, {"y": 1.0}) == {}


@pytest.mark.thorough
def test_softmax_backward_in_float32_is_right_for_200_inputs(sandbox, problem_of):
    from amdkernel_mcp.checking.judging.tolerance import Tolerance, compare
    from amdkernel_mcp.problems.dtypes import DTYPES

    problem = problem_of(
        "e = np.exp(x - x.max(axis=1, keepdims=True))\np, g = e / e.sum(axis=1, keepdims=True), np.roll(x, 1, axis=0)\n"
        "return {'y': p * (g - (p * g).sum(axis=1, keepdims=True))}"
    )

    def in_float32(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        p, g = e / e.sum(axis=1, keepdims=True), np.roll(x, 1, axis=0)
        return p * (g - (p * g).sum(axis=1, keepdims=True))

    calls = [call_of(problem, seed) for seed in range(200)]
    calls = [Call(c.case, c.seed, {"x": c.inputs["x"] * np.float32(1 + c.seed % 10)}, 0) for c in calls]
    expected = expected_outputs(sandbox, problem, calls).outputs
    find = conditioning_of(sandbox, problem, expected)
    f32, tolerance, before = DTYPES["f32"], Tolerance(1e-5, steps=1), 0
    for call, ref in zip(calls, expected, strict=True):
        got = in_float32(call.inputs["x"])
        plain = compare(got, ref["y"], dtype=f32, tolerance=tolerance)
        if plain.violations:
            before += 1
            scale = find(call, ref, {"y": plain.largest_wrong}).get("y", 0.0)
            assert not compare(got, ref["y"], dtype=f32, tolerance=tolerance, least_scale=scale).violations, call.seed
    assert before >= 3
