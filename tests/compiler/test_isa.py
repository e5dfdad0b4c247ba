"""What of a code object's disassembly is shown, and in which order."""

from collections.abc import Callable

import pytest

from amdkernel_mcp.compiler.compile import Compiled

pytestmark = pytest.mark.sandbox

TWO_KERNELS = """\
__device__ __noinline__ float root(float x) { return sqrtf(x) * 2.0f; }
extern "C" __global__ void first(float* x) {
  x[threadIdx.x] = root(powf(x[threadIdx.x], 2.5f));
}
extern "C" __global__ void second(float* x) {
  x[threadIdx.x] += 1;
}
"""


def functions_of(isa: str) -> list[str]:
    return [line.rstrip(":") for line in isa.splitlines() if line.endswith(":") and not line.startswith((" ", ";"))]


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_the_kernels_come_first_then_the_files_other_functions(compile_ok: Callable[..., Compiled], level: str) -> None:
    isa = compile_ok(TWO_KERNELS, flags=(level,)).isa()
    assert functions_of(isa) == ["first", "second", "_Z4rootf"]


def test_functions_of_libraries_are_merely_counted(compile_ok: Callable[..., Compiled]) -> None:
    isa = compile_ok(TWO_KERNELS, flags=("-O0",)).isa()
    assert "; left out: " in isa
    assert isa.splitlines()[-1].endswith("functions of headers and libraries")
    assert "; left out: " not in compile_ok(TWO_KERNELS, flags=("-O3",)).isa()


def test_of_a_chosen_kernel_no_other_code_is_shown(compile_ok: Callable[..., Compiled]) -> None:
    isa = compile_ok(TWO_KERNELS, flags=("-O0",)).isa(["second"])
    assert functions_of(isa) == ["second"]
    assert "left out" not in isa
