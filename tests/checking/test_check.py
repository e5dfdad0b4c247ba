"""Whole checks on the emulator, of problems and kernels that use every corner of the two file formats."""

import pytest

from amdkernel_mcp.checking.check import check
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

INCLUDES = (
    "#include <hip/hip_bf16.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_fp8.h>\n#include <hip/hip_runtime.h>\n"
)


def argument(name, dtype, shape=None, role=None, init=None):
    lines = [f'name = "{name}"', f'dtype = "{dtype}"']
    lines += [f"shape = {shape}"] if shape else []
    lines += [f'role = "{role}"'] if role else []
    lines += [f'init = "{init}"'] if init else []
    return "[[arguments]]\n" + "\n".join(lines) + "\n"


def case(held_out=False, **scalars):
    return (
        "[[cases]]\n" + "".join(f"{k} = {v}\n" for k, v in scalars.items()) + ("held_out = true\n" if held_out else "")
    )


@pytest.fixture
def verdict_of(sandbox, settings, tmp_path):
    def run(parts, reference, kernel, **options):
        (tmp_path / "problem.toml").write_text("\n".join(parts))
        (tmp_path / "reference.py").write_text("import numpy as np\n\n\n" + reference)
        problem = load_problem(tmp_path)
        source = INCLUDES + kernel
        plan = read_launch_plan(source, problem)
        target = find_target("emulator:gfx942", settings)
        compiled = Compiler(sandbox, settings.cache_dir).compile(source, arch=target.arch, flags=plan.flags())
        return check(
            sandbox=sandbox,
            compiled=compiled,
            problem=problem,
            plan=plan,
            target=target,
            options=CheckOptions(**options),
        )

    return run


SAXPY = [
    argument("x", "f32", '["n"]', "in"),
    argument("y", "f32", '["n"]', "inout"),
    argument("alpha", "f32"),
    argument("n", "i32"),
    case(n=1000, alpha=0.1),
    case(n=65, alpha=-2, held_out=True),
]
SAXPY_REFERENCE = "def reference(x, y, *, alpha, n):\n    return {'y': alpha * x + y}\n"
SAXPY_KERNEL = """
// amdkernel: launch saxpy grid=[ceil_div(n, 64)] block=[64]
__global__ void saxpy(const float* x, float* y, float alpha, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += alpha * x[i];
}
"""


def kinds(result):
    return {finding.kind for finding in result.findings}


@pytest.mark.thorough
def test_an_inout_array_and_a_float_scalar(verdict_of):
    result = verdict_of(SAXPY, SAXPY_REFERENCE, SAXPY_KERNEL)
    assert result.verdict == "correct", result.reason
    assert [(c.held_out, c.verdict, c.violations) for c in result.cases] == [
        (False, "correct", 0),
        (True, "correct", 0),
    ]
    assert (result.target, result.evidence) == ("emulator:gfx942", "emulated")
    assert result.code_object.startswith("sha256:")


def test_a_wrong_factor_is_incorrect_with_got_and_expected(verdict_of):
    result = verdict_of(SAXPY, SAXPY_REFERENCE, SAXPY_KERNEL.replace("+= alpha", "+= 2 * alpha"))
    assert result.verdict == "incorrect"
    worst = result.cases[0].worst
    assert worst.argument == "y"
    assert worst.got != worst.expected
    assert result.cases[0].violations > 900


@pytest.mark.thorough
def test_a_kernel_that_does_nothing_is_incorrect(verdict_of):
    nothing = "\n__global__ void saxpy(const float* x, float* y, float alpha, int n) {}\n"
    result = verdict_of(SAXPY, SAXPY_REFERENCE, SAXPY_KERNEL.split("\n__global__")[0] + nothing)
    assert result.verdict == "incorrect"


@pytest.mark.thorough
def test_a_kernel_that_writes_its_input_is_incorrect_though_its_output_is_right(verdict_of):
    cheat = SAXPY_KERNEL.replace("y[i] +=", "const_cast<float*>(x)[i] += 0.0f, const_cast<float*>(x)[0] = 7, y[i] +=")
    result = verdict_of(SAXPY, SAXPY_REFERENCE, cheat.replace("alpha * x[i]", "0"))
    assert result.verdict == "incorrect"
    assert "input_modified" in kinds(result)


