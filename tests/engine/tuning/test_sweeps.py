"""A sweep from end to end on the emulator: rows are verified, ranked, kept and recorded."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.cancellation import CancelledWorkError
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.tuning.space import TuneOptions
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.tuning import TuneResult, TuneRow
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox"), pytest.mark.thorough]

# HOW=1 is correct and fast. HOW=2 leaves out an element of the largest case. HOW=3 leaves out one of a small held-out
# case only, and is the fastest: it must win on the largest case and be refused on the others.
KERNEL = """// amdkernel: tune HOW=[0,1,2,3]
// amdkernel: launch add grid=[ceil_div(n, 64)] block=[64]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (HOW == 2 && n == 4096 && i == 77) return;
    if (HOW == 3 && n == 257 && i == 77) return;
    float w = x[i];
    for (int k = 0; k < (HOW == 3 ? 300 : HOW ? 600 : 4000); k++) w = w * 0.5f + 1.0f;
    z[i] = x[i] + y[i] + (w > 1e30f ? 1.0f : 0.0f);
}
"""
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
    """vector_add with two cases, so that a sweep is short."""
    made = tmp_path_factory.mktemp("problems") / "add_two"
    made.mkdir()
    cases = "[[cases]]\nn = 4096\n\n[[cases]]\nn = 257\nheld_out = true\n\n[tolerance]\nrtol = 1e-6\n"
    (made / "problem.toml").write_text(TOML[: TOML.index("[[cases]]")] + cases)
    (made / "reference.py").write_text(REFERENCE)
    return str(made)


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def tuned(engine: Engine, problem: str, said: list[str]) -> TuneResult:
    return engine.do(Tune(problem=problem, source=KERNEL), Work(say=said.append))


def row(answer: TuneResult, **values: str) -> TuneRow:
    return next(each for each in answer.rows if each.values == values)


def test_the_best_row_is_one_that_is_correct_on_all_cases(tuned: TuneResult, said: list[str]) -> None:
    assert tuned.verdict == "faster", tuned.reason
    assert tuned.best == {"HOW": "1"}
    assert tuned.line == "// amdkernel: build -DHOW=1"
    assert (tuned.strategy, tuned.combinations, len(tuned.rows)) == ("sweep", 4, 4)
    assert tuned.evidence == "modelled"
    assert tuned.reason.startswith("modelled: ")
    wrong, refused = row(tuned, HOW="2"), row(tuned, HOW="3")
    assert (wrong.verdict, wrong.rank, wrong.time_us.value) == ("incorrect", None, None)
    assert (refused.verdict, refused.rank) == ("incorrect", None)
    assert "n=257" in refused.reason
    assert any("2 of 4 rows; best so far HOW=1 (" in line and "us modelled" in line for line in said), said


@pytest.mark.thorough
def test_another_sweep_takes_the_rows_from_the_cache(engine: Engine, problem: str, tuned: TuneResult) -> None:
    again = engine.do(Tune(problem=problem, source=KERNEL), Work("user:bob"))
    assert [each.cached for each in again.rows].count(True) == 4
    strip = {"cached", "attempt"}
    assert [each.model_dump(exclude=strip) for each in again.rows] == [
        each.model_dump(exclude=strip) for each in tuned.rows
    ]


@pytest.mark.thorough
def test_a_sweep_is_one_line_of_the_history_and_its_rows_are_replayable(engine: Engine, tuned: TuneResult) -> None:
    listed = engine.attempts.list(by="local").attempts
    assert [(each.verb, each.id, each.speedup) for each in listed] == [("tune", tuned.attempt, tuned.speedup.value)]
    best = tuned.rows[0].attempt or ""
    record = engine.attempts.show(best).attempt
    assert (record["verb"], record["parent"]) == ("tune_row", tuned.attempt)
    assert record["options"] == {"values": tuned.best}
    assert record["answer"]["reason"].startswith("HOW=1: modelled ")
    replayed = engine.attempts.replay(best)
    assert replayed.holds, replayed.reason
    wrong = engine.attempts.replay(row(tuned, HOW="2").attempt or "")
    assert (wrong.holds, wrong.verdict_now) == (True, "incorrect")


@pytest.mark.thorough
def test_a_row_that_does_not_compile_is_invalid_and_the_others_are_ranked(engine: Engine, problem: str) -> None:
    source = KERNEL.replace("[0,1,2,3]", "[1,oops]")
    answer = engine.do(Tune(problem=problem, source=source))
    assert answer.best == {"HOW": "1"}
    assert row(answer, HOW="oops").verdict == "invalid"
    assert "does not compile" in row(answer, HOW="oops").reason


def test_a_bad_line_is_invalid_with_its_number_and_no_line_an_error(engine: Engine, problem: str) -> None:
    answer = engine.do(Tune(problem=problem, source=KERNEL.replace("[0,1,2,3]", "[0;1]")))
    assert (answer.verdict, answer.rows) == ("invalid", [])
    assert answer.reason.startswith("line 1: tune HOW="), answer.reason
    with pytest.raises(InputError, match="no `tune` line"):
        engine.do(Tune(problem=problem, source=KERNEL[KERNEL.index("\n") + 1 :]))


@pytest.mark.thorough
def test_a_cancelled_sweep_ends_and_records_the_rows_that_it_made(engine: Engine, problem: str) -> None:
    source = KERNEL.replace("[0,1,2,3]", "[10,20,30,40]")

    def cancel(message: str) -> None:
        if message.startswith("2 of 4 rows"):
            raise CancelledWorkError

    with pytest.raises(CancelledWorkError):
        engine.do(Tune(problem=problem, source=source), Work("user:eve", say=cancel))
    [line] = engine.attempts.list(by="user:eve").attempts
    assert (line.verb, line.verdict) == ("tune", "not_measured")
    assert line.reason == "cancelled after 2 of 4 rows, so none was chosen"
    answer = engine.attempts.show(line.id).attempt["answer"]
    assert (answer["best"], answer["line"], answer["speedup"]["value"]) == (None, None, None)
    assert [(each["verdict"], each["rank"]) for each in answer["rows"]] == [("correct", None)] * 2
    assert engine.attempts.show(answer["rows"][1]["attempt"]).attempt["parent"] == line.id
    again = engine.do(Tune(problem=problem, source=source, options=TuneOptions(rows=4)))
    assert [each.cached for each in again.rows].count(True) == 2


@pytest.mark.thorough
@pytest.mark.soak
def test_the_example_is_improved_and_waves_of_32_lanes_are_found_out(engine: Engine) -> None:
    example = Path(folder("examples") / "row_softmax" / "kernels" / "tunable.hip").read_text()
    answer = engine.do(Tune(problem="row_softmax", source=example))
    assert answer.verdict == "faster", answer.reason
    assert answer.best is not None
    assert answer.best["LANES"] == "64"
    on_rdna = engine.do(Tune(problem="row_softmax", source=example, target="emulator:gfx1100"))
    assert {each.verdict for each in on_rdna.rows if each.values["LANES"] == "64"} == {"incorrect"}
    assert on_rdna.best is not None
    assert on_rdna.best["LANES"] != "64"
