import struct

import pytest
from problem_text import changed, write_problem

from amdkernel_mcp.launch.bind import bind
from amdkernel_mcp.launch.kernel_symbols import KernelSymbol, Parameter, find_kernel, source_name
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem

POINTER, INT, LONG = Parameter(True, 8), Parameter(False, 4), Parameter(False, 8)


def kernel(*parameters, symbol="softmax", max_block=1024, lds=0):
    return KernelSymbol(symbol, source_name(symbol), parameters, max_block, lds)


@pytest.fixture
def problem(tmp_path):
    return load_problem(write_problem(tmp_path))


def bound(problem, line, *kernels, arch="gfx942", case=0):
    plan = read_launch_plan(f"// amdkernel: {line}", problem)
    assert not plan.mistakes, plan.mistakes
    return bind(plan, problem, problem.cases[case], kernels=kernels, arch=arch)


def test_arguments_are_buffers_and_the_bytes_of_scalars(problem):
    launched = bound(problem, "launch softmax grid=[rows, 2] block=[64]", kernel(POINTER, POINTER, INT, INT))
    (launch,) = launched.launches
    assert (launch.grid, launch.block) == ((4, 2, 1), (64, 1, 1))
    assert [argument.buffer for argument in launch.arguments] == ["x", "y", None, None]
    assert [argument.scalar for argument in launch.arguments[2:]] == [struct.pack("<i", 4), struct.pack("<i", 10)]


def test_an_integer_takes_the_width_of_the_parameter(problem):
    launched = bound(
        problem, "launch softmax grid=[1] block=[1] args=[x, y, rows, 0 - cols]", kernel(POINTER, POINTER, LONG, LONG)
    )
    assert [a.scalar for a in launched.launches[0].arguments[2:]] == [struct.pack("<q", 4), struct.pack("<q", -10)]


def test_a_float_scalar_has_the_bits_of_its_dtype(tmp_path):
    text = changed(
        'name = "cols"\ndtype = "i32"', 'name = "cols"\ndtype = "i32"\n\n[[arguments]]\nname = "eps"\ndtype = "f16"'
    )
    text = text.replace("cols = 10", "cols = 10\neps = 0.5").replace("cols = 33", "cols = 33\neps = 1")
    problem = load_problem(write_problem(tmp_path, text))
    half = kernel(POINTER, POINTER, INT, INT, Parameter(False, 2))
    scalars = [
        bound(problem, "launch softmax grid=[1] block=[1]", half, case=case).launches[0].arguments[4].scalar
        for case in (0, 1)
    ]
    assert scalars == [struct.pack("<e", 0.5), struct.pack("<e", 1.0)]
    refused = bound(problem, "launch softmax grid=[1] block=[1]", kernel(POINTER, POINTER, INT, INT, INT))
    assert "takes 4 bytes, but `eps` is f16" in refused.finding.message


RIGHT = (POINTER, POINTER, INT, INT)
REFUSED = [
    ("launch soft grid=[1] block=[1]", RIGHT, "no such kernel; did you mean softmax? (kernels: softmax)"),
    ("launch softmax grid=[1] block=[1]", (POINTER, POINTER, INT), "takes 3 parameters, the plan gives 4"),
    ("launch softmax grid=[1] block=[1]", (POINTER, INT, POINTER, INT), "parameter 2 of the kernel is a scalar"),
    ("launch softmax grid=[1] block=[1] args=[x, rows, rows, cols]", RIGHT, "`rows` is a scalar"),
    ("launch softmax grid=[1] block=[33, 32]", RIGHT, "1056 threads"),
    ("launch softmax grid=[1] block=[1024]", RIGHT, "__launch_bounds__ allows at most 512"),
    ("launch softmax grid=[rows // 100] block=[64]", RIGHT, "rows // 100 is 0"),
    ("launch softmax grid=[rows - 9] block=[64]", RIGHT, "is -5"),
    ("launch softmax grid=[1] block=[64] lds=rows - 9", RIGHT, "lds is -5"),
    ("launch softmax grid=[1] block=[64] lds=65536", RIGHT, "66048 bytes of LDS"),
    ("launch softmax grid=[1 // (rows - 4)] block=[64]", RIGHT, "divides by zero"),
    ("launch softmax grid=[1] block=[64] args=[x, y, rows, 5000000000]", RIGHT, "does not fit"),
]


@pytest.mark.parametrize(("line", "parameters", "said"), REFUSED, ids=[said for _, _, said in REFUSED])
def test_what_cannot_be_launched_is_refused_with_line_and_reason(problem, line, parameters, said):
    refused = bound(problem, line, kernel(*parameters, max_block=512, lds=512)).finding
    assert refused is not None, "it was bound"
    assert said in refused.message
    assert (refused.kind, refused.line) == ("lds_over_limit" if "LDS" in said else "launch_plan", 1)


def test_gfx950_has_more_lds(problem):
    line = "launch softmax grid=[1] block=[64] lds=100000"
    assert not bound(problem, line, kernel(POINTER, POINTER, INT, INT), arch="gfx950").finding


def test_a_workspace_has_its_bytes_in_each_case(tmp_path):
    problem = load_problem(write_problem(tmp_path))
    plan = read_launch_plan(
        "// amdkernel: workspace w dtype=f16 shape=[rows, 3]\n// amdkernel: launch k grid=[1] block=[1] args=[w]",
        problem,
    )
    sizes = [
        bind(plan, problem, case, kernels=[kernel(POINTER, symbol="k")], arch="gfx942").workspaces
        for case in problem.cases
    ]
    assert sizes == [(("w", 24),), (("w", 42),)]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("softmax", "softmax"),
        ("_Z7softmaxPKfPfii", "softmax"),
        ("_Z5scaleIfLi4EEvPT_", "scale<float, 4>"),
        ("_Z5scaleI6__halfLin1EEvPT_", "scale<__half, -1>"),
        ("_Z5scaleIDF16_Lb1EEvPT_", "scale<_Float16, 1>"),
        ("_ZN4math4tanhEPd", "tanh"),
        ("_ZL6hiddenPd", "hidden"),
        ("_Z6level24Blobi", "level2"),
        ("_ZN1n7advanceE9Particlesd", "advance"),
    ],
)
def test_a_mangled_name_is_read_back(symbol, name):
    assert source_name(symbol) == name


@pytest.mark.parametrize("symbol", ["_Z" + 5000 * "9", "_Z1fI" + 5000 * "9", "_Z0", "_ZN", "_Z5ab"])
def test_a_symbol_that_no_compiler_makes_still_has_a_name(symbol):
    assert source_name(symbol)


def test_a_kernel_is_found_by_name_when_only_one_fits():
    kernels = [kernel(symbol=s) for s in ("_Z1cIfLi4EEvPT_", "_Z1cI6__halfLi4EEvPT_", "_Z1dPf", "_ZN1n1eEPf")]
    assert find_kernel(kernels, "d") == kernels[2]
    assert find_kernel(kernels, "n::e") == kernels[3]
    assert find_kernel(kernels, "c<float,4>") == kernels[0]
    assert find_kernel(kernels, "_Z1dPf") == kernels[2]
    assert find_kernel(kernels, "c") == ["c<float, 4>", "c<__half, 4>"]
    assert find_kernel(kernels, "x") == ["c<float, 4>", "c<__half, 4>", "d", "e"]
