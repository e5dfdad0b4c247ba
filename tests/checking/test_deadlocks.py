"""Workgroups that wait for others: right where all of them fit on the target, a deadlock where they do not."""

import pytest

from amdkernel_mcp.checking.check import check
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

HEAD = """#include <hip/hip_runtime.h>
// amdkernel: workspace state dtype=i32 shape=[groups + 2]
// amdkernel: launch clear grid=[groups + 2] block=[1] args=[state]
// amdkernel: launch wait grid=[groups] block=[{block}] args=[y, state, groups]
#define LOAD(at) __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)
#define STORE(at, value) __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT)
__global__ void clear(int* state) {{ state[blockIdx.x] = 0; }}
__global__ void wait(int* y, int* state, int groups) {{
{body}
}}
"""
# Each workgroup writes its number; all of them meet first.
BARRIER = """
  if (threadIdx.x == 0) {
    atomicAdd(state, 1);
    while (LOAD(state) < groups) __builtin_amdgcn_s_sleep(2);  // the wait
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = blockIdx.x;"""
IN_LDS = "  __shared__ volatile char room[48 * 1024]; room[threadIdx.x] = 0;" + BARRIER
MANY_REGISTERS = (
    """
  asm volatile("v_mov_b32 v255, 0" ::: "v255");"""
    + BARRIER
)
FOR_THE_NEXT = """
  if (threadIdx.x == 0) {
    while (blockIdx.x + 1 < groups && !LOAD(state + blockIdx.x + 1)) {}  // the wait
    y[blockIdx.x] = blockIdx.x;
    STORE(state + blockIdx.x, 1);
  }"""
FOR_THE_ONE_BEFORE = """
  if (threadIdx.x == 0) {
    while (blockIdx.x && !LOAD(state + blockIdx.x - 1)) {}
    y[blockIdx.x] = blockIdx.x;
    STORE(state + blockIdx.x, 1);
  }"""
BY_TICKET = """
  if (threadIdx.x == 0) {
    int ticket = atomicAdd(state, 1);
    while (ticket && !LOAD(state + 1 + ticket)) __builtin_amdgcn_s_sleep(1);
    y[ticket] = ticket;
    STORE(state + 2 + ticket, 1);
  }"""
THE_FIRST_WAITS_FOR_ALL = """
  if (threadIdx.x == 0) {
    y[blockIdx.x] = blockIdx.x;
    atomicAdd(state, 1);
    while (blockIdx.x == 0 && LOAD(state) < groups) {}
  }"""
A_LOCK = """
  __shared__ volatile char room[60 * 1024]; room[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    while (atomicCAS(state, 0, 1)) __builtin_amdgcn_s_sleep(1);
    state[1] += 1;
    y[blockIdx.x] = blockIdx.x;
    __threadfence();
    atomicExch(state, 0);
  }"""
PERSISTENT = """
  __shared__ int taken;
  for (;;) {
    if (threadIdx.x == 0) taken = atomicAdd(state, 1);
    __syncthreads();
    int mine = taken;
    if (mine >= groups) return;
    if (threadIdx.x == 0) y[mine] = mine;
    __syncthreads();
  }"""
LONG_WORK = """
  float x = threadIdx.x;
  for (int i = 0; i < 20000; i++) x = x * 0.5f + i;
  if (threadIdx.x == 0) y[blockIdx.x] = x < 0 ? 0 : blockIdx.x;"""


@pytest.fixture
def checked(sandbox, settings, tmp_path):
    def run(body: str, *sizes: int, target: str = "emulator:gfx942", block: int = 64, **options) -> CheckResult:
        arguments = '[[arguments]]\nname = "y"\ndtype = "i32"\nshape = ["groups"]\nrole = "out"\n'
        arguments += '[[arguments]]\nname = "groups"\ndtype = "i32"\n'
        (tmp_path / "problem.toml").write_text(arguments + "".join(f"[[cases]]\ngroups = {size}\n" for size in sizes))
        reference = "import numpy as np\n\ndef reference(*, groups):\n    return {'y': np.arange(groups)}\n"
        (tmp_path / "reference.py").write_text(reference)
        problem, source = load_problem(tmp_path), HEAD.format(body=body, block=block)
        plan, where = read_launch_plan(source, problem), find_target(target, settings)
        compiled = Compiler(sandbox, settings.cache_dir).compile(source, arch=where.arch, flags=plan.flags())
        return check(
            sandbox=sandbox,
            compiled=compiled,
            problem=problem,
            plan=plan,
            target=where,
            options=CheckOptions(**options),
        )

    return run


