"""A brief profile has few findings and numbers, nothing empty, and fits into two kilobytes."""

from typing import Any

import pytest

from amdkernel_mcp.profiling.brief import LIMIT_BYTES, brief, size, sparse
from amdkernel_mcp.profiling.comparison import comparison
from amdkernel_mcp.results.kernels import Diagnosis, ProfileResult
from tests.profiling.test_emulated_profile import WAVES, run

SCATTERED: dict[str, Any] = {"cache_lines_loaded": 64 * WAVES, "cache_lines_stored": 64 * WAVES, "SQ_LDS_IDX_ACTIVE": 0}


def finding(number: int) -> Diagnosis:
    text = {"finding": f"finding {number}", "because": "figures " * 60, "try": "advice " * 60}
    return Diagnosis.model_validate(text | {"refuted_by": "an observation " * 9, "docs": ["guide:profile"]})


def test_the_first_finding_keeps_most_where_there_are_many() -> None:
    small = brief(ProfileResult(kernels=run(**SCATTERED).kernels, diagnosis=[finding(n) for n in range(12)]))
    assert size(small) <= LIMIT_BYTES
    assert [row.finding for row in small.diagnosis] == ["finding 0", "finding 1", "finding 2"]
    first, second = small.diagnosis[:2]
    assert first.refuted_by
    assert not second.refuted_by
    assert len(first.try_) > len(second.try_)


def test_whether_a_change_helped_is_in_the_shortest_answer() -> None:
    before, after = run(), run(**SCATTERED)
    small = brief(after.model_copy(update={"comparison": comparison(before, after, name="b.hip")}))
    assert size(small) <= LIMIT_BYTES
    assert small.comparison
    assert small.comparison.times[0].says.startswith("slower")


def test_numbers_are_rounded_and_those_that_are_not_known_are_left_out() -> None:
    small = brief(run(**SCATTERED, bytes_loaded=256 * WAVES - 777))
    values = {name: metric.value for name, metric in small.kernels[0].metrics.items()}
    assert "Load Coalescing" in values
    assert all((value is not None and value == float(f"{value:.3g}")) or value % 1 == 0 for value in values.values())
    assert 6 <= len(values) <= 14
    assert any(name.startswith("Bound: ") for name in values)


def test_what_is_ruled_out_is_left_to_the_whole_answer_unless_nothing_is_found() -> None:
    assert all("Ruled out" not in row.finding for row in brief(run(**SCATTERED)).diagnosis)
    nothing = run(bytes_loaded=1024 * WAVES)
    only = nothing.model_copy(update={"diagnosis": nothing.diagnosis[-1:]})
    assert brief(only).diagnosis[0].finding.startswith("Ruled out")
    assert brief(only).diagnosis[0].because == ""


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"a": None, "b": [], "c": "", "d": {"e": None}, "f": 0, "g": False}, {"f": 0, "g": False}),
        ({"kernels": [], "bound": None, "because": ""}, {"kernels": [], "bound": None, "because": ""}),
    ],
)
def test_only_keys_that_the_schema_requires_stay_when_they_are_empty(value: Any, kept: Any) -> None:
    assert sparse(value) == kept
