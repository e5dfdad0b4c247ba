"""What people send who know CUDA or PyTorch gets the sentence that leads to a kernel."""

import pytest

from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem

KERNEL = "__global__ void k(const float* x, float* y, int n) {}\n"
VECTOR = load_problem("vector_add")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("kernels/my kernel.hip", "give the path as `path`"),
        ("  /home/me/k.cu\n", "give the path as `path`"),
        ("import torch\nclass Model(torch.nn.Module):\n    pass\n", "this is Python"),
        ("@triton.jit\ndef k(x):\n    pass\n", "this is Python"),
        (KERNEL + "int main() { k<<<1, 64>>>(x, y, n); }", "`// amdkernel: launch k grid="),
        (KERNEL + "void run() { k<float, 4><<<dim3(1), 64>>>(x, y, n); }", "host code, which does not run here"),
        (KERNEL + "// call it as k<<<1, 64>>>(x)\n", "the candidate has no launch plan"),
        ("float add(float a, float b) { return a + b; }", "the source has no kernel"),
        (KERNEL, "the candidate has no launch plan"),
    ],
)
def test_a_source_without_a_plan_is_told_what_to_send(source: str, says: str) -> None:
    mistakes = read_launch_plan(source, VECTOR).mistakes
    assert [says in each.message for each in mistakes] == [True], mistakes


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("#define T 16 // wide", "16"),
        ("constexpr int A = 1, T = 2 * 8;", "2 * 8"),
        ("static const int T = 64;", "64"),
    ],
)
def test_a_constant_of_the_source_in_a_plan_is_named_with_its_value(definition: str, value: str) -> None:
    plan = "// amdkernel: launch k grid=[ceil_div(n, T)] block=[64]\n"
    [mistake] = read_launch_plan(definition + "\n" + plan + KERNEL, VECTOR).mistakes
    assert f"a plan does not know the constants of the source: write {value}," in mistake.message
    assert mistake.line == 2
    [other] = read_launch_plan(plan + KERNEL, VECTOR).mistakes
    assert "constants of the source" not in other.message
