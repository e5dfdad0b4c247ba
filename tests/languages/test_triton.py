"""Triton and Gluon kernels through the verbs, on the emulator; the layer with Triton is installed once per machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.setup.build import setup_triton
from amdkernel_mcp.kernel_source import read_kernel
from amdkernel_mcp.results.kernels import CheckResult
from tests.languages.triton_kernels import (
    ADD_WITH_HELPERS,
    ATTENTION,
    DESCRIPTORS,
    GLUON_ADD,
    GLUON_EXCHANGE,
    GROUPED_GEMM,
    HELPERS,
    LAYER_NORM,
    MATMUL,
    SOFTMAX,
    VECTOR_ADD,
)
from tests.languages.triton_problems import write_problems
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.thorough, pytest.mark.usefixtures("sandbox")]

KERNELS = {
    "vector_add": VECTOR_ADD,
    "row_softmax": SOFTMAX,
    "layer_norm": LAYER_NORM,
    "matmul": MATMUL,
    "attention": ATTENTION,
    "grouped": GROUPED_GEMM,
}
COUNTER = """\
# amdkernel: workspace total dtype=f32 shape=[1]
# amdkernel: launch clear grid=[1] args=[total]
# amdkernel: launch count grid=[ceil_div(n, BLOCK)] args=[x, total, n] BLOCK=1024
# amdkernel: launch finish grid=[1] args=[total, y]
import triton
import triton.language as tl


@triton.jit
def clear(total):
    tl.store(total, 0.0)


@triton.jit
def count(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0)
    tl.store(total, tl.load(total) + part)


@triton.jit
def finish(total, y):
    tl.store(y, tl.load(total))