def waits_at(body: str) -> int:
    lines = HEAD.format(body=body, block=64).splitlines()
    return next(number for number, line in enumerate(lines, 1) if "// the wait" in line)


@pytest.mark.thorough
def test_a_barrier_of_as_many_workgroups_as_fit_is_correct(checked):
    result = checked(IN_LDS, 304, seeds=(0,))
    assert result.verdict == "correct", result.reason


def test_one_workgroup_more_is_a_deadlock_with_its_line_and_how_many_fit(checked):
    result = checked(IN_LDS, 305, seeds=(0,))
    assert (result.verdict, result.findings[0].kind) == ("deadlock", "deadlock"), result.reason
    assert result.findings[0].line == waits_at(IN_LDS)
    assert (
        "304 of 305 workgroups fit on MI300X at once (limited by LDS); the rest start when these end" in result.reason
    )


@pytest.mark.thorough
def test_a_chain_of_waits_for_earlier_workgroups_is_correct_in_any_grid(checked):
    result = checked(BY_TICKET, 12_000, seeds=(0,))
    assert result.verdict == "correct", result.reason


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("target", "body", "block", "fit", "by"),
    [
        ("gfx942", BARRIER, 1024, 608, "wave slots"),
        ("gfx942", MANY_REGISTERS, 256, 608, "registers"),
        ("gfx942", FOR_THE_NEXT, 1024, 608, "wave slots"),
        ("gfx950", IN_LDS, 64, 768, "LDS"),
        ("gfx90a", IN_LDS, 64, 110, "LDS"),
        ("gfx90a", BARRIER, 256, 880, "wave slots"),
        ("gfx1100", IN_LDS, 64, 96, "LDS"),
        ("gfx1100", BARRIER, 256, 384, "wave slots"),
        ("gfx1201", IN_LDS, 64, 64, "LDS"),
        ("gfx1201", BARRIER, 1024, 64, "wave slots"),
    ],
)
def test_how_many_fit_is_a_matter_of_the_target(checked, target, body, block, fit, by):
    full = checked(body, fit, target=f"emulator:{target}", block=block, seeds=(0,))
    assert full.verdict == "correct", full.reason
    over = checked(body, fit + 1, target=f"emulator:{target}", block=block, seeds=(0,))
    assert over.verdict == "deadlock", over.reason
    assert f"{fit:,} of {fit + 1:,} workgroups fit" in over.reason
    assert f"(limited by {by})" in over.reason
    assert over.findings[0].line == waits_at(body)


@pytest.mark.thorough
@pytest.mark.parametrize("target", one_in(2, ["gfx942", "gfx90a", "gfx1201", "gfx1100"]))
@pytest.mark.parametrize(
    "body", [FOR_THE_ONE_BEFORE, BY_TICKET, THE_FIRST_WAITS_FOR_ALL, A_LOCK, PERSISTENT, LONG_WORK]
)
def test_waits_that_end_are_correct_in_a_grid_that_does_not_fit(checked, target, body):
    result = checked(body, 1500, target=f"emulator:{target}", seeds=(0,))
    assert result.verdict == "correct", result.reason


@pytest.mark.thorough
def test_a_grid_of_more_workgroups_than_the_emulator_can_hold_is_a_deadlock_too(checked):
    result = checked(BARRIER, 65_536, seeds=(0,))
    assert result.verdict == "deadlock", result.reason
    assert "9,728 of 65,536 workgroups fit" in result.reason


# clang lets lanes that skip the second `if` skip the first one of the next turn, too: of two loops, one lacks lane 0.
LOOP_WITHOUT_LANE_0 = """
  for (;;) {{{begin}
    int item = 0;
    if (threadIdx.x == 0) item = atomicAdd(state, 1);
    item = __shfl(item, 0);  // the wait
    if (item >= groups) return;
    long v = 0;
    for (int i = item + threadIdx.x; i < groups; i += 64) v += state[2 + i];
    for (int o = 32; o; o >>= 1) v += __shfl_down((long long)v, o);
    if (threadIdx.x == 0) atomicExch(&y[item], item + (int)v);
  }}"""


def test_a_loop_that_lost_a_lane_is_a_timeout_that_says_so(checked):
    body = LOOP_WITHOUT_LANE_0.format(begin="")
    result = checked(body, 16, seeds=(0,))
    assert result.verdict == "timeout", result.reason
    assert f"line {waits_at(body)} takes a value of a lane that is not in it" in result.reason


def test_a_wave_barrier_keeps_the_lanes_of_a_loop_together(checked):
    result = checked(LOOP_WITHOUT_LANE_0.format(begin=" __builtin_amdgcn_wave_barrier();"), 16, seeds=(0,))
    assert result.verdict == "correct", result.reason
