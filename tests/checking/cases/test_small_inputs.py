"""Inputs of the size of an epsilon: which numbers of a problem may be one, and which arrays are scaled."""

import numpy as np
import pytest
from problem_text import REFERENCE, changed, write_problem

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.inputs import make_inputs
from amdkernel_mcp.checking.cases.small_inputs import epsilons, small_calls
from amdkernel_mcp.problems.problem_file import load_problem


def problem(folder, expression, init="normal", dtype="f32"):
    text = changed('init = "normal"', f'init = "{init}"').replace('dtype = "f32"', f'dtype = "{dtype}"')
    reference = f"{REFERENCE}\nEPSILON = {expression}\n"
    return load_problem(write_problem(folder, text, reference=reference))


def calls(problem):
    case = problem.cases[0]
    first = Call(case, 0, make_inputs(problem, case, seed=0))
    return small_calls(problem, case, [first])


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("1e-5", 1e-5),
        ("1.0e-06", 1e-6),
        ("0.001", 1e-3),
        (".01", 1e-2),
        ("0.044715", None),
        ("1e-30", None),
        ("2", None),
    ],
)
def test_a_small_number_of_the_reference_may_be_an_epsilon(tmp_path, expression, found):
    made = problem(tmp_path, expression)
    assert (found in epsilons(made, made.cases[0])) == (found is not None)
    assert not [each for each in epsilons(made, made.cases[0]) if found is None]


def test_inputs_are_as_large_as_the_epsilon_and_its_root(tmp_path):
    sizes = [float(np.std(call.inputs["x"])) for call in calls(problem(tmp_path, "1e-4"))]
    assert [pytest.approx(size, rel=0.3) for size in sizes] == [1e-2, 1e-4]


@pytest.mark.parametrize("init", ["uniform(0, 1)", "uniform(1, 2)", "normal(3, 1)", "integers(0, 9)"])
def test_inputs_that_may_have_to_be_positive_stay_as_they_are(tmp_path, init):
    assert calls(problem(tmp_path, "1e-4", init)) == []


def test_inputs_of_few_distinct_values_are_left_out(tmp_path):
    (call,) = calls(problem(tmp_path, "1e-6", dtype="f16"))
    assert float(np.abs(call.inputs["x"].astype(float)).max()) < 1e-2
