"""The tolerance of gemm_f16 is wider than what MFMA on gfx90a does, which takes f16 inputs below 2^-14 as zero."""

import dataclasses

import numpy as np
import pytest

from amdkernel_mcp.checking.cases.inputs import VARIANTS, make_inputs
from amdkernel_mcp.checking.judging.scale import scales
from amdkernel_mcp.problems.problem_file import load_problem


def flushed(values):
    return np.where(np.abs(values) < 2.0**-14, 0.0, values)


@pytest.mark.parametrize(("m", "n", "k"), [(5, 130, 3), (64, 257, 1), (61, 53, 2), (96, 64, 100), (130, 130, 7)])
def test_inputs_that_are_taken_as_zero_make_no_right_kernel_incorrect(m, n, k):
    problem = load_problem("gemm_f16")
    case = dataclasses.replace(problem.cases[0], values={"m": m, "n": n, "k": k})
    rtol, shown = problem.rtol, 0
    assert rtol is not None
    for seed in range(100 * len(VARIANTS)):
        inputs = make_inputs(problem, case, seed=seed, turn=seed)
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        expected = a @ b
        off = np.abs(flushed(a) @ flushed(b) - expected)
        allowed = rtol * (np.abs(expected) + scales(expected, rtol=rtol, epsilon=2.0**-23))
        worst = np.unravel_index(np.argmax(off / allowed), off.shape)
        assert off[worst] < allowed[worst], f"seed {seed}: c{list(worst)} is off by {off[worst]:g}"
        shown += bool(off.any())
    assert shown, "no input was so small: this tested nothing"
