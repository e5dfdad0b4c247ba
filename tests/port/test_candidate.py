"""Kernels of CUDA sources as candidates: the host's arithmetic, drafts of problems, and what a check says."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.candidate import make_candidate
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.sources import with_headers
from amdkernel_mcp.problems.problem_file import load_problem
from tests.port.programs import EXTENSION, TWO_KERNELS

NAMES = CudaNames.of(["hipMalloc"])
HOST = "__global__ void k(float* x, int n, int m) {{}}\nvoid f(int N, int M) {{ {} k<<<{}>>>(x, N, M); }}"


@pytest.mark.parametrize(
    ("before", "launch", "plan"),
    [
        ("", "(N + 255) / 256, 256", "grid=[(n + 255) // 256] block=[256] lds=0"),
        ("int t = 128; int b = (N + t - 1) / t;", "b, t", "grid=[(n + 128 - 1) // 128] block=[128] lds=0"),
        ("dim3 g((N + 15) / 16, M, 2); dim3 t(16, 16);", "g, t", "grid=[(n + 15) // 16, m, 2] block=[16, 16] lds=0"),
        ("", "ceil((float)N / 64), 64, 64 * sizeof(float)", "grid=[ceil_div(n, 64)] block=[64] lds=64*4"),
        ("", "dim3(std::min(N, 80)), dim3(32, 8), 0, s", "grid=[min(n, 80)] block=[32, 8] lds=0"),
        (
            "dim3 t(32, 8), g; g.x = (unsigned int)ceil(N / (float)t.x);",
            "g, t",
            "grid=[ceil_div(n, 32), 1, 1] block=[32, 8] lds=0",
        ),
        ("size_t lds = 4 * M * sizeof(double);", "N, 64, lds", "grid=[n] block=[64] lds=4*m*8"),
    ],
)
def test_the_arithmetic_of_the_host_becomes_a_plan(before: str, launch: str, plan: str) -> None:
    made = make_candidate(HOST.format(before, launch), NAMES, "k")
    assert made.text.splitlines()[0] == f"// amdkernel: launch k {plan}"


def test_what_no_plan_can_have_is_left_by_hand() -> None:
    made = make_candidate(HOST.format("", "blocks_for(N), 64"), NAMES, "k")
    assert any("blocks_for()" in each for each in made.by_hand)


def test_what_a_kernel_reads_and_writes_is_its_role_in_the_draft() -> None:
    kernel = "__global__ void k(uint4* a, float* b, float* c, float* d) { c[0] = b[1]; atomicAdd(d, a[0].x); }"
    problem = make_candidate(f"{kernel}\nvoid f() {{ k<<<1, 64>>>(a, b, c, d); }}", NAMES, "k").problem
    assert [line for line in problem.splitlines() if "role" in line or "dtype" in line] == [
        'dtype = "u32"', 'role = "in"', 'dtype = "f32"', 'role = "in"', 'dtype = "f32"', 'role = "out"',
        'dtype = "f32"', 'role = "inout"',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("array", "size", "shape"),
    [
        ("float h[64];", "sizeof h", "64"),
        ("const int n = 32; float g, h[n * 2], r[3];", "sizeof(h)", "64"),
        ("static float h[4][ROWS];", "sizeof(h)", "4 * 8"),
        ("float *h;", "sizeof h", "1"),
    ],
)
def test_an_array_of_the_host_gives_the_shape_of_its_copy(array: str, size: str, shape: str) -> None:
    host = f"{{ {array} h[0] = h[1]; float *x; cudaMalloc(&x, {size}); k<<<1, 64>>>(x); }}"
    problem = make_candidate(
        f"#define ROWS 8\n__global__ void k(float* x) {{ x[0] = 1; }}\nint main() {host}", NAMES, "k"
    )
    assert f'shape = ["{shape}"]' in problem.problem


def test_a_block_that_the_caller_gives_is_a_guess_that_is_named() -> None:
    host = "__global__ void k(float* x, int n, int m) {{}}\nvoid f(int N, int M, int block_size) {{ {} }}"
    made = make_candidate(host.format("k<<<(N + block_size - 1) / block_size, block_size>>>(x, N, M);"), NAMES, "k")
    assert made.text.splitlines()[0] == "// amdkernel: launch k grid=[(n + 256 - 1) // 256] block=[256] lds=0"
    assert any("256 is a guess" in each for each in made.by_hand)
    square = host.format("dim3 b(block_size, block_size); k<<<N, b>>>(x, N, M);")
    assert "block=[16, 16]" in make_candidate(square, NAMES, "k").text


def test_a_candidate_has_the_programs_headers_and_none_of_a_library() -> None:
    headers = {"inc/a.h": "#pragma once\n#include <cublas_v2.h>\nstatic cublasHandle_t handle;\n#define TWO 2\n"}
    text = '#include "a.h"\n#include <vector>\n#include <helper_cuda.h>\n' + HOST.format("", "N, 64")
    whole = with_headers(text.replace("{}", "{ x[TWO] = __ldcs(x); }", 1), headers)
    made = make_candidate(whole, NAMES, "k").text
    assert all(each in made for each in ("#define TWO 2", "#include <vector>", "T __ldcs(const T *p)"))
    assert not any(each in made for each in ("cublas", "hipblas", "helper"))


def test_a_kernel_that_is_not_launched_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError) as error:
        make_candidate(TWO_KERNELS, NAMES, "scan")
    assert (error.value.hint or "").startswith("it launches transpose, sum_rows; ")


def test_the_draft_has_the_shapes_that_the_host_allocates() -> None:
    made = make_candidate(TWO_KERNELS, NAMES, "transpose")
    assert 'name = "in_"\ndtype = "f32"\nshape = ["height * width"]\nrole = "in"' in made.problem
    assert "width = 50\nheight = 70" in made.problem
    assert "def reference(in_, *, width, height):" in made.reference
    assert "sum_rows" not in made.text


SOFTMAX = """torch::Tensor f(torch::Tensor input, float scale) {{
    auto rows_of_it = input.contiguous();
    auto out = torch::empty_like(input);
    int batch = input.size(0), dim = static_cast<int>(input.sizes()[1]);
    k<<<{}>>>(rows_of_it.data_ptr<float>(), out.data_ptr<float>(), {});
}}"""
KERNEL_FOR_IT = "__global__ void k(const float* a, float* b, {}) {{ b[blockIdx.x] = a[threadIdx.x]; }}\n"


@pytest.mark.parametrize(
    ("parameters", "launch", "passed", "plan"),
    [
        ("int n, int d", "batch, 256", "batch, dim", "grid=[rows] block=[256] lds=0 args=[x, y, rows, cols]"),
        ("int n", "(out.numel() + 63) / 64, 64", "batch * dim",
         "grid=[((rows * cols) + 63) // 64] block=[64] lds=0 args=[x, y, rows * cols]"),
        ("int ROWS, int COLS", "ROWS, COLS", "R, C", "grid=[1] block=[1] lds=0 args=[x, y, rows, cols]"),
        ("int w, int h", "W, 64", "W, H", "grid=[rows] block=[64] lds=0 args=[x, y, rows, cols]"),
        ("int n", "(total + 255) / 256, 256", "total",
         "grid=[((rows * cols) + 255) // 256] block=[256] lds=0 args=[x, y, rows * cols]"),
    ],
)  # fmt: skip
def test_a_kernel_takes_the_arguments_of_a_problem(parameters: str, launch: str, passed: str, plan: str) -> None:
    text = "#define W 32\n#define H 48\n" + KERNEL_FOR_IT.format(parameters) + SOFTMAX.format(launch, passed)
    made = make_candidate(text, NAMES, "k", load_problem("row_softmax"))
    assert made.text.splitlines()[0] == f"// amdkernel: launch k {plan}"


def test_a_number_of_the_host_becomes_one_of_the_kernel() -> None:
    text = KERNEL_FOR_IT.format("float eps, int n, int d, float two") + SOFTMAX.format(
        "batch, 64", "1e-5f, batch, dim, t"
    )
    text = text.replace("int batch", "const float t = 2.5f; int batch")
    made = make_candidate(text, NAMES, "k", load_problem("row_softmax"))
    assert "args=[x, y, rows, cols]" in made.text.splitlines()[0]
    assert "void k(const float* a, float* b, int n, int d) { float eps = 1e-5f; float two = 2.5f;" in made.text


def test_an_output_that_the_kernel_adds_to_is_cleared_first() -> None:
    text = "__global__ void k(const int* x, int* out, int n) { atomicAdd(&out[x[threadIdx.x]], 1); }\n"
    made = make_candidate(
        f"{text}void f(int n) {{ k<<<n / 64, 64>>>(x, h, n); }}", NAMES, "k", load_problem("histogram")
    )
    first, second = made.text.splitlines()[:2]
    assert first == "// amdkernel: launch clear_out grid=[ceil_div(bins, 256)] block=[256] args=[counts, bins]"
    assert second == "// amdkernel: launch k grid=[n // 64] block=[64] lds=0 args=[x, counts, n]"
    assert "void clear_out(int * to, int n)" in made.text


def test_a_kernel_that_does_not_fit_a_problem_is_refused() -> None:
    for parameters, passed, says in (
        ("float* c, int n, int d", "c, batch, dim", "3 arrays"),
        ("float s", "scale", "what s"),
    ):
        text = KERNEL_FOR_IT.format(parameters) + SOFTMAX.format("batch, 64", passed)
        with pytest.raises(InputError, match=says):
            make_candidate(text, NAMES, "k", load_problem("row_softmax"))


REFERENCES = {
    "transpose": (TWO_KERNELS, 'return {"out": in_.reshape(height, width).T.reshape(-1)}'),
    "sum_rows": (TWO_KERNELS, 'return {"y": x.reshape(rows, cols).astype("f8").sum(axis=1)}'),
    "relu": (EXTENSION, 'return {"out": np.maximum(x, 0)}'),
}


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "kernel", [each if each == "sum_rows" else pytest.param(each, marks=pytest.mark.thorough) for each in REFERENCES]
)
def test_a_kernel_is_correct_as_a_candidate_on_waves_of_64(settings: Settings, tmp_path: Path, kernel: str) -> None:
    source, body = REFERENCES[kernel]
    engine = Engine(settings)
    try:
        made = engine.do(Port(source=source, options=PortOptions(candidate=kernel, with_sources=True)))
        assert made.verdict == "compiles", made.reason
        for name, text in made.sources.items():
            (tmp_path / name).write_text(text)
        head = made.sources["reference.py"].partition("    raise")[0]
        (tmp_path / "reference.py").write_text(f"{head}    {body}\n")
        checked = engine.do(
            Check(problem=str(tmp_path), source=made.sources[f"{kernel}.hip"], target="emulator:gfx942")
        )
    finally:
        engine.close()
    assert checked.verdict == "correct", checked.reason