"""


class Checks:
    """One engine, and the folder of the problems that are not bundled."""

    def __init__(self, engine: Engine, problems: Path) -> None:
        self.engine, self._problems = engine, problems

    def __call__(self, problem: str, source: str, target: str = "emulator:gfx942") -> CheckResult:
        own = self._problems / problem
        name = str(own) if own.is_dir() else problem
        return self.engine.do(
            Check(problem=name, source=source, target=target, options=CheckOptions(seed_count=1, schedules=1))
        )


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checks]:
    try:
        setup_triton(load_settings(), print)
    except ToolchainError as error:
        if "pip could not fetch" in error.message:
            pytest.skip(error.message)
        raise
    folder = tmp_path_factory.mktemp("triton")
    write_problems(folder)
    engine = Engine(load_settings({"data_dir": folder / "data", "cache_dir": folder / "cache"}))
    yield Checks(engine, folder)
    engine.close()


def test_a_block_that_is_the_next_power_of_two_of_each_case_is_judged_on_all_of_them(check: Checks) -> None:
    each = SOFTMAX.replace("BLOCK=8192", "BLOCK=max(128, next_power_of_2(cols))")
    answer = check("row_softmax", each)
    assert answer.verdict == "correct", (answer.reason, answer.findings)
    assert any(case.drawn for case in answer.cases)


def test_a_kernel_is_correct_without_an_argument_and_with_helpers_of_its_project(check: Checks, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "add.py").write_text(ADD_WITH_HELPERS)
    (tmp_path / "add.py.plan").write_text(
        "# amdkernel: launch add grid=[ceil_div(n, 256)] args=[x, y, None, z, n] BLOCK=256\n"
    )
    source = read_kernel(tmp_path / "add.py").source
    answer = check("vector_add", source)
    assert answer.verdict == "correct", (answer.reason, answer.findings)
    beyond = check("vector_add", source.replace("tl.load(x + at, mask=at < n)", "tl.load(x + at, mask=at < n + 99)"))
    line = ADD_WITH_HELPERS.splitlines().index("    a, b = both(x, y, at, n)") + 1
    assert ("out_of_bounds", line) in [(each.kind, each.line) for each in beyond.findings], beyond.findings


@pytest.mark.parametrize("problem", KERNELS)
def test_a_kernel_of_a_tutorials_kind_is_correct(check: Checks, problem: str) -> None:
    answer = check(problem, KERNELS[problem])
    assert answer.verdict == "correct", (answer.reason, answer.findings)
    header = KERNELS[problem].splitlines().index("@triton.jit") + 2
    assert answer.coverage is not None
    idle = {line for first, last in answer.coverage.lines_not_run for line in range(first, last + 1)}
    assert header not in idle, "what loads arguments for older firmware is not the user's code"


@pytest.mark.parametrize(
    ("problem", "arch"),
    one_in(3, [("matmul", "gfx90a"), ("attention", "gfx950"), ("matmul", "gfx1100"), ("attention", "gfx1201")]),
)
def test_matrix_instructions_are_correct_on_each_architecture(check: Checks, problem: str, arch: str) -> None:
    answer = check(problem, KERNELS[problem], f"emulator:{arch}")
    assert answer.verdict == "correct", (answer.reason, answer.findings)


def test_gluon_is_correct(check: Checks) -> None:
    for source in (GLUON_ADD, GLUON_EXCHANGE):
        answer = check("vector_add", source)
        assert answer.verdict == "correct", (answer.reason, answer.findings)


def test_tensor_descriptors_that_a_kernel_makes_are_correct(check: Checks) -> None:
    answer = check("vector_add", DESCRIPTORS)
    assert answer.verdict == "correct", (answer.reason, answer.findings)


@pytest.mark.parametrize(
    ("problem", "source", "kind", "line"),
    one_in(
        2,
        [
            ("vector_add", VECTOR_ADD.replace("total, mask=inside)", "total)"), "out_of_bounds", 11),
            ("vector_add", VECTOR_ADD.replace("(x + at, mask=inside)", "(x + at)"), "out_of_bounds", 10),
            ("reduce_sum", COUNTER, "race", 18),
            ("matmul", MATMUL.replace("k, 1, n, 1, n, 1]", "k, 1, n + 1, 1, n, 1]"), "out_of_bounds", 24),
            ("vector_add", GLUON_EXCHANGE.replace("    gl.barrier()\n", ""), "race", 15),
        ],
    ),
    ids=["store without a mask", "load without a mask", "counter without an atomic", "wrong stride", "Gluon's barrier"],
)
@pytest.mark.parametrize("arch", one_in(3, ["gfx942", "gfx1201", "gfx1100"]))
def test_a_planted_mistake_is_found_in_its_line(
    check: Checks, problem: str, source: str, kind: str, line: int, arch: str
) -> None:
    source = source.replace("LANES=64", "LANES=32") if arch in ("gfx1201", "gfx1100") else source
    answer = check(problem, source, f"emulator:{arch}")
    assert answer.verdict == "incorrect", answer.reason
    assert (kind, line) in {(found.kind, found.line) for found in answer.findings}, answer.findings
    advice = {
        "out_of_bounds": "mask=index < size",
        "race": "`tl.atomic_add`" if problem == "reduce_sum" else "barrier",
    }[kind]
    assert any(advice in found.message for found in answer.findings), answer.findings


@pytest.mark.parametrize(
    ("old", "new", "says", "line"),
    one_in(
        2,
        [
            ("at < n\n", "at < size\n", "size is not defined", 9),
            ("mask=inside)\n    tl", "mask=inside) + tl.zeros([3], tl.float32)\n    tl", "power of", 10),
            ("launch add", "launch sum", "no @triton.jit function 'sum' (functions: add)", None),
            ("at < n\n", "at <\n", "SyntaxError", 9),
        ],
    ),
    ids=["a name", "a shape", "no such kernel", "no Python"],
)
def test_a_kernel_that_does_not_compile_says_where(
    check: Checks, old: str, new: str, says: str, line: int | None
) -> None:
    answer = check("vector_add", VECTOR_ADD.replace(old, new, 1))
    assert answer.verdict == "invalid"
    first = answer.findings[0]
    assert (says in first.message, first.line) == (True, line), first


TUNED = """\
# amdkernel: launch scale grid=[1] types=[*f32, i32]
import triton
import triton.language as tl
from our.parts import doubled, named


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}, num_warps=4), triton.Config({"BLOCK": 256}, num_warps=8)], key=["n"]
)
@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit(repr=named)
def scale(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, doubled(tl.load(x + at, mask=at < n)), mask=at < n)
"""


@pytest.mark.parametrize(
    ("lines", "says", "line"),
    [
        (
            "",
            "`# amdkernel: tune BLOCK=[128, 256] num_warps=[4, 8] num_stages=[3]` and `# amdkernel: constexpr EVEN=..`",
            12,
        ),
        (
            "# amdkernel: constexpr BLOCK=128 EVEN=0\n",
            "doubled is imported from our.parts, which the sandbox lacks",
            15,
        ),
    ],
    ids=["constants that autotune and heuristics choose", "a helper of another file"],
)
def test_what_a_file_leaves_to_others_is_named_with_what_to_write(
    check: Checks, lines: str, says: str, line: int
) -> None:
    compiled = check.engine.do(Compile(source=lines + TUNED))
    errors = [each for each in compiled.diagnostics if each.severity == "error"]
    assert errors, compiled
    assert says in errors[0].message, errors
    assert errors[0].line == line, errors


def test_compile_and_profile_name_resources_and_python_lines(check: Checks) -> None:
    typed = VECTOR_ADD.replace("BLOCK=1024", "types=[*f32, *f32, *f32, i32] BLOCK=1024", 1)
    compiled = check.engine.do(Compile(source=typed, isa=True))
    assert [kernel.name for kernel in compiled.kernels] == ["add"]
    assert "; 11: tl.store(z + at, total, mask=inside)" in (compiled.isa or "")
    profile = check.engine.do(Profile(problem="vector_add", source=VECTOR_ADD))
    [kernel] = profile.kernels
    assert kernel.name == "add__n_by_16", "4194304 is a multiple of 16, as Triton's launcher would see"
    assert {hot.line for hot in kernel.hot_lines} <= {7, 8, 9, 10, 11}
