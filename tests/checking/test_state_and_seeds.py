"""Checks of kernels that remember earlier launches or know their inputs, and of honest ones that look alike."""

import re
from collections.abc import Callable

import pytest
from problem_text import one_to_one, write_problem

from amdkernel_mcp.checking.cases.seeds import is_committed
from amdkernel_mcp.checking.check import check
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

PROBLEM = one_to_one("n = 300", "n = 65\nheld_out = true", more="[ranges]\nn = [1, 4096]\n")
REFERENCE = "def reference(x, *, n):\n    return {'y': 2 * x + x.max()}\n"
PLAN = "// amdkernel: launch k grid=[1] block=[256]\n"
HEAD = """
__device__ float largest(const float* x, int n) {
  float m = x[0];
  for (int i = 1; i < n; i++) m = fmaxf(m, x[i]);
  return m;
}
"""
ALL = "for (int i = threadIdx.x; i < n; i += blockDim.x)"
SIGNATURE = 'extern "C" __global__ void k(const float* x, float* y, int n)'
HONEST = f"{SIGNATURE} {{ {ALL} y[i] = 2 * x[i] + largest(x, n); }}"

Verdict = Callable[..., CheckResult]


@pytest.fixture(scope="module")
def verdict_of(sandbox: Sandbox, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    folder = tmp_path_factory.mktemp("problem")

    def run(kernel: str, *, plan: str = PLAN, toml: str = PROBLEM, **options: object) -> CheckResult:
        write_problem(folder, toml, REFERENCE)
        problem, source = load_problem(folder), f"{plan}#include <hip/hip_runtime.h>\n{HEAD}\n{kernel}\n"
        launch = read_launch_plan(source, problem)
        target = find_target("emulator:gfx942", settings)
        compiled = Compiler(sandbox, settings.cache_dir).compile(source, arch=target.arch, flags=launch.flags())
        return check(
            sandbox=sandbox,
            compiled=compiled,
            problem=problem,
            plan=launch,
            target=target,
            options=CheckOptions(**options),  # type: ignore[arg-type]
        )

    return run


def kinds(result: CheckResult) -> set[str]:
    return {finding.kind for finding in result.findings}


def test_an_honest_kernel_is_correct_on_announced_held_out_and_drawn_cases(verdict_of: Verdict) -> None:
    result = verdict_of(HONEST)
    assert result.verdict == "correct", result.reason
    drawn = [case.drawn for case in result.cases]
    assert drawn == [False, False] + [True] * (len(drawn) - 2)
    assert len(drawn) >= 6, "four, and those that are aimed at the kernel's numbers where none of these is like them"
    said = f"all {len(drawn)} cases (1 held out, {len(drawn) - 2} drawn) are correct with 5 seeds each"
    assert result.reason.startswith(said)
    assert result.notes == []


@pytest.mark.thorough
def test_the_answer_reveals_the_key_that_was_committed_to_and_it_replays_the_same_cases(verdict_of: Verdict) -> None:
    first, second = verdict_of(HONEST), verdict_of(HONEST)
    assert first.seeds is not None
    assert second.seeds is not None
    assert is_committed(first.seeds.commitment, first.seeds.key)
    assert first.seeds.key != second.seeds.key
    again = verdict_of(HONEST, seed_key=first.seeds.key)
    assert [case.case for case in again.cases] == [case.case for case in first.cases] != [c.case for c in second.cases]
    assert again.seeds is not None
    assert again.seeds.replayed
    assert again.reason.endswith("the inputs are those of a replayed key, so they were known before")


def test_a_problem_without_ranges_says_that_no_shape_was_drawn(verdict_of: Verdict) -> None:
    result = verdict_of(HONEST, toml=PROBLEM.split("[ranges]")[0])
    assert result.reason.startswith("all 2 cases (1 held out) are correct")
    assert [note for note in result.notes if "no [ranges]" in note] == result.notes


STATE = {
    "right at its first launch": f"""__device__ int launches;
{SIGNATURE} {{
  const int before = launches;
  {ALL} y[i] = before > 4 ? 0 : 2 * x[i] + largest(x, n);
  __syncthreads();
  if (!threadIdx.x) launches = before + 1;
}}""",
    "a sum that is never reset": f"""__device__ float most = -1e30f;
{SIGNATURE} {{
  const float before = most, now = fmaxf(before, largest(x, n));
  {ALL} y[i] = 2 * x[i] + now;
  __syncthreads();
  if (!threadIdx.x) most = now;
}}""",
}


@pytest.mark.parametrize("name", STATE)
def test_a_kernel_that_remembers_is_named_as_such(verdict_of: Verdict, name: str) -> None:
    result = verdict_of(STATE[name])
    assert result.verdict == "incorrect"
    assert "state_between_launches" in kinds(result), result.reason
    assert re.search("the kernel remembers an earlier launch|which an earlier run of the launches wrote", result.reason)


KNOWS = {
    "its inputs by their first element": f"""__device__ float known = -1e30f, answer[4096];
{SIGNATURE} {{
  const bool again = known == x[0];
  {ALL} {{
    y[i] = again ? answer[i] : 2 * x[i] + largest(x, n);
    answer[i] = y[i];
  }}
  __syncthreads();
  known = x[0];
}}""",
    "its inputs by their address": f"""__device__ const float* known;
__device__ float answer[4096];
{SIGNATURE} {{
  const bool again = known == x;
  {ALL} {{
    y[i] = again ? answer[i] : 2 * x[i] + largest(x, n);
    answer[i] = y[i];
  }}
  __syncthreads();
  known = x;
}}""",
    "the listed shapes": f"{SIGNATURE} {{ if (n == 300 || n == 65) {ALL} y[i] = 2 * x[i] + largest(x, n); }}",
    "that sizes are less than 301": f"{SIGNATURE} {{ n = n < 301 ? n : 300; {ALL} y[i] = 2 * x[i] + largest(x, n); }}",
    "the sign of the largest element": f"{SIGNATURE} {{ {ALL} y[i] = 2 * x[i] + fmaxf(0, largest(x, n)); }}",
}


@pytest.mark.parametrize("name", one_in(9, KNOWS, others=pytest.mark.thorough))
def test_a_kernel_that_knows_is_incorrect(verdict_of: Verdict, name: str) -> None:
    assert verdict_of(KNOWS[name]).verdict == "incorrect"


STATIC_THAT_IS_SET = f"""__device__ float most;
{SIGNATURE} {{
  if (!threadIdx.x) most = largest(x, n);
  __syncthreads();
  {ALL} y[i] = 2 * x[i] + most;
}}"""

COUNTER_THAT_RESETS_ITSELF = """__device__ unsigned taken, ended;
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ unsigned item;
  for (;;) {
    if (!threadIdx.x) item = atomicAdd(&taken, 1u);
    __syncthreads();
    const unsigned i = item * blockDim.x + threadIdx.x;
    if (item * blockDim.x >= n) break;
    if (i < n) y[i] = 2 * x[i] + largest(x, n);
    __syncthreads();
  }
  if (!threadIdx.x && atomicAdd(&ended, 1u) == gridDim.x - 1) {
    atomicExch(&taken, 0u);
    atomicExch(&ended, 0u);
  }
}"""


@pytest.mark.thorough
def test_a_static_variable_that_each_launch_sets_is_sound(verdict_of: Verdict) -> None:
    result = verdict_of(STATIC_THAT_IS_SET)
    assert result.verdict == "correct", result.reason


@pytest.mark.thorough
def test_a_work_counter_that_resets_itself_is_sound_in_twelve_runs(verdict_of: Verdict) -> None:
    result = verdict_of(COUNTER_THAT_RESETS_ITSELF, plan="// amdkernel: launch k grid=[3] block=[64]\n")
    assert result.verdict == "correct", result.reason
    assert result.coverage is not None
    assert result.coverage.orders == result.coverage.cases >= 6


@pytest.mark.thorough
def test_a_fault_in_one_seed_is_a_crash(verdict_of: Verdict) -> None:
    result = verdict_of(
        f"{SIGNATURE} {{ {ALL} y[i] = 2 * x[i] + largest(x, n); if (largest(x, n) < 0) *(int*)8 = 1; }}"
    )
    assert result.verdict == "crashed", result.reason
