import numpy as np
import pytest
from problem_text import REFERENCE, TOML, changed, write_problem

from amdkernel_mcp.checking.expected.generate import make_calls
from amdkernel_mcp.checking.expected.reference import expected_outputs
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem_file import load_problem
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox


@pytest.fixture
def calls(sandbox, tmp_path):
    def make(body, toml=TOML, seeds=(7,)):
        folder = write_problem(tmp_path / "softmax", toml, REFERENCE + "\n\ndef generate(rng, *, rows, cols):\n" + body)
        problem = load_problem(folder)
        return make_calls(sandbox, problem, [(problem.cases[0], seed, turn) for turn, seed in enumerate(seeds)])

    return make


def test_generate_makes_the_arrays_that_it_returns_the_same_for_the_same_seed(calls):
    first, again, other = calls(
        "    return {'x': rng.standard_normal((rows, cols)) + 100}\n", seeds=(2**63 - 1, 2**63 - 1, 5)
    )
    x = first.inputs["x"]
    assert (x.shape, x.dtype) == ((4, 10), np.float32)
    assert x.min() > 90
    assert np.array_equal(x, again.inputs["x"])
    assert not np.array_equal(x, other.inputs["x"])


def test_an_array_that_generate_leaves_out_has_its_init(calls):
    (call,) = calls("    return {}\n", changed('init = "normal"', 'init = "ones"'))
    assert call.inputs["x"].tolist() == np.ones((4, 10)).tolist()


@pytest.mark.parametrize(
    ("body", "said"),
    one_in(
        9,
        [
            ("    return {'x': rng.random(3)}\n", r"has the shape \[3\] instead of \[4, 10\]"),
            ("    return {'y': rng.random((rows, cols))}\n", "'y', which is not an input"),
            ("    return rng.random((rows, cols))\n", "generate failed in case rows=4, cols=10: it returned ndarray"),
            ("    return {'x': np.full((rows, cols), np.nan)}\n", r"NaN at \[0, 0\]: non_finite = true"),
            ("    return {'x': np.full((rows, cols), -np.inf)}\n", "is infinite: non_finite = true"),
            ("    return {'x': np.full((rows, cols), 1e39)}\n", r"1e\+39, which does not fit into f32"),
            ("    return {'x': 1 / 0}\n", "ZeroDivisionError"),
            ("    import os\n    os._exit(0)\n", "ended the interpreter"),
            ("    return {'x': np.array([['a'] * cols] * rows)}\n", "cannot be compared"),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_what_generate_does_wrong_is_an_error_of_the_problem(calls, tmp_path, body, said):
    with pytest.raises(ProblemFileError, match=said) as caught:
        calls(body)
    assert caught.value.file == str(tmp_path / "softmax" / "reference.py")


def test_an_integer_array_must_get_whole_numbers_that_it_holds(calls):
    toml = changed('dtype = "f32"', 'dtype = "u8"').replace('init = "normal"', 'init = "ones"')
    assert calls("    return {'x': rng.integers(0, 256, (rows, cols))}\n", toml)[0].inputs["x"].dtype == np.uint8
    with pytest.raises(ProblemFileError, match="does not fit into u8"):
        calls("    return {'x': rng.integers(256, 300, (rows, cols))}\n", toml)


NON_FINITE = changed('init = "normal"', 'init = "normal"\nnon_finite = true')


def test_generated_nan_and_infinity_are_allowed_where_the_argument_says_so(calls):
    (call,) = calls(
        "    x = np.ones((rows, cols)); x[0, 0] = np.nan; x[1, 1] = -np.inf\n    return {'x': x}\n", NON_FINITE
    )
    assert np.isnan(call.inputs["x"][0, 0])
    assert call.inputs["x"][1, 1] == -np.inf


@pytest.mark.parametrize(
    "toml",
    [NON_FINITE, changed('role = "out"', 'role = "out"\nnon_finite = true'), changed('"normal"', '"nans"')],
    ids=["input", "output", "init"],
)
def test_a_nan_of_the_reference_is_allowed_where_the_problem_says_so(sandbox, tmp_path, toml):
    body = "import numpy as np\n\n\ndef reference(x, *, rows, cols):\n    x[1, 2] = np.nan\n    return {'y': x}\n"
    problem = load_problem(write_problem(tmp_path, toml, body))
    outputs = expected_outputs(sandbox, problem, make_calls(sandbox, problem, [(problem.cases[0], 0, 0)])).outputs
    assert np.isnan(outputs[0]["y"][1, 2])
