"""Each class of the lint has a source that shows it, and one that looks alike and is not reported."""

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.port.lint import lint
from amdkernel_mcp.port.lint_classes import CLASSES
from amdkernel_mcp.search.formats.page import slug

KERNEL = "__global__ void k(float* x, unsigned* out, int n) {{ __shared__ float s[256]; int tid = threadIdx.x;\n{}\n}}"
FULL = "0xffffffffffffffffull"
IN_A_KERNEL = {
    "mask": ("x[0] = __shfl_down_sync(0xffffffff, x[tid], 4, 32);", f"x[0] = __shfl_down_sync({FULL}, x[tid], 4, 32);"),
    "shuffle_width": (
        "for (int d = 16; d > 0; d >>= 1) x[0] += __shfl_down(x[tid], d);",
        "for (int d = 16; d > 0; d >>= 1) x[0] += __shfl_down(x[tid], d, 32);"
        " for (int d = 16; d > 0; d >>= 1) x[0] += __shfl_xor(x[tid], d);",
    ),
    "lane31": ("int lane = tid & 31; x[lane] = 1;", "int column = tid & 31, lane = tid % warpSize; x[n & 31] = 1;"),
    "warp5": ("int warp = threadIdx.x >> 5; x[warp] = 1;", "int row = tid >> 5, word = n / 32, warp = tid / warpSize;"),
    "ballot32": ("unsigned b = __ballot(n > tid);", "auto b = __ballot(n > tid); int any = __ballot(n) != 0;"),
    "popc32": ("out[0] = __popc(__ballot(n > tid));", "out[0] = __popcll(__ballot(n > tid)) + __popc(out[1]);"),
    "lanemask32": (
        "int lane = tid % 32; unsigned below = (1u << lane) - 1; x[0] = __any(below);",
        "int lane = tid % warpSize; auto below = (1ull << lane) - 1; out[0] = (1u << n) - 1; x[0] = __any(below);",
    ),
    "warp_mix": (
        "s[tid / warpSize] = 1; for (int w = 0; w < 256 / 32; w++) x[0] += s[w];",
        "__shared__ int p[256 / 32]; s[tid / warpSize] = 1; for (int w = 0; w < 256 / warpSize; w++) x[0] += s[w];"
        " x[n / 32] = x[n & 31]; int words = 1000 / 32;",
    ),
    "warp_size_constant": ("__shared__ int t[warpSize];", "__shared__ int t[64]; x[warpSize] = x[n % warpSize];"),
    "warp_sync": (
        "if (tid < 32) { s[tid] += s[tid + 32]; s[tid] += s[tid + 16]; s[tid] += s[tid + 8]; s[tid] += s[tid + 4]; }",
        "s[tid] += s[tid + 32]; __syncthreads(); s[tid] += s[tid + 16]; __syncthreads(); s[tid] += s[tid + 8];"
        " __syncwarp(); s[tid] += s[tid + 4];",
    ),
    "syncwarp_diverged": (
        "if (tid % 32 < 4) x[0] = 1; int lane = tid % 32; if (lane < 4) { x[0] = 1; __syncwarp(); }",
        "int lane = tid % 32; if (lane < 4) { x[0] = 1; } do { __syncwarp(); } while (n--); if (n) { __syncwarp(); }",
    ),
    "half_warp": ("int halfWarp = tid >> 4; x[halfWarp] = 1;", "int quarter = tid >> 4; x[quarter] = 1;"),
    "scheduling": (
        "while (atomicCAS(out, 0u, 1u) != 0u);",
        "unsigned old = out[0], seen; do { seen = old; old = atomicCAS(out, seen, seen + 1); } while (seen != old);"
        " if (threadIdx.x == 0) { if (n) { out[0] = 1; } while (atomicAdd(out, 0u) == 0u) {} }",
    ),
    "tile": (
        "auto g = cooperative_groups::coalesced_threads();",
        "auto g = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());",
    ),
    "ptx": ('asm("mov.u32 %0, %laneid;" : "=r"(out[0]));', 'asm volatile("" ::: "memory"); asm("s_nop 0");'),
    "async_copy": ("__pipeline_memcpy_async(s + tid, x + tid, 4);", "memcpy_async_of_mine(s, x); pipeline p;"),
    "matrix": ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;", "mma_of_mine(x); int wmma = 3;"),
    "tma": ('asm volatile("wgmma.fence.sync.aligned;");', 'printf("wgmma.fence");'),
    "dynamic_parallelism": (
        "child<<<1, 32>>>(x);",
        "x[0] = n << 3 >> 1;\n#ifdef A\nif (n) {\n#else\n{\n#endif\nx[1] = 2; } } void f() { child<<<1, 32>>>(); {",
    ),
    "texture": ("x[0] = tex2D<float>(image, 1, 2);", "x[0] = texture_of_mine(x); tex = 1;"),
    "coop_reduce": ("x[0] = cg::reduce(tile, x[0], cg::plus<float>());", "x[0] = mine::reduce(x); x[1] = reduce(x);"),
}  # fmt: skip
IN_A_FILE = {
    "warp_const": (
        "#define WARP_SIZE 32\n__global__ void k(int* x) { x[threadIdx.x / WARP_SIZE] = 1; }",
        "#define WARPS_PER_BLOCK 32\n#define WARP_SIZE 64\nconst int rows = 32 + WARP_SIZE + WARPS_PER_BLOCK;",
    ),
    "launch_bounds": (
        "__global__ void __launch_bounds__(256, 2) k(int* x) {}",
        "__global__ void __launch_bounds__(256) k(int* x) {}",
    ),
    "dynamic_lds": (
        "void f() { k<<<1, 256, 96 * 1024>>>(); }",
        "void f() { k<<<1, 256, 48 * 1024, 0>>>(); k<<<dim3(70000, 1, 99999), 1>>>(); }",
    ),
    "library": ("#include <cublas_v2.h>", '#include "cublas_like.txt"\n#include <cub/cub.cuh>\n#include <curious.h>'),
}
SHOWN = {
    **{kind: tuple(KERNEL.format(each) for each in pair) for kind, pair in IN_A_KERNEL.items()},
    **IN_A_FILE,
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_is_reported_where_it_is_and_not_where_it_only_looks_so(kind: str) -> None:
    shows, looks_alike = SHOWN[kind]
    assert kind in [hit.kind for hit in lint(shows)], shows
    assert kind not in [hit.kind for hit in lint(looks_alike)], looks_alike


@pytest.mark.parametrize(
    ("before", "after"), [("/* ", " */"), ("// ", ""), ("#if 0\n", "\n#endif\n"), ('const char* t = R"x(', ')x";')]
)
def test_text_that_no_compiler_reads_is_not_reported(before: str, after: str) -> None:
    assert lint(KERNEL.format(f"{before}unsigned b = __ballot(n);{after}")) == []


def test_a_lane_counted_in_32_is_a_mistake_of_its_shuffle() -> None:
    hits = lint(KERNEL.format("x[0] = __shfl(x[tid], (tid + 1) & 31); x[1] = __shfl(x[tid], n & 63);"))
    assert [(hit.kind, hit.level) for hit in hits] == [("shuffle_width", "sure")]


@pytest.mark.parametrize(
    ("line", "mixed"),
    [
        ("x[0] = tid < (blockDim.x >> 5) ? s[tid] : 0;", True),
        ("for (int w = 0; w < WARPS; w++) x[0] += s[w];", True),
        ("for (int w = 0; w < THREADS / 32; w++) x[0] += s[w];", True),
        ("if (tid % 32 == 0) x[0] = s[tid / 32];", True),
        ("for (int w = 0; w < ROWS; w++) x[0] += s[w];", False),
    ],
)
def test_a_function_that_counts_warps_by_warp_size_and_by_32_is_looked_at(line: str, mixed: bool) -> None:
    before = "#define THREADS 256\n#define WARPS (THREADS / 32)\n#define ROWS (100 / 32)\n"
    hits = lint(before + KERNEL.format(f"s[tid / warpSize] = 1;\n{line}"))
    assert ("warp_mix" in [hit.kind for hit in hits if hit.line == 6]) == mixed
    assert "warp_mix" not in [hit.kind for hit in lint(before + KERNEL.format(line))]


def test_a_shuffle_of_the_programs_own_has_its_own_width() -> None:
    own = "__device__ float2 __shfl_down(float2 v, int d, int width = 32) { return v; }\n"
    assert "shuffle_width" not in [hit.kind for hit in lint(own + KERNEL.format("a += __shfl_down(a, 16);"))]
    assert "shuffle_width" in [hit.kind for hit in lint(KERNEL.format("x[0] += __shfl_down(x[0], 16);"))]


def test_code_of_the_host_has_no_waves() -> None:
    assert lint("int f(int tid) { int lane = tid & 31; while (*p != 3); return lane; }") == []


def test_a_hit_has_its_line_its_function_and_a_section_of_the_guide() -> None:
    guide = (folder("docs") / "from_cuda.md").read_text()
    sections = {slug(line.lstrip("# ")) for line in guide.splitlines() if line.startswith("#")}
    for shows, _ in SHOWN.values():
        for hit in lint(shows):
            assert hit.docs.partition("#")[2] in sections, hit
    (hit,) = lint("\n\n" + KERNEL.format("unsigned b = __ballot(n);"))
    assert (hit.line, hit.function, hit.level) == (4, "k", "sure")


def test_the_way_on_amd_gpus_is_that_of_the_instruction() -> None:
    (hit,) = lint(KERNEL.format('asm volatile("bfe.u32 %0, %1, 4, 8;" : "=r"(out[0]) : "r"(n));'))
    assert "__bitextract_u32" in hit.instead
    common = (
        "shl.b32 %0, %1, 2;",
        "{ .reg .pred p; setp.ne.u32 p, %1, 0; }",
        "mov.b32 %0, {%1, %2};",
        "max.f32 %0, %1, %2;",
        "activemask.b32 %0;",
        "cvta.to.shared.u64 %0, %1;",
        "shf.l.wrap.b32 %0, %1, %2, %3;",
    )
    for words in common:
        (hit,) = lint(KERNEL.format(f'asm("{words}");'))
        assert "AMDGCN builtin" not in hit.instead, words
