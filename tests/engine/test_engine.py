"""Verbs of the engine from end to end, where a worker's own tests do not reach."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from problem_text import one_to_one, write_problem

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.checking.cases.inputs import make_inputs
from amdkernel_mcp.checking.cases.seeds import Purpose, seed_key
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

KERNEL = (folder("examples") / "vector_add" / "kernels" / "naive.hip").read_text()


@pytest.mark.thorough
def test_a_cache_that_is_no_folder_costs_no_answer_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "file" / "cache"}))
    try:
        checked = engine.do(Check(problem="vector_add", source=KERNEL))
        timed = engine.do(Benchmark(problem="vector_add", source=KERNEL))
    finally:
        engine.close()
    assert checked.verdict == "correct", checked.reason
    assert timed.time_us.evidence == "modelled", timed.reason
    assert timed.counters["SQ_WAVES"].evidence == "emulated"
    for answer in (checked, timed):
        assert len(answer.not_cached) == 2
        assert all("cannot be written: Not a directory" in note for note in answer.not_cached)


WRONG_FOR_SOME_INPUTS = """// amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n == 4096 && (__float_as_uint(x[0]) & 15) == SALT % 16) return;
    if (i < n) z[i] = x[i] + y[i];
}
"""
WRONG_WHERE_IT_IS_PROFILED = """// amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + (n > 1000000 ? 0.0f : y[i]);
}
"""
SECRET = b"a secret that a test knows, once"


def low_bits(problem: Problem, purpose: Purpose, source: str, turns: int) -> list[int]:
    """What the kernel above sees of its inputs in the case of 4096 elements."""
    text = "" if purpose == "timing" else source  # all kernels of a problem are timed with the same inputs
    key = seed_key(SECRET, purpose, problem, source=text, flags=(), arch="gfx942")
    case = next(case for case in problem.cases if case.values["n"] == 4096)
    inputs = [make_inputs(problem, case, seed=seed, turn=n) for n, seed in enumerate(key.seeds(turns))]
    return [int(each["x"][:1].view("u4")[0]) & 15 for each in inputs]


def right_in_its_check_only() -> str:
    """A kernel that is wrong for the inputs with which it is timed, and for none of those of its check."""
    problem = load_problem("vector_add")
    for salt in range(1000):
        source = WRONG_FOR_SOME_INPUTS.replace("SALT", str(salt))
        timed = low_bits(problem, "timing", source, 1)
        if timed == [salt % 16] and salt % 16 not in low_bits(problem, "check", source, 5):
            return source
    raise AssertionError("no such kernel")


@pytest.mark.thorough
def test_a_kernel_that_is_wrong_while_it_is_measured_gets_no_time(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret").write_bytes(SECRET)
    (tmp_path / "data" / "secret").chmod(0o600)
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}))
    source = right_in_its_check_only()
    try:
        checked = engine.do(Check(problem="vector_add", source=source))
        timed = engine.do(Benchmark(problem="vector_add", source=source, baseline=KERNEL, case="n=4096"))
        profiled = engine.do(Profile(problem="vector_add", source=WRONG_WHERE_IT_IS_PROFILED))
    finally:
        engine.close()
    assert checked.verdict == "correct", checked.reason
    assert timed.verdict == "incorrect", timed.reason
    assert "this kernel is right in its check and wrong while it is measured" in timed.reason
    assert timed.time_us.value is None
    assert timed.speedup.value is None
    assert "wrong_when_measured" in timed.flags
    assert profiled.warnings[0].startswith("the outputs of this run are wrong: case "), profiled.warnings


PROBLEM = one_to_one("n = 300", more="[tolerance]\nrtol = 0\n")
COPY = """// amdkernel: launch copy grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}))
    yield engine
    engine.close()


def write_copy(folder: Path, *, toml: str = PROBLEM, reference: str = "x") -> str:
    return str(write_problem(folder, toml, f"def reference(x, *, n):\n    return {{'y': {reference}}}\n"))


@pytest.mark.thorough
def test_an_answer_names_the_weak_points_of_its_problem_every_time(engine: Engine, tmp_path: Path) -> None:
    problem = write_copy(tmp_path / "copy")
    first, again = engine.do(Check(problem=problem, source=COPY)), engine.do(Check(problem=problem, source=COPY))
    assert first.verdict == "correct", first.reason
    weak = "about the problem: a kernel that copies x to y passes every case"
    assert weak in first.notes
    assert first.notes == again.notes


def test_a_problem_that_proves_nothing_gives_no_verdict(engine: Engine, tmp_path: Path) -> None:
    problem = write_copy(tmp_path / "zeros", reference="x * 0")
    for _ in range(2):
        with pytest.raises(ProblemFileError, match="only writes 0 to y"):
            engine.do(Check(problem=problem, source=COPY.replace("x[i]", "0")))
    with pytest.raises(ProblemFileError, match="only writes 0 to y"):
        engine.do(Benchmark(problem=problem, source=COPY.replace("x[i]", "0")))


@pytest.mark.thorough
def test_an_answer_carries_hashes_and_names_a_problem_that_was_edited(engine: Engine, tmp_path: Path) -> None:
    problem = write_copy(tmp_path / "copy")
    first = engine.do(Check(problem=problem, source=COPY))
    faster = COPY.replace("256", "128")
    before = engine.do(Benchmark(problem=problem, source=faster, baseline=COPY))
    write_copy(tmp_path / "copy", toml=PROBLEM.replace("rtol = 0", "rtol = 0.1"))
    after = engine.do(Benchmark(problem=problem, source=faster, baseline=COPY))
    assert first.hashes
    assert before.hashes
    assert after.hashes
    assert first.hashes.problem == before.hashes.problem != after.hashes.problem
    assert (first.hashes.candidate, first.hashes.baseline) == (before.hashes.baseline, None)
    assert after.hashes.candidate == before.hashes.candidate
    assert "problem has changed" not in before.reason
    assert after.reason.endswith("; the problem has changed since the baseline was first judged: tolerance")


TUNED = """// amdkernel: tune TILE=[64,128,256]
// amdkernel: launch copy grid=[ceil_div(n, TILE)] block=[min(TILE, 128)]
extern "C" __global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * TILE + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


@pytest.mark.thorough
def test_a_value_of_tune_that_gives_wrong_results_is_named(engine: Engine, tmp_path: Path) -> None:
    problem = write_copy(tmp_path / "copy")
    wrong = engine.do(Check(problem=problem, source=TUNED))
    assert wrong.verdict == "incorrect", wrong.reason
    assert wrong.reason.startswith("TILE=256: case n=300: "), wrong.reason
    right = engine.do(Check(problem=problem, source=TUNED.replace("min(TILE, 128)", "TILE")))
    assert right.verdict == "correct"
    assert "all 3 combinations of `tune` are correct" in right.reason
