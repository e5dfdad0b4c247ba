import numpy as np
import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.checking.inputs import in_reference_form, make_inputs, scalars_for_reference
from amdkernel_mcp.problems.dtypes import DTYPES
from amdkernel_mcp.problems.problem_file import load_problem


def inputs(folder, init, dtype="f32", *, seed=0, rows=4, cols=1000):
    text = changed('dtype = "f32"', f'dtype = "{dtype}"').replace('init = "normal"', f'init = "{init}"')
    text = text.replace("rows = 4\ncols = 10", f"rows = {rows}\ncols = {cols}")
    problem = load_problem(write_problem(folder, text))
    return make_inputs(problem, problem.cases[0], seed=seed)["x"]


def test_a_seed_gives_the_same_data_again_and_another_seed_others(tmp_path):
    first, again, other = (inputs(tmp_path, "normal", seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_data_of_a_seed_stay_the_same_between_versions(tmp_path):
    x = inputs(tmp_path, "normal", rows=1, cols=3)
    assert x.tolist() == [pytest.approx([-0.64853889, 1.0817163, 0.99669337], rel=1e-6)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_can_be_filled(tmp_path, dtype):
    x = inputs(tmp_path, "integers(0, 9)", dtype)
    assert (x.shape, x.dtype) == ((4, 1000), DTYPES[dtype].numpy)
    assert set(np.unique(x.astype(np.float64))) == set(range(9)), "the upper bound is exclusive"


@pytest.mark.parametrize(
    ("init", "low", "high", "mean"),
    [
        ("normal", -6, 6, 0),
        ("uniform", 0, 1, 0.5),
        ("normal(10, 0.5)", 7, 13, 10),
        ("uniform(-3, 5)", -3, 5, 1),
        ("integers(-2 * rows, cols)", -8, 999, 495.5),
        ("zeros", 0, 0, 0),
        ("ones", 1, 1, 1),
        ("arange", 0, 3999, 1999.5),
    ],
)
def test_an_init_has_the_range_it_names(tmp_path, init, low, high, mean):
    x = inputs(tmp_path, init)
    assert low <= x.min() <= x.max() <= high
    assert x.mean() == pytest.approx(mean, abs=0.1 * (high - low) / 2 + 1e-6)


def test_one_seed_of_three_is_nearly_all_negative(tmp_path):
    assert [float((inputs(tmp_path, "normal", seed=s) < 0).mean()) > 0.9 for s in range(6)] == [False, False, True] * 2
    assert (inputs(tmp_path, "normal(1, 1)", seed=2) < 0).mean() < 0.3, "explicit parameters are kept"


@pytest.mark.parametrize("dtype", ["f16", "bf16", "u8", "i8", "float8_e5m2"])
def test_arange_starts_again_where_the_dtype_stops_counting(tmp_path, dtype):
    x = inputs(tmp_path, "arange", dtype).astype(np.float64).ravel()
    period = DTYPES[dtype].counts_to
    assert x.tolist() == [i % period for i in range(x.size)]


def test_fp8_data_are_finite(tmp_path):
    x = inputs(tmp_path, "normal(0, 400)", "float8_e4m3fnuz").astype(np.float64)
    assert np.isfinite(x).all()
    assert np.abs(x).max() == 240


def test_the_reference_gets_what_the_kernel_gets(tmp_path):
    text = TOML.replace(
        'name = "cols"\ndtype = "i32"', 'name = "cols"\ndtype = "i32"\n[[arguments]]\nname = "eps"\ndtype = "f32"'
    )
    text = text.replace("cols = 10", "cols = 10\neps = 0.1").replace("cols = 33", "cols = 33\neps = 1")
    problem = load_problem(write_problem(tmp_path, text))
    x = make_inputs(problem, problem.cases[0], seed=0)["x"]
    wide = in_reference_form(x, problem.arguments[0])
    assert wide.dtype == np.float64
    assert np.array_equal(wide.astype(np.float32), x)
    assert scalars_for_reference(problem, problem.cases[0]) == {"rows": 4, "cols": 10, "eps": float(np.float32(0.1))}
    assert scalars_for_reference(problem, problem.cases[1])["eps"] == 1.0
