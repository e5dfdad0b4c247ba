import numpy as np
import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.checking.cases.inputs import in_reference_form, make_inputs, scalars_for_reference
from amdkernel_mcp.checking.cases.spikes import spike_places
from amdkernel_mcp.problems.dtypes import DTYPES
from amdkernel_mcp.problems.problem_file import load_problem


def inputs(folder, init, dtype="f32", *, seed=0, turn=0, rows=4, cols=1000):
    text = changed('dtype = "f32"', f'dtype = "{dtype}"').replace('init = "normal"', f'init = "{init}"')
    text = text.replace("rows = 4\ncols = 10", f"rows = {rows}\ncols = {cols}")
    problem = load_problem(write_problem(folder, text))
    return make_inputs(problem, problem.cases[0], seed=seed, turn=turn)["x"]


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


@pytest.mark.parametrize("seed", [0, 1, 2, 2**63 - 1])
def test_one_turn_of_five_is_nearly_all_negative_whatever_the_seed(tmp_path, seed):
    negative = [float((inputs(tmp_path, "normal", seed=seed, turn=n) < 0).mean()) > 0.9 for n in range(10)]
    assert negative == [False, False, True, False, False] * 2
    assert (inputs(tmp_path, "normal(1, 1)", seed=seed, turn=2) < 0).mean() < 0.3, "explicit parameters are kept"


SPIKED, ENDS = 3, 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "float8_e4m3fnuz"])
def test_one_turn_has_spikes_at_both_ends_that_nothing_plain_reaches(tmp_path, seed, dtype):
    x = np.abs(inputs(tmp_path, "normal", dtype, seed=seed, turn=SPIKED).astype(np.float64))
    assert x.flat[0] > 5.9
    assert x.flat[-1] > 5.9
    assert x.max() <= 12
    assert (x > 5.9).mean() < 1 / 8


@pytest.mark.parametrize(("init", "dtype"), [("normal", "f32"), ("uniform(-1, 4)", "f16"), ("integers(0, 4)", "u8")])
def test_one_turn_has_its_only_extremes_at_its_ends(tmp_path, init, dtype):
    x = inputs(tmp_path, init, dtype, turn=ENDS).astype(np.float64).reshape(-1)
    assert (x == x.max()).nonzero()[0].tolist() == [x.size - 1]
    assert (x == x.min()).nonzero()[0].tolist() == [0]


def test_numbers_with_a_mean_stay_on_its_side_of_zero(tmp_path):
    assert (inputs(tmp_path, "normal(100, 1)", turn=ENDS) > 0).all()


def test_spikes_are_at_the_edges_of_blocks():
    places = {place for seed in range(200) for place in spike_places((1000,), np.random.default_rng(seed)).tolist()}
    edges = {0, 999} | {block * n + near for block in (32, 64, 256) for n in range(1, 32) for near in (-1, 0, 1)}
    assert places <= edges
    assert {0, 31, 32, 33, 63, 64, 65, 255, 256, 257, 959, 960, 961, 991, 992, 993, 999} <= places


def test_the_edges_of_the_last_axis_have_spikes_in_many_rows():
    rows, columns = np.unravel_index(spike_places((40, 1000), np.random.default_rng(7)), (40, 1000))
    for edge in (0, 999):
        assert len(set(rows[columns == edge])) >= 8


@pytest.mark.parametrize(
    ("init", "dtype", "low", "high"),
    [
        ("uniform(0.25, 4)", "f32", 0.25, 4),
        ("uniform(-1, 1)", "f16", -1, 1),
        ("integers(3, cols)", "i32", 3, 999),
        ("integers(0, 1)", "u8", 0, 0),
        ("integers(0, 18446744073709551615 - 1)", "u64", 0, 2**64 - 3),
        ("normal(5, 0)", "f32", 5, 5),
        ("normal(20, 1)", "f32", 14, 32),
    ],
)
def test_spikes_stay_where_the_init_is(tmp_path, init, dtype, low, high):
    x = inputs(tmp_path, init.replace("18446744073709551615 - 1", str(2**63 - 1)), dtype, turn=SPIKED)
    assert low <= x.min() <= x.max() <= high