def test_a_store_behind_the_array_is_told_with_its_line(verdict_of):
    result = verdict_of(SAXPY, SAXPY_REFERENCE, SAXPY_KERNEL.replace("i < n", "i <= n"))
    assert result.verdict == "incorrect"
    finding = next(finding for finding in result.findings if finding.kind == "out_of_bounds")
    line = (INCLUDES + SAXPY_KERNEL).splitlines().index("    if (i < n) y[i] += alpha * x[i];") + 1
    assert finding.line == line
    assert f"line {line}" in result.reason


def test_a_store_far_away_is_a_crash(verdict_of):
    result = verdict_of(SAXPY, SAXPY_REFERENCE, SAXPY_KERNEL.replace("y[i] +=", "y[i + (1l << 40)] ="))
    assert result.verdict == "crashed"
    assert "out_of_bounds" in kinds(result)


def test_a_kernel_that_never_ends_is_a_timeout(verdict_of):
    forever = SAXPY_KERNEL.replace("if (i < n)", "while (true) if (i < n)")
    result = verdict_of(SAXPY, SAXPY_REFERENCE, forever, case_instructions=20_000_000, seeds=(0,))
    assert result.verdict == "timeout"
    assert "was still running after 20,000,000 instructions" in result.reason
    assert "timeout" in kinds(result)


def test_what_does_not_compile_is_invalid_with_the_first_error(verdict_of):
    result = verdict_of(SAXPY, SAXPY_REFERENCE, SAXPY_KERNEL.replace("int i", "int j"))
    assert result.verdict == "invalid"
    assert "undeclared identifier 'i'" in result.reason
    assert kinds(result) == {"compile_error"}
    assert result.findings[0].line


@pytest.mark.thorough
def test_static_lds_over_the_limit_is_invalid(verdict_of):
    greedy = SAXPY_KERNEL.replace("{\n    int i", "{\n    __shared__ float s[20000]; s[n % 20000] = alpha;\n    int i")
    result = verdict_of(SAXPY, SAXPY_REFERENCE, greedy.replace("+= alpha", "+= s[threadIdx.x] * alpha"))
    assert (result.verdict, kinds(result)) == ("invalid", {"lds_over_limit"}), result.reason


