"""Problems like those that people bring, with right kernels: no refusal, no false alarm, no remark. And what their
distributions find that plain numbers hide."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.results.kernels import CheckResult
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

INCLUDES = "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n"


def array(name: str, dtype: str, shape: str, role: str = "in", init: str = "") -> str:
    sizes = ", ".join(f'"{size}"' for size in shape.split())
    filled = f'init = "{init}"\n' if init else ""
    return f'[[arguments]]\nname = "{name}"\ndtype = "{dtype}"\nshape = [{sizes}]\nrole = "{role}"\n{filled}'


def sizes(*cases: dict[str, int]) -> str:
    scalars = "".join(f'[[arguments]]\nname = "{name}"\ndtype = "i32"\n' for name in cases[0])
    tables = ("[[cases]]\n" + "".join(f"{name} = {value}\n" for name, value in case.items()) for case in cases)
    return scalars + "".join(tables)


def each(expression: str, dtype: str = "float") -> str:
    """A kernel that computes y[i] from x[i]."""
    return f"""// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64]
extern "C" __global__ void k(const {dtype}* x, {dtype}* y, int n) {{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = {expression};
}}"""


def vector(init: str, dtype: str = "f32") -> str:
    return array("x", dtype, "n", init=init) + array("y", dtype, "n", "out") + sizes({"n": 1000}, {"n": 3})


SUM = """// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < n; i += 256) sum += x[i];
    s[t] = sum;
    for (int d = 128; d; d >>= 1) { __syncthreads(); if (t < d) s[t] += s[t + d]; }
    if (!t) y[0] = s[0];
}"""
LONG = array("x", "f32", "n", init="uniform") + array("y", "f32", "1", "out") + sizes({"n": 400_000})

RIGHT = {
    "a scan": (
        vector("normal"), "return {'y': np.cumsum(x)}",
        """// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float carry = 0;
    for (int b = 0; b < n; b += 256) {
        s[t] = b + t < n ? x[b + t] : 0;
        __syncthreads();
        for (int d = 1; d < 256; d *= 2) {
            float v = t >= d ? s[t - d] : 0;
            __syncthreads();
            s[t] += v;
            __syncthreads();
        }
        if (b + t < n) y[b + t] = carry + s[t];
        carry += s[255];
        __syncthreads();
    }
}""",
    ),
    "a histogram": (
        array("x", "i32", "n", init="integers(0, bins)") + array("h", "i32", "bins", "out")
        + sizes({"n": 5000, "bins": 64}, {"n": 333, "bins": 7}),
        "return {'h': np.bincount(x, minlength=bins)}",
        """// amdkernel: launch zero grid=[ceil_div(bins, 64)] block=[64] args=[h, bins]
// amdkernel: launch count grid=[ceil_div(n, 64)] block=[64]
extern "C" __global__ void zero(int* h, int bins) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < bins) h[i] = 0;
}
extern "C" __global__ void count(const int* x, int* h, int n, int bins) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) atomicAdd(&h[x[i]], 1);
}""",
    ),
    "a sparse product": (
        array("ptr", "i32", "rows+1", init="offsets(nnz)") + array("col", "i32", "nnz", init="integers(0, cols)")
        + array("val", "f32", "nnz") + array("x", "f32", "cols") + array("y", "f32", "rows", "out")
        + sizes({"rows": 300, "cols": 200, "nnz": 4000}, {"rows": 17, "cols": 5, "nnz": 90}),
        "p = val * x[col]\nreturn {'y': np.array([p[ptr[i]:ptr[i + 1]].sum() for i in range(rows)])}",
        """// amdkernel: launch k grid=[ceil_div(rows, 64)] block=[64]
extern "C" __global__ void k(const int* ptr, const int* col, const float* val, const float* x, float* y,
                             int rows, int cols, int nnz) {
    int r = blockIdx.x * 64 + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int i = ptr[r]; i < ptr[r + 1]; i++) sum += val[i] * x[col[i]];
    y[r] = sum;
}""",
    ),
    "quantised rows": (
        array("x", "f32", "r c") + array("q", "i8", "r c", "out") + array("s", "f32", "r", "out")
        + sizes({"r": 9, "c": 300}, {"r": 4, "c": 65}) + "[tolerance.q]\nsteps = 1\n",
        "s = np.abs(x).max(1) / 127\nreturn {'s': s, 'q': np.clip(np.round(x / s[:, None]), -127, 127)}",
        """// amdkernel: launch k grid=[r] block=[64]
