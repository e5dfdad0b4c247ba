"""Kernels and a program that the box runs, and a test for `bringup --instructions`."""

HANGS = """// amdkernel: launch vector_add grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>
extern "C" __global__ void vector_add(const float *x, const float *y, float *z, int n)
{
    while (atomicAdd((int *)z, 0) != 12345)
        ;
}
"""
TUNABLE = """// amdkernel: tune BLOCK=[256,64,7]
// amdkernel: launch add grid=[ceil_div(n, BLOCK)] block=[BLOCK]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + (BLOCK == 7 ? 0.0f : y[i]);
}
"""
PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void answer(int *out) { *out = 42; }

int main()
{
    int *out = nullptr, found = 0;
    if (hipMalloc(&out, 4) != hipSuccess)
        return 1;
    answer<<<1, 1>>>(out);
    if (hipMemcpy(&found, out, 4, hipMemcpyDeviceToHost) != hipSuccess)
        return 2;
    printf("it's %d\\n", found);
    return 0;
}
"""
TWO_LINES = """import os, sys
import numpy as np
import pytest
sys.path.insert(0, {emulator!r})
from waves import TESTED_ON, State, gpu_of, run_waves

@pytest.mark.parametrize(("line", "left"), [("v_add_u32 v2, v0, v1", 3), ("v_add_u32 v2, v0, v1", 4)])
def test_a_line_leaves_what_is_expected(line, left):
    [state] = run_waves(gpu_of("gfx942"), [(line, State(np.tile(np.array([[1], [2]] * 16, np.uint32), 64)))])
    assert state.v[2][0] == left, f"{{os.environ[TESTED_ON]}} left {{state.v[2][0]}}"
"""
WHICH_GPU = """#include <hip/hip_runtime.h>
#include <cstdio>

int main()
{
    int count = 0, bus = 0;
    if (hipGetDeviceCount(&count) != hipSuccess)
        return 1;
    if (hipDeviceGetAttribute(&bus, hipDeviceAttributePciBusId, 0) != hipSuccess)
        return 2;
    printf("%d device, bus %d\\n", count, bus);
    return 0;
}
"""
