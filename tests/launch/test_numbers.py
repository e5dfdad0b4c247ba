"""Numbers of absurd length in a candidate's lines are mistakes with a line, never an internal error."""

import pytest
from problem_text import write_problem

from amdkernel_mcp.launch.bind import bind
from amdkernel_mcp.launch.kernel_symbols import KernelSymbol, Parameter
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem

NUMBER = "9" * 5_000
KERNEL = KernelSymbol("k", "k", tuple(Parameter(is_pointer=True, bytes=8) for _ in range(2)), 1024, 0)


@pytest.mark.parametrize(
    "line",
    [
        f"launch k grid=[{NUMBER}] block=[64]",
        f"launch k grid=[1] block=[{NUMBER}]",
        f"launch k grid=[1] block=[64] lds={NUMBER}",
        f"launch k grid=[1] block=[64] args=[{NUMBER}]",
        f"launch k grid=[1] block=[64] args=[x]\n// amdkernel: workspace w dtype=f32 shape=[{NUMBER}]",
        f"launch k grid=[1] block=[64]\n// amdkernel: workspace w dtype=f32 shape=[{','.join(['1'] * 2_000)}]",
        f"launch k grid=[N] block=[64]\n// amdkernel: build -DN={NUMBER}",
        "launch k grid=[N] block=[64]\n// amdkernel: build -DN=--5",
        f"launch k grid=[T] block=[64]\n// amdkernel: tune T=[{NUMBER}]",
    ],
    ids=lambda line: line[:40],
)
def test_a_number_that_is_too_long_is_a_mistake_of_the_plan(tmp_path, line):
    problem = load_problem(write_problem(tmp_path))
    plan = read_launch_plan(f"// amdkernel: {line}\n", problem)
    assert plan.mistakes
    assert all(len(mistake.message) < 1_000 for mistake in plan.mistakes)
    assert plan.mistakes[0].line in (1, 2)


def test_a_flag_may_define_a_number_that_no_launch_uses(tmp_path):
    problem = load_problem(write_problem(tmp_path))
    source = f"// amdkernel: launch k grid=[1] block=[64] args=[x, y]\n// amdkernel: build -DN={NUMBER[:60]}\n"
    plan = read_launch_plan(source, problem)
    assert not plan.mistakes
    assert bind(plan, problem, problem.cases[0], kernels=[KERNEL], arch="gfx942").finding is None