extern "C" __global__ void k(const float* x, signed char* q, float* s, int r, int c) {
    int b = blockIdx.x, t = threadIdx.x;
    float m = 0;
    for (int i = t; i < c; i += 64) m = fmaxf(m, fabsf(x[b * c + i]));
    for (int d = 32; d; d >>= 1) m = fmaxf(m, __shfl_xor(m, d));
    float k = m / 127;
    if (!t) s[b] = k;
    for (int i = t; i < c; i += 64) q[b * c + i] = (signed char)fminf(127, fmaxf(-127, rintf(x[b * c + i] / k)));
}""",
    ),
    "the first maximum": (
        array("x", "f16", "r c") + array("k", "i32", "r", "out") + sizes({"r": 40, "c": 500}, {"r": 5, "c": 33}),
        "return {'k': x.argmax(1)}",
        """// amdkernel: launch top grid=[r] block=[64]
extern "C" __global__ void top(const __half* x, int* k, int r, int c) {
    int b = blockIdx.x, t = threadIdx.x, at = c;
    float m = -INFINITY;
    for (int i = t; i < c; i += 64) {
        float v = __half2float(x[b * c + i]);
        if (v > m) { m = v; at = i; }
    }
    for (int d = 32; d; d >>= 1) {
        float v = __shfl_xor(m, d);
        int o = __shfl_xor(at, d);
        if (v > m || (v == m && o < at)) { m = v; at = o; }
    }
    if (!t) k[b] = at;
}""",
    ),
    "layernorm": (
        array("x", "bf16", "r c") + array("y", "bf16", "r c", "out") + sizes({"r": 33, "c": 256}, {"r": 3, "c": 77})
        + "[ranges]\nr = [1, 64]\nc = [2, 600]\n",
        "return {'y': (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)}",
        """// amdkernel: launch k grid=[r] block=[64]
extern "C" __global__ void k(const __hip_bfloat16* x, __hip_bfloat16* y, int r, int c) {
    int b = blockIdx.x, t = threadIdx.x;
    float s = 0, v = 0;
    for (int i = t; i < c; i += 64) s += __bfloat162float(x[b * c + i]);
    for (int d = 32; d; d >>= 1) s += __shfl_xor(s, d);
    for (int i = t; i < c; i += 64) { float e = __bfloat162float(x[b * c + i]) - s / c; v += e * e; }
    for (int d = 32; d; d >>= 1) v += __shfl_xor(v, d);
    float k = rsqrtf(v / c + 1e-5f);
    for (int i = t; i < c; i += 64) y[b * c + i] = __float2bfloat16((__bfloat162float(x[b * c + i]) - s / c) * k);
}""",
    ),
    "attention": (
        "".join(array(name, "f16", "s 64", "out" if name == "o" else "in") for name in "qkvo")
        + sizes({"s": 64}, {"s": 37}),
        "a = q @ k.T / 8\na = np.exp(a - a.max(1, keepdims=True))\nreturn {'o': a / a.sum(1, keepdims=True) @ v}",
        """// amdkernel: launch f grid=[s] block=[64]
extern "C" __global__ void f(const __half* q, const __half* k, const __half* v, __half* o, int s) {
    int b = blockIdx.x, t = threadIdx.x;
    float m = -INFINITY, l = 0, acc = 0;
    for (int j = 0; j < s; j++) {
        float p = __half2float(q[b * 64 + t]) * __half2float(k[j * 64 + t]);
        for (int d = 32; d; d >>= 1) p += __shfl_xor(p, d);
        float n = fmaxf(m, p / 8), old = __expf(m - n), e = __expf(p / 8 - n);
        l = l * old + e;
        acc = acc * old + e * __half2float(v[j * 64 + t]);
        m = n;
    }
    o[b * 64 + t] = __float2half(acc / l);
}""",
    ),
    "an fp8 product": (
        array("a", "float8_e4m3fnuz", "m k") + array("b", "float8_e4m3fnuz", "k n") + array("c", "bf16", "m n", "out")
        + sizes({"m": 33, "n": 40, "k": 128}, {"m": 5, "n": 3, "k": 17}),
        "return {'c': a @ b}",
        """// amdkernel: launch g grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
