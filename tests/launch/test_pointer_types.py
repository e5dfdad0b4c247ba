"""A pointer to another floating type than its array's is said before anything runs; what may be right passes."""

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem

PLAN = "// amdkernel: launch k grid=[1] block=[64]\n"
SIGNATURE = (
    'extern "C" __global__ void k(const {a}* a, const _Float16* __restrict__ b, float* c, int m, int n, int k)\n'
)


def mistakes(source: str) -> list[tuple[str, int | None]]:
    found = read_launch_plan(source, load_problem("gemm_f16")).mistakes
    return [(each.message, each.line) for each in found]


def test_float_for_an_array_of_f16_is_that_sentence() -> None:
    ((message, line),) = mistakes(PLAN + "// a comment with __global__ void k(\n" + SIGNATURE.format(a="float") + "{}")
    assert message == ("parameter `a` of k is `float*`, but the array `a` has the dtype f16: write `_Float16*`")
    assert line == 3


@pytest.mark.parametrize("a", ["_Float16", "__half", "half", "unsigned short", "uint4", "float4", "T", "void"])
def test_the_types_own_names_bits_vectors_and_unknown_types_pass(a: str) -> None:
    assert mistakes(PLAN + SIGNATURE.format(a=a) + "{}") == []


@pytest.mark.parametrize(
    "rest",
    [
        "{ auto h = reinterpret_cast<const _Float16*>(a); }",
        "{ auto h = (const _Float16*)a; }",
        "{ auto h = ((const _Float16*)(a)); }",
        "{ _Float16 h; memcpy(&h, a, 2); }",
    ],
)
def test_a_pointer_that_the_kernel_casts_passes(rest: str) -> None:
    assert mistakes(PLAN + SIGNATURE.format(a="float") + rest) == []


@pytest.mark.parametrize(
    "source",
    [
        "#define float _Float16\n" + SIGNATURE.format(a="float") + "{}",
        f"#if X\n{SIGNATURE.format(a='float')}{{}}\n#else\n{SIGNATURE.format(a='_Float16')}{{}}\n#endif",
        "template <class T> __global__ void k(const float* a) {}",
    ],
)
def test_what_the_text_alone_does_not_decide_passes(source: str) -> None:
    assert mistakes(PLAN + source) == []


def test_arguments_of_the_plan_and_workspaces_are_compared_as_well() -> None:
    plan = "// amdkernel: workspace w dtype=bf16 shape=[n]\n// amdkernel: launch k grid=[1] block=[64] args=[c, w]\n"
    ((message, _),) = mistakes(plan + "__global__ void k(float* c, const double* w) {}")
    assert "the array `w` has the dtype bf16: write `__hip_bfloat16*`" in message


@pytest.mark.parametrize("name", bundled_problems())
def test_no_example_is_refused(name: str) -> None:
    for file in sorted((folder("examples") / name / "kernels").glob("*.hip")):
        plan = read_launch_plan(file.read_text(), load_problem(name))
        assert not [each for each in plan.mistakes if "has the dtype" in each.message], file
