"""Which case counts, and how it is chosen."""

from dataclasses import replace

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.measurement.timed_case import timed_cases, what_is_timed
from amdkernel_mcp.problems.problem_file import load_problem

VECTORS = load_problem("vector_add")


def test_the_profile_case_counts_and_without_one_the_largest_announced_case():
    assert [case.name for case in timed_cases(VECTORS)] == ["n=4194304"]
    assert what_is_timed(VECTORS) == "n=4194304"
    without = replace(VECTORS, profile_cases=())
    assert [case.name for case in timed_cases(without)] == ["n=4096"], "12345 elements are held out"
    assert "no case has `profile = true`" in what_is_timed(without)


def test_a_case_is_chosen_by_its_sizes():
    product = load_problem("gemm_f16")
    assert [case.name for case in timed_cases(product, "k=260")] == ["m=256, n=240, k=260"]
    assert [case.name for case in timed_cases(product, "n=240, m=256")] == ["m=256, n=240, k=260"]


@pytest.mark.parametrize("name", ["n=12345", "n=1", "", "m=4096"])
def test_a_held_out_or_unknown_case_is_refused_with_the_names(name: str):
    with pytest.raises(InputError) as error:
        timed_cases(VECTORS, name)
    assert error.value.hint == "the cases are: n=4194304; n=4096; n=1000"
