"""A verdict, its scope and its findings are the same on a quiet machine and on a busy one."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from problem_text import one_to_one, write_problem

from amdkernel_mcp.checking.cases.seeds import fresh_key
from amdkernel_mcp.checking.check import check
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]

PROBLEM = one_to_one("n = 500", "n = 600_000")
REFERENCE = "def reference(x, *, n):\n    return {'y': x}\n"
# The large case executes more instructions than are checked in full.
SOURCE = """#include <hip/hip_runtime.h>
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64]
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float s = x[i < n ? i : 0];
  for (int k = 0; k < 300; k++) asm volatile("v_mov_b32 %0, %0" : "+v"(s));
  ENDING
}
"""
ENDINGS = {
    "correct": "if (i < n) y[i] = s;",
    "incorrect": "if (i < n) y[i] = s; if (i + 1 < n && i % 64 == 63) y[i + 1] = x[i + 1] + (i % 7777 == 63);",
    "timeout": "if (i < n) y[i] = s; while (i == 512) __builtin_amdgcn_s_sleep(1);",
}


@contextmanager
def busy(loops: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize("verdict", one_in(3, ENDINGS))
def test_four_busy_loops_change_nothing(sandbox, settings, tmp_path, verdict):
    problem, source = (
        load_problem(write_problem(tmp_path, PROBLEM, REFERENCE)),
        SOURCE.replace("ENDING", ENDINGS[verdict]),
    )
    plan, target = read_launch_plan(source, problem), find_target("emulator:gfx942", settings)
    compiled = Compiler(sandbox, settings.cache_dir).compile(source, arch=target.arch, flags=plan.flags())

    key = fresh_key()  # it draws the workgroups that are checked for races

    def answer():
        how = CheckOptions(seeds=(0, 1, 2))
        result = check(
            sandbox=sandbox, compiled=compiled, problem=problem, plan=plan, target=target, options=how, key=key
        )
        assert result.verdict == verdict, result.reason
        return result.model_dump(exclude={"seconds"})

    quiet = answer()
    with busy(4):
        assert answer() == quiet
