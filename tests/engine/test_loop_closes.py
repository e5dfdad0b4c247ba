"""Benchmark and profile are about one case, compare in pairs, and run nothing twice."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from problem_text import one_to_one, write_problem

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.errors import HistoryError, InputError
from amdkernel_mcp.profiling.options import ProfileOptions
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

CASES = "n = 300\n\n[[cases]]\nn = 262144\nprofile = true"
REFERENCE = "def reference(x, *, n):\n    return {'y': x * 2}\n"
DOUBLES = """// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = x[i] * 2;
}
"""
WASTES = """// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float w = i < n ? x[i] : 0.0f, v = w;
    for (int r = 0; r < 3000; r++) w = w * 0.5f + 0.25f;
    if (i < n) y[i] = v * 2 + (w > 1e30f ? w : 0.0f);
}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}))
    yield engine
    engine.close()


@pytest.fixture
def problem(tmp_path: Path) -> str:
    return str(write_problem(tmp_path / "twice", one_to_one(CASES), REFERENCE))


def test_a_true_improvement_is_faster_at_the_case_that_counts(engine: Engine, problem: str) -> None:
    answer = engine.do(Benchmark(problem=problem, source=DOUBLES, baseline=WASTES))
    assert answer.verdict == "faster", answer.reason
    assert answer.case == "n=262144"
    assert "case n=262144" in answer.reason
    assert 1 < answer.speedup.low < answer.speedup.value <= answer.speedup.high
    back = engine.do(Benchmark(problem=problem, source=WASTES, baseline=f"attempt:{answer.attempt}"))
    assert back.verdict == "slower", back.reason
    assert back.speedup.high == pytest.approx(1 / answer.speedup.low)


@pytest.mark.thorough
def test_a_copy_with_a_comment_is_one_times_as_fast_exactly(engine: Engine, problem: str) -> None:
    copy, said = DOUBLES.replace("    int i", "    // a comment\n    int i"), list[str]()
    answer = engine.do(Benchmark(problem=problem, source=copy, baseline=DOUBLES), Work(say=said.append))
    assert [text for text in said if text.startswith("measuring")][1:] == [], "the copy is the same machine code"
    assert said.count("this kernel was checked before") == said.count("this kernel was measured before") == 1
    assert (answer.verdict, answer.speedup.low, answer.speedup.value, answer.speedup.high) == ("inconclusive", 1, 1, 1)
    assert answer.time_us == answer.baseline_time_us
    first, second = engine.attempts.list().attempts[0], engine.do(Benchmark(problem=problem, source=DOUBLES))
    assert engine.attempts.list().attempts[0].gain == 1, "in the history as well"
    assert first.time_us == second.time_us.value
    profile = engine.do(
        Profile(problem=problem, source=copy, options=ProfileOptions(compare_to=f"attempt:{second.attempt}"))
    )
    assert profile.comparison is not None
    assert profile.comparison.figures == []
    assert profile.comparison.times[0].says.startswith("the same: ")
    assert profile.case == "n=262144"


@pytest.mark.thorough
def test_a_benchmark_and_a_sweep_use_what_a_check_and_a_profile_found(engine: Engine, problem: str) -> None:
    source, said = f"// amdkernel: tune SIZE = 256\n{DOUBLES}", list[str]()
    assert engine.do(Check(problem=problem, source=source, options=CheckOptions())).verdict == "correct"
    engine.do(Profile(problem=problem, source=source))
    answer = engine.do(Benchmark(problem=problem, source=source), Work(say=said.append))
    engine.do(Tune(problem=problem, source=source), Work(say=said.append))
    assert said.count("this kernel was checked before") == 1, said
    assert said.count("this kernel was measured before") == 1, said
    assert [text for text in said if text.endswith("SIZE=256 was measured before")], said
    assert answer.code_object is not None
    assert engine.do(Check(problem=problem, source=source)).seconds > 0, "a check runs whenever it is asked for"


@pytest.mark.thorough
def test_what_is_known_is_not_emulated_again(engine: Engine, problem: str, tmp_path: Path) -> None:
    said: list[str] = []
    first = engine.do(Benchmark(problem=problem, source=DOUBLES, baseline=WASTES), Work(say=said.append))
    ran = [text for text in said if text.startswith("measuring")]
    said.clear()
    again = engine.do(Benchmark(problem=problem, source=DOUBLES, baseline=WASTES), Work(say=said.append))
    assert len(ran) == 2, ran
    assert not [text for text in said if text.startswith("measuring")], said
    assert said.count("this kernel was checked before") == said.count("this kernel was measured before") == 2
    changed = {"attempt", "progress"}
    assert again.model_dump(exclude=changed) == first.model_dump(exclude=changed)
    said.clear()
    replayed = engine.attempts.replay(first.attempt or "", work=Work(say=said.append))
    assert replayed.holds, replayed.reason
    assert len([text for text in said if text.startswith("measuring")]) == 2, "a replay runs all of it"
    shutil.rmtree(tmp_path / "cache" / "measured")
    engine.do(Benchmark(problem=problem, source=DOUBLES, baseline=WASTES), Work(say=said.append))


@pytest.mark.thorough
def test_another_case_is_chosen_by_its_sizes_and_unknown_names_are_errors(engine: Engine, problem: str) -> None:
    assert engine.do(Benchmark(problem=problem, source=DOUBLES, case="n=300")).case == "n=300"
    with pytest.raises(InputError, match="no announced case"):
        engine.do(Benchmark(problem=problem, source=DOUBLES, case="n=299"))
    with pytest.raises(HistoryError, match="there is no attempt"):
        engine.do(Benchmark(problem=problem, source=DOUBLES, baseline="attempt:aaaaaaaaaa"))