def test_in_a_quiet_array_a_left_out_end_shows(tmp_path):
    x = inputs(tmp_path, "uniform", cols=100_000, turn=SPIKED).astype(np.float64)
    assert (x.sum() - x.flat[-1]) < x.sum() * (1 - 2e-5), "with the default tolerance of f32, 2e-5 of the sum"


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (1, 1), (3, 5), (1, 4096), (4096, 1), (3, 65, 2), (2,) * 8])
def test_every_shape_has_places_for_spikes(shape):
    for seed in range(20):
        places = spike_places(shape, np.random.default_rng(seed))
        size = int(np.prod(shape))
        assert places[0] == 0
        assert places[-1] == size - 1
        assert len(set(places.tolist())) == len(places) <= max(2, size // 8)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "u8", "i8", "float8_e5m2"])
def test_arange_starts_again_where_the_dtype_stops_counting(tmp_path, dtype):
    x = inputs(tmp_path, "arange", dtype).astype(np.float64).ravel()
    period = DTYPES[dtype].counts_to
    assert x.tolist() == [i % period for i in range(x.size)]


@pytest.mark.parametrize("dtype", [name for name, dtype in DTYPES.items() if dtype.kind == "float"])
def test_large_numbers_span_the_exponents_and_their_products_are_finite(tmp_path, dtype):
    x = inputs(tmp_path, "large", dtype).astype(np.float64)
    assert np.abs(x).min() >= 1
    assert np.abs(x).max() > DTYPES[dtype].largest ** 0.3
    assert np.abs(x).max() ** 2 < DTYPES[dtype].largest
    assert (x < 0).any()
    assert np.abs(inputs(tmp_path, "large(2)", dtype).astype(np.float64)).max() <= 2


@pytest.mark.parametrize("dtype", [name for name, dtype in DTYPES.items() if dtype.kind == "float"])
def test_denormals_are_denormal_and_not_all_zero(tmp_path, dtype):
    import ml_dtypes

    x = np.abs(inputs(tmp_path, "denormal", dtype).astype(np.float64))
    assert 0 < x.max() <= float(ml_dtypes.finfo(DTYPES[dtype].numpy).smallest_normal)


@pytest.mark.parametrize(("dtype", "values"), [("f32", {-100, 0, 100}), ("u8", {0, 100}), ("i8", {-100, 0, 100})])
def test_spikes_among_zeros(tmp_path, dtype, values):
    x = inputs(tmp_path, "spikes", dtype)
    assert set(np.unique(x).tolist()) == values
    assert 0.002 < (x != 0).mean() < 0.03
    assert (inputs(tmp_path, "spikes(0.000001, 3)", dtype) != 0).sum() == 1, "at least one"


def test_nan_and_infinity_are_where_a_problem_asks_for_them(tmp_path):
    for dtype in ("f32", "f16", "bf16", "float8_e5m2"):
        assert 0 < np.isnan(inputs(tmp_path, "nans(0.01)", dtype).astype(np.float64)).mean() < 0.03
        assert 0 < np.isinf(inputs(tmp_path, "infs", dtype).astype(np.float64)).mean() < 0.03
    assert np.isnan(inputs(tmp_path, "nans", "float8_e4m3fnuz").astype(np.float64)).any()


@pytest.mark.parametrize("turn", range(5))
def test_structures_hold_in_every_turn(tmp_path, turn):
    x = inputs(tmp_path, "permutation", "i32", turn=turn)
    assert all(sorted(row) == list(range(1000)) for row in x.tolist())
    assert not (x[0] == x[1]).all()
    for init, dtype in (("sorted", "f16"), ("sorted(-5, rows)", "i32")):
        assert (np.diff(inputs(tmp_path, init, dtype, turn=turn).astype(np.float64), axis=-1) >= 0).all()
    offsets = inputs(tmp_path, "offsets(cols * 7)", "i32", rows=1, cols=1001, turn=turn)[0]
    assert (offsets[0], offsets[-1]) == (0, 7007)
    lengths = np.diff(offsets)
    assert lengths.min() == 0
    assert 20 < lengths.max() < 700
    assert inputs(tmp_path, "offsets(0)", "i64", turn=turn).max() == 0
    assert inputs(tmp_path, "offsets(5)", "i64", cols=2, turn=turn).tolist() == [[0, 5]] * 4


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
