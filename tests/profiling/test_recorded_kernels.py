"""Kernels that an MI300X ran with a profiler: the emulator counts the same, or it is known why not."""

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from benchmarks.recorded_kernels import REASONS, WHY, Compared, compare
from benchmarks.recordings import PAGE, page

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]


@pytest.fixture(scope="module")
def found(sandbox: Sandbox, settings: Settings) -> list[Compared]:
    return compare(sandbox, find_target("emulator:gfx942", settings), settings.cache_dir)


def test_each_counter_is_within_two_percent_or_has_a_reason(found: list[Compared]) -> None:
    assert len(found) > 300
    assert [row for row in found if not row.near and not row.reasons] == []


def test_no_reason_excuses_a_counter_that_is_near(found: list[Compared]) -> None:
    off = {(row.counter, row.kernel) for row in found if not row.near}
    assert REASONS.keys() - off == set()


def test_exact_counts_of_instructions_equal_the_recorded_ones(found: list[Compared]) -> None:
    assert [row for row in found if row.counter.startswith("SQ_INSTS") and row.off] == []


def test_each_reason_is_used_and_explained() -> None:
    assert {name for names in REASONS.values() for name in names} == set(WHY)


def test_the_page_has_these_numbers(found: list[Compared]) -> None:
    assert PAGE.read_text() == page(found), "python benchmarks/recordings.py --write"
