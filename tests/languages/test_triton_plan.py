"""The launch plan of a Triton kernel, its types and variants, and how its launches are bound. Nothing is compiled."""

import json
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.launch_needs import KEY, LaunchNeeds, read_launch_needs
from amdkernel_mcp.compiler.triton import KernelTypes, TritonCompiler
from amdkernel_mcp.errors import FlagError, InputError
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.languages.triton import Triton
from amdkernel_mcp.launch.bind import bind
from amdkernel_mcp.launch.kernel_symbols import KernelSymbol, Parameter
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.stdio.local_files import with_text
from tests.languages.triton_kernels import GROUPED_GEMM, MATMUL, SOFTMAX, VECTOR_ADD
from tests.languages.triton_problems import write_problems


@pytest.fixture
def matmul(tmp_path: Path) -> Problem:
    write_problems(tmp_path)
    return load_problem(str(tmp_path / "matmul"))


def compiler_of(source: str, problem: Problem | None) -> TritonCompiler:
    language = Triton()
    made = language.toolchain(language.read_plan(source, problem), problem)
    assert isinstance(made, TritonCompiler)
    return made


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (VECTOR_ADD, "Triton"),
        ("from triton.experimental import gluon\n@gluon.jit\ndef f(): pass\n", "Triton"),
        ("// a port of a kernel with @triton.jit\n__global__ void k() {}\n", "HIP"),
        ("import torch\n", "HIP"),
    ],
)
def test_the_language_is_seen_in_the_text(source: str, name: str) -> None:
    assert language_of(source, "kernel.hip").name == name


def test_types_and_variants_are_those_that_the_launcher_would_choose(matmul: Problem) -> None:
    integers = ("i32",) * 3 + ("i32", "1") * 3
    assert compiler_of(MATMUL, matmul).kernels == {
        "matmul": KernelTypes(
            ("*fp16", "*fp16", "*fp32", *integers),
            # no multiple of 16; m=96, n=80, k=64; of m=33, n=65, k=70 there is none, which is the first again
            ((), (3, 4, 5, 6, 8, 10)),
        )
    }


def test_none_is_an_argument_that_the_kernel_is_compiled_without(matmul: Problem) -> None:
    source = MATMUL.replace("args=[a, b, c,", "args=[a, None, c,")
    assert source != MATMUL
    plan = Triton().read_plan(source, matmul)
    assert not plan.mistakes
    assert compiler_of(source, matmul).kernels["matmul"].types[:3] == ("*fp16", "None", "*fp32")
    kinds = ", ".join(["*f16", "*f16", "*f32", *["i32"] * 9])
    given = compiler_of(source.replace("grid=", f"types=[{kinds}] grid=", 1), None)
    assert given.kernels["matmul"].types[:3] == ("*fp16", "None", "*fp32")


def test_constants_of_lines_and_launches_are_flags_that_tune_replaces() -> None:
    plan = Triton().read_plan(SOFTMAX)
    assert plan.flags() == ("-DBLOCK=8192", "-Dnum_warps=4")
    assert plan.flags({"num_warps": "8"}) == ("-DBLOCK=8192", "-Dnum_warps=8")
    pasted = Triton().read_plan(SOFTMAX.replace("tune num_warps=[4, 8]", Triton().fixed({"num_warps": "8"})[13:]))
    assert pasted.flags() == ("-DBLOCK=8192", "-Dnum_warps=8")
    assert Triton().read_plan(GROUPED_GEMM).constants() == {"PROGRAMS": 6, "BM": 16, "BN": 32, "BK": 32}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("launch add grid=[n] BLOCK=[1,2]", "BLOCK=[1,2] must be a number, a name or a quoted text"),
        ("constexpr BLOCK=512", "BLOCK has two values, 1024 and 512"),
        ("build -O3", "`build` is not a plan line"),
        ("launch add block=[64]", "launch add has no setting 'block'; it has grid, args, types"),
        ("launch add grid=[n] types=[*f32, int]", "no type is 'int'"),
        ("launch add grid=[n] types=[*f16, *f32, *f32, i32]", "(*fp16, *fp32, *fp32, i32) are not those of line 1"),
    ],
)
def test_a_wrong_line_is_a_finding(line: str, says: str) -> None:
    plan = Triton().read_plan(f"{VECTOR_ADD}# amdkernel: {line}\n", load_problem("vector_add"))
    assert [says in mistake.message for mistake in plan.mistakes] == [True], plan.mistakes


def test_only_constants_are_flags() -> None:
    compiler = compiler_of(VECTOR_ADD, load_problem("vector_add"))
    compiler.check(["-DBLOCK=64", "-DTYPE=tl.float16"])
    with pytest.raises(FlagError, match="not allowed for Triton"):
        compiler.check(["-O3"])


