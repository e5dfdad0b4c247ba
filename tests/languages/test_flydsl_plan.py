"""The launch plan of a FlyDSL kernel, and how its launch is bound. Nothing is compiled."""

import json
import struct

import pytest

from amdkernel_mcp.compiler.flydsl import FlyDslCompiler, HostArgument
from amdkernel_mcp.compiler.launch_needs import LaunchNeeds, Passed, needs_of_all
from amdkernel_mcp.errors import FlagError
from amdkernel_mcp.kernel_source import is_python_kernel
from amdkernel_mcp.languages.flydsl import FlyDsl
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.launch.bind import BoundPlan, bind
from amdkernel_mcp.launch.kernel_symbols import KernelSymbol, Parameter
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem
from tests.languages.flydsl_kernels import SOFTMAX, VECTOR_ADD

_F32 = HostArgument("f32", 1)


def compiler_of(source: str, problem: Problem | None) -> FlyDslCompiler:
    language = FlyDsl()
    made = language.toolchain(language.read_plan(source, problem), problem)
    assert isinstance(made, FlyDslCompiler)
    return made


def test_the_language_is_seen_in_the_text() -> None:
    assert language_of(VECTOR_ADD, "kernel.hip").name == "FlyDSL"
    assert language_of(SOFTMAX, "kernel.hip").name == "FlyDSL"
    assert language_of("import flydsl\n", "kernel.hip").name == "HIP"
    assert is_python_kernel(SOFTMAX)


def test_the_host_function_is_traced_with_the_arrays_and_scalars_of_the_plan() -> None:
    problem = load_problem("vector_add")
    assert FlyDsl().read_plan(VECTOR_ADD, problem).mistakes == ()
    assert compiler_of(VECTOR_ADD, problem).arguments == (_F32, _F32, _F32, HostArgument())
    assert compiler_of(SOFTMAX, load_problem("row_softmax")).arguments == (
        HostArgument("f32", 2), HostArgument("f32", 2), HostArgument(), HostArgument()
    )  # fmt: skip
    assert compiler_of(VECTOR_ADD, None).arguments is None, "nothing says them"
    alone = VECTOR_ADD.replace("args=[x, y, z, n]", "types=[*f16, *f32:2, f32, i32]")
    assert compiler_of(alone, None).arguments == (
        HostArgument("f16", 1), HostArgument("f32", 2), HostArgument(is_float=True), HostArgument()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("launch other args=[x, y, z, n]", "a candidate in FlyDSL has one launch line"),
        ("constexpr WIDE=max(1, n)", "WIDE: FlyDSL's constants have one value for all cases"),
        ("build -O3", "`build` is not a plan line"),
        ("constexpr BLOCK=512", "BLOCK has two values, 256 and 512"),
    ],
)
def test_a_wrong_line_is_a_finding(line: str, says: str) -> None:
    plan = FlyDsl().read_plan(f"{VECTOR_ADD}# amdkernel: {line}\n", load_problem("vector_add"))
    assert [says in mistake.message for mistake in plan.mistakes] == [True], plan.mistakes


@pytest.mark.parametrize("kind", ["f31", "f32:2", "*f32:9"])
def test_a_type_that_is_none_is_a_finding(kind: str) -> None:
    plan = FlyDsl().read_plan(f"# amdkernel: launch host types=[{kind}]\n")
    assert [f"no type is {kind!r}" in mistake.message for mistake in plan.mistakes] == [True]


def test_only_constants_are_flags() -> None:
    compiler_of(VECTOR_ADD, None).check(["-DBLOCK=64"])
    with pytest.raises(FlagError, match="not allowed for FlyDSL"):
        compiler_of(VECTOR_ADD, None).check(["-O3"])


_SIZES = Passed(argument=0, shape=(0, 1), strides=(0,))


def bound_softmax(
    *parameters: Passed, grid: tuple[str, ...] = ("a2", "ceil_div(a3, 256)"), widths: tuple[int, ...] = (8, 16, 8, 4)
) -> BoundPlan:
    problem = load_problem("row_softmax")
    plan = FlyDsl().read_plan(SOFTMAX, problem)
    needs = LaunchNeeds(kernel="make", block=256, block_shape=(64, 4), lds=96, null_pointers=0, compiled_in=(),
                        multiples_of_16=(), grid=grid, parameters=parameters)  # fmt: skip
    kinds = tuple(Parameter(how.argument in (0, 1) and not how.shape, width)
                  for how, width in zip(parameters, widths, strict=False))  # fmt: skip
    kernel = KernelSymbol("softmax_0", "softmax_0", kinds, 256, 0, needs)
    return bind(plan, problem, problem.cases[1], kernels=[kernel], arch="gfx942")


def test_a_launch_has_the_grid_block_and_parameters_of_the_host_function() -> None:
    """The case has 24 rows with 1000 columns."""
    bound = bound_softmax(Passed(argument=0), _SIZES, Passed(argument=1), Passed(formula="(a3 * 2)"))
    [launch] = bound.launches
    assert (launch.grid, launch.block, launch.lds_bytes) == ((24, 4, 1), (64, 4, 1), 96)
    assert [argument.buffer for argument in launch.arguments] == ["x", None, "y", None]
    assert launch.arguments[1].scalar == struct.pack("<2Iq", 24, 1000, 1000), "rows, columns, elements of a row"
    assert launch.arguments[3].scalar == struct.pack("<I", 2000)
    [launch] = bound_softmax(Passed(argument=0), grid=("a0_0", "ceil_div(a1_1, 300)")).launches
    assert launch.grid == (24, 4, 1), "of the shapes of x and y"


@pytest.mark.parametrize(
    ("parameter", "grid", "says"),
    [
        (Passed(formula="rows"), ("1",), "names more than arguments"),
        (Passed(formula="a3 +"), ("1",), "it ends too early"),
        (Passed(argument=9), ("1",), "takes other parameters than its compiler says"),
        (_SIZES, ("1",), "takes 8 bytes, and the sizes of `x` are 16"),
        (Passed(argument=0), (), "the grid cannot be read from the source: add `grid=[..]`"),
        (Passed(argument=0), ("a0",), "a0"),
        (Passed(argument=0), ("a0_2",), "a0_2"),
        (Passed(argument=0), ("a2 - 24",), "is 0 in case"),
    ],
)
def test_what_a_candidate_could_say_wrongly_about_its_launch_is_a_finding(
    parameter: Passed, grid: tuple[str, ...], says: str
) -> None:
    finding = bound_softmax(parameter, grid=grid).finding
    assert finding is not None
    assert says in finding.message, finding.message


def test_the_section_with_the_needs_of_all_kernels_may_be_damaged() -> None:
    good = LaunchNeeds(kernel="k", block=64, lds=0, null_pointers=0, compiled_in=(), multiples_of_16=())
    texts = {"k_0": good.model_dump_json(), "k_1": "{", "k_2": 7}
    assert needs_of_all(json.dumps(texts).encode()) == {"k_0": good}
    for damaged in (b"", b"[1]", b"\xff", b"[" * 5000):
        assert needs_of_all(damaged) == {}
