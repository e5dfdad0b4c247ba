"""The lint on clang's syntax tree: types, folded constants and values that come through functions and templates."""

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.port.lint import lint
from amdkernel_mcp.port.port import _kept, hip_names
from amdkernel_mcp.port.rules_of_types import KINDS, hits_of_trees
from amdkernel_mcp.port.seen import seen_functions
from amdkernel_mcp.port.sources import CudaProgram
from amdkernel_mcp.port.syntax_tree import MOST_NODES, read_trees

DUMP = """
Match #1:

Binding for "root":
FunctionDecl 0x1 </usr/include/wrap.h:23:20, /sandbox/work/a.cu:9:1> line:4:17 used k 'void (unsigned int *)'
|-ParmVarDecl 0x2 <col:19, col:30> col:30 used out 'unsigned int *'
`-CompoundStmt 0x3 <line:5:1, line:9:1>
  `-DeclStmt 0x4 <line:6:5, col:50>
    `-VarDecl 0x5 <col:5, line:7:9> line:6:12 m 'mask_t':'unsigned int' cinit
      `-ImplicitCastExpr 0x6 <cuda-on-hip/on.h:3:9, /sandbox/work/a.cu:7:9> 'unsigned int' <IntegralCast>
        `-CallExpr 0x7 <cuda-on-hip/on.h:3:9, /sandbox/work/a.cu:7:9> 'unsigned long long'
          `-DeclRefExpr 0x8 <cuda-on-hip/on.h:3:9> 'unsigned long long (int)' lvalue Function 0x9 'cuda_seen__ballot_sync' 'unsigned long long (int)'
"""  # noqa: E501 - as clang prints it


def test_a_tree_has_the_places_that_clang_leaves_out() -> None:
    (tree,) = read_trees(DUMP)
    assert (tree.name, tree.at, tree.end) == ("k", ("/sandbox/work/a.cu", 4), ("/sandbox/work/a.cu", 9))
    variable = next(each for each in tree.walk() if each.kind == "VarDecl")
    assert (variable.name, variable.type, variable.at[1], variable.begin[1]) == ("m", "unsigned int", 6, 6)
    found = hits_of_trees([tree], {"a.cu": ""}, "/sandbox/work")["a.cu"]
    assert [(each.line, each.name, each.hits) for each in found] == [(4, "k", (("ballot32", 7, "sure", ""),))]


@pytest.mark.parametrize(
    "text", ["", "FunctionDecl", "|-X\n`-Y", "FunctionDecl 0x1 <a:1:1> k 'int'\n|-<<<NULL>>>\n| ` `-"]
)
def test_text_that_is_no_tree_shows_nothing(text: str) -> None:
    assert hits_of_trees(read_trees(text), {"a.cu": "int k;"}, "/w") == {}


def test_a_tree_that_is_too_large_is_left_out() -> None:
    assert read_trees("FunctionDecl 0x1 <a:1:1> k 'int'\n" * (MOST_NODES + 1)) == []


# A line with `-> class` shows it; all others only look so. What tokens alone say is in test_lint.py.
SOURCE = """#include <cuda_runtime.h>
typedef unsigned mask_t;
typedef unsigned long long wide_t;
enum { LANES = 32 };
#define THREAD threadIdx.x
#define WIDE 32
#define LANE_OF (THREAD % WIDE)
__device__ float2 __shfl_down(float2 v, int d, int width = 32)
{
    return make_float2(__shfl_down_sync(~0ull, v.x, d, width), __shfl_down_sync(~0ull, v.y, d, width));
}
template <int W> __device__ float total(float v)
{
    for (int d = W / 2; d > 0; d >>= 1)
        v += __shfl_down_sync(~0ull, v, d); // -> shuffle_width
    for (int d = W / 2; d > 0; d >>= 1)
        v += __shfl_down_sync(~0ull, v, d, W);
    for (int d = W / 8; d > 0; d >>= 1)
        v += __shfl_down_sync(~0ull, v, d);
    return v;
}
__device__ int in_warp(int t) { return t & (LANES - 1); } // -> lane31
__device__ mask_t vote(bool p) { return __ballot_sync(~0ull, p); } // -> ballot32
__device__ wide_t whole(bool p) { return __ballot_sync(~0ull, p); }
__global__ void k(const int* x, int* y, mask_t some, wide_t lanes)
{
    const int half = LANES / 2, t = threadIdx.x;
    int lane = t % (2 * half); // -> lane31
    int warp = t / (1 << 5); // -> warp5
    int by_macro = LANE_OF; // -> lane31
    float2 pair = __shfl_down(make_float2(t, by_macro), 16);
    y[6] = pair.x;
    int datum = x[t] & 31, word = x[t] >> 5, column = x[t] % LANES;
    y[0] = __any_sync(some, datum); // -> mask
    y[1] = __any_sync(lanes, word);
    y[2] = __popc(vote(column)); // -> popc32
    y[3] = __popcll(whole(column)) + __popc(x[t]);
    mask_t m = whole(t); // -> ballot32
    wide_t w = whole(t);
    mask_t upper = w >> 32, bits = __popcll(w);
    y[4] = __popc(w) + __popc(upper) + __popc(bits); // -> popc32
    mask_t below = (1u << lane) - 1; // -> lanemask32
    wide_t all_below = (1ull << lane) - 1;
    mask_t power = (1u << datum) - 1;
    y[5] = total<32>(x[t]) + m + below + (int)all_below + power + warp + in_warp(t);
}
int main() { k<<<1, 64>>>(0, 0, 0, 0); }
"""


@pytest.mark.sandbox
def test_types_constants_and_lanes_are_followed_through_the_source(sandbox: Sandbox) -> None:
    program = CudaProgram("a.cu", {"a.cu": SOURCE})
    seen = seen_functions(sandbox, _kept(program, hip_names(sandbox)).program, program.files)
    found = {(hit.line, hit.kind) for hit in lint(SOURCE, seen["a.cu"]) if hit.kind in KINDS}
    lines = list(enumerate(SOURCE.splitlines(), 1))
    wanted = {(number, line.rpartition("-> ")[2]) for number, line in lines if "-> " in line}
    assert found == wanted
    broken = CudaProgram("a.cu", {"a.cu": SOURCE + "not C++"})
    assert seen_functions(sandbox, _kept(broken, hip_names(sandbox)).program, broken.files) == {}
