"""Code that no case runs is named, a fast path for some sizes is reached, and honest kernels get a plain verdict."""

import re
from collections.abc import Iterator

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.results.kernels import CheckResult

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    made = Engine(settings)
    yield made
    made.close()


def example(problem: str, kernel: str = "naive") -> str:
    return (folder("examples") / problem / "kernels" / f"{kernel}.hip").read_text()


def with_fast_path(condition: str, then: str = "c[(size_t)row * n + col] = 1.0f;\n        return;") -> str:
    """The bundled product with wrong code for some sizes."""
    naive, begin = example("gemm_f32"), "    float sum = 0.0f;\n"
    assert begin in naive
    return naive.replace(begin, f"    if ({condition}) {{\n        {then}\n    }}\n{begin}")


def element(value: str) -> str:
    naive, right = example("vector_add"), "x[i] + y[i]"
    assert right in naive
    return naive.replace(right, value)


def total(value: str) -> str:
    naive, right = example("reduce_sum"), "part[0];\n}"
    assert right in naive
    return naive.replace(right, f"{value};\n}}")


REACHED = {
    "aligned tiles": ("gemm_f32", with_fast_path("m % 128 == 0 && n % 128 == 0 && k % 16 == 0")),
    "large tiles": ("gemm_f32", with_fast_path("m % 256 == 0 && n % 256 == 0 && k % 64 == 0")),
    "one long size": ("gemm_f32", with_fast_path("m % 2048 == 0")),
    "the last tile": ("gemm_f32", with_fast_path("(m | n | k) % 64 == 0", "k -= 1;")),
    "lines of another file": (
        "gemm_f32",
        with_fast_path("k >= 1024", '\n#line 1 "a.h"\nc[0] = 1;\nreturn;\n#line 12 "k.hip"\n'),
    ),
    "a choice without a branch": ("vector_add", element("n % 1024 == 0 && n != 4096 ? 1.0f : x[i] + y[i]")),
    "multiples and large": ("vector_add", element("n >= 65536 && n % 1024 == 0 ? 1.0f : x[i] + y[i]")),
    "multiples of 1000": ("vector_add", element("n % 6000 == 0 ? 1.0f : x[i] + y[i]")),
    "a rare value": ("vector_add", element("x[i] > 8.0f ? 1.0f : x[i] + y[i]")),
    "a long sum": ("reduce_sum", total("n % 65536 == 0 && n != 1048576 ? 0.5f * n : part[0]")),
}
IN_GATE = ("multiples and large",)


@pytest.mark.parametrize(
    ("problem", "source"),
    [
        pytest.param(*case, id=name, marks=() if name in IN_GATE else pytest.mark.thorough)
        for name, case in REACHED.items()
    ],
)
def test_wrong_code_for_some_sizes_is_incorrect(engine: Engine, problem: str, source: str) -> None:
    result = engine.do(Check(problem=problem, source=source))
    assert result.verdict == "incorrect", f"{result.reason} {result.cases}"


GUARD = "    if (i < n)\n"
HIDDEN = example("vector_add").replace(GUARD, f"    if (n == 12345678) {{\n        z[i] = n;\n    }}\n{GUARD}")
LINE = next(n for n, text in enumerate(HIDDEN.splitlines(), 1) if "z[i] = n;" in text)


@pytest.mark.thorough
def test_code_that_no_case_can_reach_is_named_with_its_lines(engine: Engine) -> None:
    result = engine.do(Check(problem="vector_add", source=HIDDEN))
    assert result.verdict == "correct"
    scope = result.coverage
    assert scope
    assert [LINE, LINE] in scope.lines_not_run
    assert 0 < scope.instructions_not_run < scope.instructions
    assert re.search(rf"; but lines? .*\b{LINE}\b.* ran in no case", result.reason)


@pytest.mark.thorough
def test_a_benchmark_says_what_its_check_did_not_run(engine: Engine) -> None:
    timed = engine.do(Benchmark(problem="vector_add", source=HIDDEN))
    assert timed.coverage
    assert [LINE, LINE] in timed.coverage.lines_not_run
    assert re.search(rf"; in its check lines? .*\b{LINE}\b.* ran in no case$", timed.reason), timed.reason


HONEST = {
    "traps and asserts": ("vector_add", element("n < 0 ? (__builtin_trap(), 0.0f) : x[i] + y[i]")),
    "a constant condition": ("vector_add", element("sizeof(long) == 4 ? 1.0f : x[i] + y[i]")),
    "a loop by hand": (
        "gemm_f32",
        example("gemm_f32").replace("for (int i = 0", "#pragma unroll 4\n    for (int i = 0"),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("problem", "source"), list(HONEST.values()), ids=list(HONEST))
def test_code_that_cannot_run_or_ran_in_another_copy_makes_no_noise(engine: Engine, problem: str, source: str) -> None:
    result = engine.do(Check(problem=problem, source=source))
    assert result.verdict == "correct"
    assert said_nothing(result), result.coverage


def said_nothing(result: CheckResult) -> bool:
    return result.coverage is not None and not result.coverage.not_run and "ran in no case" not in result.reason


@pytest.mark.thorough
def test_what_ran_with_other_bits_than_a_gpus_is_named(engine: Engine) -> None:
    answer = engine.do(Check(problem="row_softmax", source=example("row_softmax")))
    assert answer.coverage is not None
    [functions] = answer.coverage.not_exact
    assert functions.startswith("approximate: transcendental functions have the host's bits (")
    assert "v_exp_f32" in functions
    exact = engine.do(Check(problem="vector_add", source=example("vector_add")))
    assert exact.coverage is not None
    assert exact.coverage.not_exact == []
