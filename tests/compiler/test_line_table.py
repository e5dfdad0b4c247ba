"""From addresses to lines of the user's file."""

from collections.abc import Callable

import pytest

from amdkernel_mcp.compiler.code_object import read_functions
from amdkernel_mcp.compiler.compile import Compiled
from amdkernel_mcp.compiler.disassembly import parse_disassembly
from tests.compiler.kernels import REVERSE

pytestmark = pytest.mark.sandbox

HELPER = """\
#include <hip/hip_fp16.h>
__device__ float twice(float x) {
  return x * __half2float(__float2half(x));
}
extern "C" __global__ void k(float* x) {
  x[threadIdx.x] =
      twice(x[threadIdx.x]);
  atomicAdd(x, 1.0f);
}
"""


SKETCH = """\
#include <hip/hip_runtime.h>
struct Sketch {
  unsigned* count;
  __device__ void add(int key) {
    unsigned mixed = key * 2654435761u;
    int slot = (int)(mixed ^ mixed >> 15) % 509;
    atomicAdd(&count[slot], 1u);
  }
};
extern "C" __global__ void fill(Sketch s, const int* keys, int n) {
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s.add(keys[i]);
}
"""


def lines_by_mnemonic(compiled: Compiled, mnemonic: str) -> list[int | None]:
    assert compiled.lines is not None
    found = []
    for text in compiled.isa().splitlines():
        fields = text.split()
        if len(fields) > 1 and fields[1].startswith(mnemonic):
            found.append(compiled.lines.line_of(int(fields[0], 16)))
    return found


def test_loads_and_stores_are_on_their_lines(compile_ok: Callable[..., Compiled]) -> None:
    compiled = compile_ok(REVERSE)
    assert lines_by_mnemonic(compiled, "global_load") == [3]
    assert lines_by_mnemonic(compiled, "ds_write") == [3]
    assert lines_by_mnemonic(compiled, "ds_read") == [5]
    assert lines_by_mnemonic(compiled, "s_barrier") == [4], "inlined from a header: the line of the call"
    assert lines_by_mnemonic(compiled, "global_store") == [5]


def test_code_inlined_from_a_header_is_on_the_line_of_its_call(compile_ok: Callable[..., Compiled]) -> None:
    compiled = compile_ok(HELPER)
    assert set(lines_by_mnemonic(compiled, "v_cvt_f32_f16")) == {3}
    assert set(lines_by_mnemonic(compiled, "global_atomic")) | set(lines_by_mnemonic(compiled, "global_load")) <= {7, 8}


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1201"])
def test_calls_inlined_into_each_other_are_told_from_the_innermost_outwards(
    compile_ok: Callable[..., Compiled], arch: str
) -> None:
    compiled = compile_ok(SKETCH, arch)
    assert compiled.lines is not None
    [address] = [
        int(text.split()[0], 16) for text in compiled.isa().splitlines() if text.split()[1:2] and "_atomic" in text
    ]
    assert compiled.lines.lines_of(address) == (7, 11)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx950", "gfx1100", "gfx1201"])
def test_nearly_every_instruction_has_a_line_on_every_arch(compile_ok: Callable[..., Compiled], arch: str) -> None:
    compiled = compile_ok(REVERSE, arch)
    assert compiled.lines is not None
    assert compiled.code_object is not None
    [function] = read_functions(compiled.code_object)
    lines = [compiled.lines.line_of(address) for address in range(function.start, function.end, 4)]
    assert {3, 4, 5} <= {line for line in lines if line}
    assert sum(line is None for line in lines) <= len(lines) // 10


def test_addresses_outside_the_code_have_no_line(compile_ok: Callable[..., Compiled]) -> None:
    lines = compile_ok(REVERSE).lines
    assert lines is not None
    assert [lines.line_of(address) for address in (0, 1 << 40, -1)] == [None] * 3


def test_the_isa_shows_each_source_line_before_its_code(compile_ok: Callable[..., Compiled]) -> None:
    compiled = compile_ok(REVERSE)
    text = compiled.isa()
    assert text.startswith("reverse:\n")
    load, store = text.index("global_load"), text.index("global_store")
    assert "; 3: part[threadIdx.x] = x[threadIdx.x];" in text[:load]
    assert "; 5: x[threadIdx.x] = expf(part[127 - threadIdx.x]);" in text[load:store]
    assert list(parse_disassembly(text)) == []