@pytest.mark.parametrize(
    ("line", "said"),
    one_in(
        9,
        [
            ("// amdkernel: launch saxpi grid=[1] block=[64]", "no such kernel; did you mean saxpy? (kernels: saxpy)"),
            ("// amdkernel: launch saxpy grid=[1] block=[2000]", "2000 threads"),
            ("// amdkernel: launch saxpy grid=[1] block=[64] args=[x, y, n]", "takes 4 parameters"),
            ("// amdkernel: build -fplugin=x", "not allowed"),
            ("// nothing", "has no launch plan"),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_a_plan_that_cannot_be_launched_is_invalid(verdict_of, line, said):
    result = verdict_of(SAXPY, SAXPY_REFERENCE, line + "\n" + SAXPY_KERNEL.split("\n", 2)[2])
    assert result.verdict == "invalid"
    assert said in result.reason


def test_a_reference_that_fails_is_the_problems_error(verdict_of):
    with pytest.raises(ProblemFileError, match="ZeroDivisionError") as caught:
        verdict_of(SAXPY, "def reference(x, y, *, alpha, n):\n    return {'y': 1 / 0}\n", SAXPY_KERNEL)
    assert caught.value.line == 5


@pytest.mark.thorough
def test_three_dimensions_templates_and_a_scalar_that_is_no_argument(verdict_of):
    parts = [
        argument("x", "bf16", '["d", "h", "w"]', "in", "uniform"),
        argument("y", "bf16", '["d", "h", "w"]', "out"),
        argument("w", "i64"),
        argument("h", "u32"),
        case(d=3, h=5, w=33),
        case(d=2, h=9, w=8, held_out=True),
    ]
    kernel = """
// amdkernel: launch twice<__hip_bfloat16, 2> grid=[ceil_div(w, 16), ceil_div(h, 4), d] block=[16, 4, 1]
template <typename T, int FACTOR> __global__ void twice(const T* x, T* y, long w, unsigned h)
{
    unsigned c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (c < w && r < h) {
        size_t i = ((size_t)blockIdx.z * h + r) * w + c;
        y[i] = T((float)x[i] * FACTOR);
    }
}
template __global__ void twice<__hip_bfloat16, 2>(const __hip_bfloat16*, __hip_bfloat16*, long, unsigned);
template __global__ void twice<float, 2>(const float*, float*, long, unsigned);
"""
    result = verdict_of(parts, "def reference(x, *, d, h, w):\n    return {'y': 2 * x}\n", kernel)
    assert result.verdict == "correct", result.reason


@pytest.mark.thorough
def test_several_launches_share_a_workspace(verdict_of):
    parts = [argument("x", "f64", '["n"]', "in"), argument("y", "f64", "[1]", "out"), case(n=1000), case(n=77)]
    kernel = """
// amdkernel: build -O2 -DPARTS=4
// amdkernel: workspace part dtype=f64 shape=[PARTS]
// amdkernel: launch parts grid=[PARTS] block=[64] args=[x, part, n]
// amdkernel: launch total grid=[1] block=[1] args=[part, y, PARTS]
extern "C" __global__ void parts(const double* x, double* part, int n)
{
    double s = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * PARTS)
        s += x[i] * x[i];
    for (int step = 32; step > 0; step >>= 1)
        s += __shfl_xor(s, step);
    if (threadIdx.x == 0) part[blockIdx.x] = s;
}
extern "C" __global__ void total(const double* part, double* y, int parts)
{
    double s = 0;
    for (int i = 0; i < parts; i++) s += part[i];
    y[0] = s;
}
"""
    reference = "def reference(x, *, n):\n    return {'y': np.sum(x * x)}\n"
    assert verdict_of(parts, reference, kernel).verdict == "correct"
    forgotten = kernel.replace("grid=[PARTS]", "grid=[PARTS - 1]")
    result = verdict_of(parts, reference, forgotten)
    assert result.verdict == "incorrect"
    assert "uninitialised_read" in kinds(result), result.findings


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "ctype"),
    [
        ("u8", "unsigned char"),
        ("i64", "long long"),
        pytest.param("i8", "signed char", marks=pytest.mark.thorough),
        pytest.param("i16", "short", marks=pytest.mark.thorough),
        pytest.param("u32", "unsigned", marks=pytest.mark.thorough),
    ],
)
def test_integers_of_every_width_are_compared_exactly(verdict_of, dtype, ctype):
    parts = [
        argument("x", dtype, '["n"]', "in", "integers(0, 60)"), argument("y", dtype, '["n"]', "out"),
        argument("n", "i32"), case(n=300),
    ]  # fmt: skip
    kernel = f"""
// amdkernel: launch k grid=[ceil_div(n, 128)] block=[128]
extern "C" __global__ void k(const {ctype}* x, {ctype}* y, int n)
{{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i] * 2 + (i == 200 ? WRONG : 0);
}}
"""
    reference = "def reference(x, *, n):\n    return {'y': 2 * x.astype(np.int64)}\n"
    assert verdict_of(parts, reference, kernel.replace("WRONG", "0")).verdict == "correct"
    result = verdict_of(parts, reference, kernel.replace("WRONG", "1"))
    assert result.verdict == "incorrect"
    assert result.cases[0].worst.index == [200]
    assert result.cases[0].worst.got == result.cases[0].worst.expected + 1
    assert result.cases[0].violations == 1


@pytest.mark.thorough
def test_fp8_arrays_hold_what_the_hardware_type_holds(verdict_of):
    parts = [
        argument("x", "float8_e4m3fnuz", '["n"]', "in"), argument("y", "f32", '["n"]', "out"),
        argument("n", "i32"), case(n=500),
    ]  # fmt: skip
    kernel = """
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64]
extern "C" __global__ void k(const unsigned char* x, float* y, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = __builtin_amdgcn_cvt_f32_fp8(x[i], 0);
}
"""
    result = verdict_of(parts, "def reference(x, *, n):\n    return {'y': x}\n", kernel)
    assert result.verdict == "correct", result.reason


@pytest.mark.thorough
def test_a_problem_that_a_constant_solves_is_suspicious(verdict_of):
    parts = [
        argument("x", "f32", '["n"]', "in"),
        argument("y", "f32", '["n"]', "out"),
        argument("n", "i32"),
        case(n=64),
    ]
    kernel = """
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = 0.0f; }
"""
    result = verdict_of(parts, "def reference(x, *, n):\n    return {'y': np.maximum(x, 1e9) * 0}\n", kernel)
    assert (result.verdict, kinds(result)) == ("correct", {"suspicious", "unread_input"})
    assert "a constant would pass" in result.reason


@pytest.mark.thorough
def test_a_maximum_that_starts_at_zero_is_found_out(verdict_of):
    parts = [argument("x", "f32", '["n"]', "in"), argument("y", "f32", "[1]", "out"), argument("n", "i32"), case(n=64)]
    kernel = """
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* y, int n)
{
    float top = START;
    for (int i = threadIdx.x; i < n; i += 64) top = fmaxf(top, x[i]);
    for (int step = 32; step > 0; step >>= 1) top = fmaxf(top, __shfl_xor(top, step));
    if (threadIdx.x == 0) y[0] = top;
}
"""
    reference = "def reference(x, *, n):\n    return {'y': x.max()}\n"
    assert verdict_of(parts, reference, kernel.replace("START", "-INFINITY")).verdict == "correct"
    assert verdict_of(parts, reference, kernel.replace("START", "0.0f")).verdict == "incorrect"


@pytest.mark.thorough
def test_atomics_in_any_order_are_forgiven_within_the_tolerance(verdict_of):
    parts = [
        argument("x", "f32", '["n"]', "in", "uniform"), argument("y", "f32", "[1]", "out"),
        argument("n", "i32"), case(n=4096),
    ]  # fmt: skip
    kernel = """
// amdkernel: launch zero grid=[1] block=[1] args=[y]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void zero(float* y) { y[0] = 0; }
extern "C" __global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) atomicAdd(y, x[i]);
}
"""
    result = verdict_of(parts, "def reference(x, *, n):\n    return {'y': x.sum()}\n", kernel)
    assert result.verdict == "correct", result.reason


def test_a_result_that_hangs_on_the_order_of_workgroups_is_found_by_other_orders(verdict_of):
    last_one = """
// amdkernel: launch last grid=[16] block=[64]
__global__ void last(int* y, int n)
{
    if (threadIdx.x == 0) atomicExch(y, (int)blockIdx.x + n);
}
"""
    parts = [argument("y", "i32", "[1]", "out"), argument("n", "i32"), case(n=1000), "[tolerance]\nrtol = 0.1\n"]
    reference = "def reference(*, n):\n    return {'y': np.full(1, n + 8, np.int32)}\n"
    result = verdict_of(parts, reference, last_one, schedules=6)
    assert kinds(result) == {"non_deterministic"}, result.reason


RELAY = """
// amdkernel: launch relay grid=[1] block=[128]
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)
__global__ void relay(const int* x, int* y, int n)
{
    __shared__ int slot[2][64], full[2];
    int lane = threadIdx.x & 63;
    if (threadIdx.x < 2) full[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < n / 64; ++k)
        if (threadIdx.x < 64) {
            slot[k & 1][lane] = x[64 * k + lane];
            __hip_atomic_fetch_add(&full[k & 1], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        } else {
            while (LOAD(&full[k & 1]) < 64 * (k / 2 + 1)) { }
            y[64 * k + lane] = slot[k & 1][63 - lane];
        }
}
"""


@pytest.fixture
def relay_verdict(verdict_of):
    """The producer of RELAY does not wait for its reader: a wave that sees the flag late sees all its stores."""
    parts = [argument("x", "i32", '["n"]', "in"), argument("y", "i32", '["n"]', "out"), argument("n", "i32")]
    reference = "def reference(x, *, n):\n    return {'y': x.reshape(-1, 64)[:, ::-1].reshape(-1)}\n"
    return lambda **options: verdict_of([*parts, case(n=1024)], reference, RELAY, **options)


def line_of(text):
    return next(number for number, line in enumerate((INCLUDES + RELAY).splitlines(), 1) if text in line)


@pytest.mark.thorough
def test_a_race_that_a_late_look_at_a_flag_hides_is_found_in_another_order(relay_verdict):
    races = [finding for finding in relay_verdict().findings if finding.kind == "race"]
    assert [(race.line, race.other_line) for race in races] == [(line_of("y[64"), line_of("slot[k & 1][lane] ="))]


def test_an_order_is_replayed_by_its_seed_and_races_are_looked_for_in_it(relay_verdict):
    first, second = relay_verdict(order=1, seeds=(3,)), relay_verdict(order=1, seeds=(3,))
    assert "race" in kinds(first)
    assert first.findings == second.findings
    assert first.coverage.orders == 1


def test_without_other_orders_none_is_run(relay_verdict):
    assert relay_verdict(schedules=0).coverage.orders == 0


HANG = """
// amdkernel: launch wait grid=[1] block=[64]
__global__ void wait(int* y, int n)
{
    y[threadIdx.x] = 0;
    while (__hip_atomic_load(y, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != n + 1)
        __builtin_amdgcn_s_sleep(1);
}
"""


@pytest.mark.thorough
def test_a_wait_for_what_never_comes_is_told_with_its_line(verdict_of):
    parts = [argument("y", "i32", "[64]", "out"), argument("n", "i32"), case(n=1000)]
    reference = "def reference(*, n):\n    return {'y': np.arange(64)}\n"
    result = verdict_of(parts, reference, HANG)
    assert (result.verdict, result.findings[0].kind) == ("timeout", "timeout"), result.reason
    assert "wait never ends: wave 0 of workgroup [0, 0, 0] was at line" in result.reason
    lines = (INCLUDES + HANG).splitlines()
    assert "__hip_atomic_load" in lines[result.findings[0].line - 1] or "s_sleep" in lines[result.findings[0].line - 1]


# Outputs of a few elements, whose terms cancel: rounding is allowed what the terms cost, and no more.
CANCELS = [argument("x", "f32", '["n"]', "in"), argument("y", "f32", "[1]", "out"), argument("n", "i32"), case(n=1000)]
# The terms are as large as 4 and their sum is 0.001, so that rounding costs more than 1e-5 of it.
CANCELS_REFERENCE = """def generate(rng, n):
    x = rng.uniform(1, 4, n).astype(np.float32).astype(np.float64)
    x[1::2] *= -1
    x[-1] = -x[:-1].sum() + 0.001
    return {"x": x}


def reference(x, n):
    return {"y": np.array([x.sum()])}
"""
CANCELS_KERNEL = """
// amdkernel: launch sum grid=[1] block=[64]
__global__ void sum(const float* x, float* y, int n) {
    __shared__ float parts[64];
    float part = 0;
    for (int i = threadIdx.x; i < n - LEFT_OUT; i += 64) part += x[i];
    parts[threadIdx.x] = part;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[0] = parts[0] + ADDED;
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("left_out", "added", "verdict"),
    [
        ("0", "0", "correct"),
        ("1", "0", "incorrect"),
        ("0", "0.002f", "incorrect"),
        ("0", "__builtin_inff()", "incorrect"),
    ],
    ids=["right", "a term is missing", "off by twice the sum", "infinite"],
)
def test_a_sum_that_cancels_may_be_off_by_what_its_terms_round(verdict_of, left_out, added, verdict):
    kernel = CANCELS_KERNEL.replace("LEFT_OUT", left_out).replace("ADDED", added)
    assert verdict_of(CANCELS, CANCELS_REFERENCE, kernel).verdict == verdict
