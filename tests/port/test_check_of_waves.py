"""A candidate that is wrong on waves of 64 and right on waves of 32 says so, with the line."""

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.results.kernels import CheckResult

pytestmark = pytest.mark.sandbox

SUM_OF_32 = """#include <hip/hip_runtime.h>
// amdkernel: launch add grid=[ceil_div(n, 64)] block=[64] lds=0
extern "C" __global__ void add(const float* x, const float* y, float* z, int n)
{
    int lane = threadIdx.x & 31, i = blockIdx.x * 64 + threadIdx.x;
    float first = __shfl(i < n ? x[i] : 0, 0);
    float own = __shfl(i < n ? x[i] : 0, lane);
    if (i < n) z[i] = own + y[i] + (lane == 0 ? first - own : 0);
}
"""
WRONG_ANYWHERE = SUM_OF_32.replace("own + y[i]", "own - y[i]")


def checked(settings: Settings, source: str) -> CheckResult:
    engine = Engine(settings)
    try:
        return engine.do(Check(problem="vector_add", source=source, target="emulator:gfx942"))
    finally:
        engine.close()


def test_a_kernel_for_warps_of_32_is_named_one_with_its_line(settings: Settings) -> None:
    result = checked(settings, SUM_OF_32)
    assert result.verdict == "incorrect"
    assert "right on waves of 32" in result.reason
    assert {6, 7} <= {finding.line for finding in result.findings}


@pytest.mark.thorough
def test_a_kernel_that_is_wrong_on_any_wave_is_not(settings: Settings) -> None:
    result = checked(settings, WRONG_ANYWHERE)
    assert result.verdict == "incorrect"
    assert "waves" not in result.reason
