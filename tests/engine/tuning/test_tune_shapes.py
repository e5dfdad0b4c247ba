"""A sweep over a table of shapes on the emulator: the best values of each, a rule, one record that can be repeated."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.tuning.space import TuneOptions
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.tuning import TuneResult

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox"), pytest.mark.thorough]

# HOW=0 wastes time on large shapes, HOW=1 on small ones, and HOW=2 is quick and wrong.
KERNEL = """// amdkernel: tune HOW=[0,1,2]
// amdkernel: launch add grid=[ceil_div(n, 64)] block=[64]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || (HOW == 2 && i == 77)) return;
    float w = x[i];
    for (int k = 0; k < (HOW == 2 ? 1 : (n > 1000) == HOW ? 100 : 5000); k++) w = w * 0.5f + 1.0f;
    z[i] = x[i] + y[i] + (w > 1e30f ? 1.0f : 0.0f);
}
"""
SHAPES = "N,dtype\n128,fp32\n256,fp32\n640,fp32\n1536,fp32\n2048,fp32\n3072,fp32\n99,bf16\n"
TOML = (folder("examples") / "vector_add" / "problem.toml").read_text()
REFERENCE = (folder("examples") / "vector_add" / "reference.py").read_text()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    data = tmp_path_factory.mktemp("tune")
    engine = Engine(load_settings({"data_dir": data / "data", "cache_dir": data / "cache"}))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("problems") / "add_small"
    made.mkdir()
    cases = "[[cases]]\nn = 512\n\n[[cases]]\nn = 2049\nheld_out = true\n\n[tolerance]\nrtol = 1e-6\n"
    (made / "problem.toml").write_text(TOML[: TOML.index("[[cases]]")] + cases)
    (made / "reference.py").write_text(REFERENCE)
    return str(made)


@pytest.fixture(scope="module")
def tuned(engine: Engine, problem: str) -> TuneResult:
    return engine.do(Tune(problem=problem, source=KERNEL, options=TuneOptions(shapes=SHAPES)))


@pytest.mark.thorough
def test_each_shape_has_its_best_values_and_a_wrong_row_is_best_nowhere(tuned: TuneResult) -> None:
    best = {shape.shape: (shape.best or {}).get("HOW") for shape in tuned.shapes}
    assert best == {f"n={n}": "0" if n <= 1000 else "1" for n in (128, 256, 640, 1536, 2048, 3072)}
    wrong = [row for row in tuned.rows if row.values == {"HOW": "2"}]
    assert [(row.verdict, row.rank) for row in wrong] == [("incorrect", None)] * 6
    assert {row.shape for row in tuned.rows} == set(best)
    assert tuned.verdict == "faster", tuned.reason
    assert "1 row of dtype bf16 left out: the inputs of add_small are f32" in tuned.notes


def test_the_rule_is_judged_on_shapes_that_it_was_not_fitted_on(tuned: TuneResult) -> None:
    assert tuned.rule is not None
    unseen = [shape for shape in tuned.shapes if shape.held_out]
    assert len(unseen) == tuned.rule.held_out == 1
    assert [leaf.line for leaf in tuned.rule.leaves] == [f"// amdkernel: build -DHOW={how}" for how in (0, 1)]
    assert tuned.rule.worst_cost == max(shape.by_rule_costs or 0 for shape in unseen) == 1
    assert "on 1 held-out shape the rule of 2 leaves takes 1 times the best row's time" in tuned.reason


@pytest.mark.thorough
def test_one_record_repeats_the_whole(engine: Engine, tuned: TuneResult) -> None:
    assert tuned.attempt
    again = engine.attempts.replay(tuned.attempt)
    assert again.holds, again.reason
    shown = engine.attempts.show(again.attempt or "").attempt["answer"]
    assert [each["best"] for each in shown["shapes"]] == [each.best for each in tuned.shapes]


def test_more_combinations_than_rows_and_a_case_besides_are_refused(engine: Engine, problem: str) -> None:
    with pytest.raises(InputError, match="all combinations are tried, and the `tune` lines have 3"):
        engine.do(Tune(problem=problem, source=KERNEL, options=TuneOptions(shapes=SHAPES, rows=2)))
    with pytest.raises(InputError, match="no case can be chosen"):
        TuneOptions(shapes=SHAPES, case="n=512")