def kernel(symbol: str, multiples: tuple[int, ...]) -> KernelSymbol:
    needs = LaunchNeeds(kernel="add", block=256, lds=512, null_pointers=2, compiled_in=(), multiples_of_16=multiples)
    parameters = (*[Parameter(True, 8)] * 3, Parameter(False, 4), *[Parameter(True, 8)] * 2)
    return KernelSymbol(symbol, symbol, parameters, 256, 0, needs)


def test_a_launch_takes_the_code_whose_assumptions_hold_and_what_the_compiler_decided() -> None:
    problem = load_problem("vector_add")
    plan = Triton().read_plan(VECTOR_ADD, problem)
    kernels = [kernel("add", ()), kernel("add__n_by_16", (3,))]
    bound = [bind(plan, problem, case, kernels=kernels, arch="gfx942").launches[0] for case in problem.cases]
    chosen = {case.values["n"]: launch.kernel for case, launch in zip(problem.cases, bound, strict=True)}
    assert (chosen[4096], chosen[1000], chosen[12345]) == ("add__n_by_16", "add", "add")
    assert (bound[0].grid, bound[0].block, bound[0].lds_bytes) == ((4, 1, 1), (256, 1, 1), 512)
    assert [argument.buffer for argument in bound[0].arguments] == ["x", "y", "z", None, None, None]
    assert bound[0].arguments[4].scalar == bytes(8)


def test_a_constant_that_is_a_function_of_the_case_has_a_code_for_each_value() -> None:
    """`BLOCK = triton.next_power_of_2(n)` in host code, as most row-wise kernels have it."""
    source, problem = SOFTMAX.replace("BLOCK=8192", "BLOCK=max(64, next_power_of_2(cols))"), load_problem("row_softmax")
    assert source != SOFTMAX
    compiler, plan = compiler_of(source, problem), Triton().read_plan(source, problem)
    sets = compiler.kernels["softmax"].constants
    assert sets[:3] == ((("BLOCK", 512),), (("BLOCK", 1024),), (("BLOCK", 64),)), "of the cases, in their order"
    assert {size for ((_, size),) in sets} == {1 << bit for bit in range(6, 14)}, "of the range of cols"
    pointers = [Parameter(True, 8)] * 2
    kernels = [
        KernelSymbol(
            f"softmax__BLOCK_{size}", "softmax", (*pointers, Parameter(False, 4), *pointers), 256, 0,
            LaunchNeeds(kernel="softmax", block=256, lds=0, null_pointers=2, compiled_in=(), multiples_of_16=(),
                        constants={"BLOCK": size}),
        )
        for size in (64, 512, 1024)
    ]  # fmt: skip
    bound = {case.values["cols"]: bind(plan, problem, case, kernels=kernels, arch="gfx942") for case in problem.cases}
    assert [bound[cols].launches[0].kernel[15:] for cols in (512, 1000, 33, 257)] == ["512", "1024", "64", "512"]
    lost = bind(plan, problem, problem.cases[1], kernels=kernels[:2], arch="gfx942").finding
    assert lost is not None
    assert "there is no code for BLOCK=1024" in lost.message


def test_a_constant_cannot_be_computed_from_what_is_no_scalar() -> None:
    plan = Triton().read_plan(
        SOFTMAX.replace("BLOCK=8192", "BLOCK=next_power_of_2(colls)"), load_problem("row_softmax")
    )
    assert ["did you mean 'cols'" in mistake.message for mistake in plan.mistakes] == [True]
    source = SOFTMAX.replace("BLOCK=8192", "num_warps=next_power_of_2(cols) BLOCK=8192")
    plan = Triton().read_plan(source, load_problem("row_softmax"))
    assert ["`tune` has values for it" in mistake.message for mistake in plan.mistakes] == [True], plan.mistakes


@pytest.mark.parametrize("text", ["{", "[]", "1" * 20_000, json.dumps({"kernel": "k", "block": 4096}), "null"])
def test_needs_that_are_damaged_are_none(text: str) -> None:
    assert read_launch_needs({KEY: text}) is None


def test_only_python_of_triton_is_sent_to_a_server(tmp_path: Path) -> None:
    kernel, other = tmp_path / "add.py", tmp_path / "secrets.py"
    kernel.write_text(VECTOR_ADD)
    other.write_text("KEY = 'secret'\n")
    assert with_text({"path": str(kernel)}) == {"source": VECTOR_ADD}
    with pytest.raises(InputError, match="only kernels in Triton"):
        with_text({"path": str(other)})
