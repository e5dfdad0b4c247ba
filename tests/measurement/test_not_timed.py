"""A fault of the baseline says that it is the baseline's, and in which file."""

import pytest

from amdkernel_mcp.measurement.not_timed import BASELINE, incorrect, name_baseline
from amdkernel_mcp.results.kernels import CheckResult, Finding


@pytest.mark.parametrize(
    ("role", "file", "verdict"), [(BASELINE, "naive.hip", "not_measured"), ("this kernel", None, "incorrect")]
)
def test_the_fault_of_a_kernel_is_that_kernels(role: str, file: str | None, verdict: str) -> None:
    checked = CheckResult(
        verdict="incorrect", reason="reads x[3]", findings=[Finding(kind="out_of_bounds", message="m", line=2)]
    )
    answer = name_baseline(incorrect(checked, role), "naive.hip")
    assert (answer.at_fault, answer.verdict) == (file, verdict)
    named = "the baseline naive.hip" if file else "this kernel"
    assert answer.reason == f"not timed, because {named} is incorrect: reads x[3]"