extern "C" __global__ void g(const unsigned char* a, const unsigned char* b, __hip_bfloat16* c, int m, int n, int k) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= n || y >= m) return;
    float s = 0;
    for (int i = 0; i < k; i++)
        s += __builtin_amdgcn_cvt_f32_fp8(a[y * k + i], 0) * __builtin_amdgcn_cvt_f32_fp8(b[i * n + x], 0);
    c[y * n + x] = __float2bfloat16(s);
}""",
    ),
    "a variance in one pass": (
        array("x", "f32", "r c") + array("v", "f32", "r", "out") + sizes({"r": 9, "c": 1000}, {"r": 4, "c": 65}),
        "return {'v': x.var(1)}",
        """// amdkernel: launch k grid=[r] block=[64]
extern "C" __global__ void k(const float* x, float* v, int r, int c) {
    int b = blockIdx.x, t = threadIdx.x;
    float s = 0, q = 0;
    for (int i = t; i < c; i += 64) { float e = x[b * c + i]; s += e; q += e * e; }
    for (int d = 32; d; d >>= 1) { s += __shfl_xor(s, d); q += __shfl_xor(q, d); }
    if (!t) v[b] = q / c - (s / c) * (s / c);
}""",
    ),
    "a long sum": (LONG, "return {'y': x.sum()}", SUM),
    "NaN that is passed on": (vector("nans(0.1)"), "return {'y': x * 2}", each("x[i] * 2")),
    "infinities": (vector("infs(0.1)"), "return {'y': np.exp(-x)}", each("expf(-x[i])")),
    "denormals": (vector("denormal"), "return {'y': x * 3}", each("x[i] * 3")),
    "large numbers": (vector("large"), "return {'y': x * x + 1}", each("x[i] * x[i] + 1")),
    "a permutation that is inverted": (
        vector("permutation", "i32"), "return {'y': np.argsort(x)}",
        each("0", "int").replace("y[i] = 0", "y[x[i]] = i"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    data = tmp_path_factory.mktemp("data")
    engine = Engine(load_settings({"data_dir": data, "cache_dir": settings.cache_dir}))
    yield engine
    engine.close()


def check(engine: Engine, folder: Path, toml: str, reference: str, kernel: str) -> CheckResult:
    """The answer on a problem whose reference sees its inputs and scalars by their names."""
    arguments = tomllib.loads(toml)["arguments"]
    names = [argument["name"] for argument in arguments if argument.get("role") != "out"]
    body = "".join(f"    {line}\n" for line in reference.splitlines())
    (folder / "problem.toml").write_text(toml)
    (folder / "reference.py").write_text(f"import numpy as np\n\n\ndef reference({', '.join(names)}):\n{body}")
    return engine.do(Check(problem=str(folder), source=INCLUDES + kernel))


GATE = ("NaN that is passed on",)


THOROUGH = [pytest.param(name, marks=pytest.mark.thorough) for name in RIGHT if name not in GATE]


@pytest.mark.parametrize("name", [*GATE, *one_in(3, THOROUGH)])
def test_a_right_kernel_is_correct_and_its_problem_has_no_weak_point(engine: Engine, tmp_path: Path, name: str) -> None:
    result = check(engine, tmp_path, *RIGHT[name])
    assert result.verdict == "correct", result.reason
    assert not [note for note in result.notes if "about the problem" in note], result.notes
    assert result.findings == []


WRONG = {
    "a sum of 400,000 without the last": (
        LONG, "return {'y': x.sum()}", SUM.replace("i < n;", "i < n - 1;"), r"y\[0\]",
    ),
    "a NaN that becomes a number": (
        vector("nans(0.1)"), "return {'y': np.where(x < 0, 0, x)}", each("fmaxf(x[i], 0)"), "expected nan",
    ),
    "elements left out where NaN is expected": (
        vector("nans(0.1)"), "return {'y': x * 2}", each("x[i] * 2").replace("i < n", "i < n && x[i] == x[i]"),
        "never (written|stores)",
    ),
    "a number that becomes NaN": (
        vector("nans(0.1)"), "return {'y': np.sqrt(np.abs(x))}", each("sqrtf(x[i])"), "is nan, expected",
    ),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", WRONG)
def test_what_plain_numbers_hide_is_found(engine: Engine, tmp_path: Path, name: str) -> None:
    toml, reference, kernel, said = WRONG[name]
    result = check(engine, tmp_path, toml, reference, kernel)
    assert result.verdict == "incorrect", result.reason
    assert re.search(said, result.reason)
