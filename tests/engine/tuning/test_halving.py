import random

import pytest

from amdkernel_mcp.engine.tuning.halving import FINALISTS, Rung, halve, rungs
from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN


def test_the_last_rung_is_a_whole_benchmark_and_each_look_keeps_its_level() -> None:
    ladder = rungs()
    assert ladder[-1].plan == DEFAULT_PLAN
    assert [rung.plan.looks for rung in ladder[:2]] == [(9,), (9, 16)]
    assert {round(rung.plan.level, 9) for rung in ladder} == {round(DEFAULT_PLAN.level, 9)}


@pytest.mark.parametrize("count", [1, 2, 3, 16, 64])
def test_the_fastest_row_reaches_the_end_and_the_work_is_bounded(count: int) -> None:
    speeds = [1 + 0.05 * k for k in range(count)]
    random.Random(count).shuffle(speeds)
    noise = random.Random(5)
    pairs = 0

    def time_row(speed: float, rung: Rung) -> float:
        nonlocal pairs
        pairs += rung.plan.looks[-1]
        return speed * (1 + noise.gauss(0, 0.02) / rung.plan.looks[-1] ** 0.5)

    reached = halve(speeds, time_row)
    fastest = speeds.index(max(speeds))
    assert reached[fastest] == rungs()[-1].number
    assert sum(rung == rungs()[-1].number for rung in reached.values()) <= max(FINALISTS, count // 16 + 1)
    assert set(reached) == set(range(count))
    assert pairs <= count * 36 + FINALISTS * 128, "all rows in full would be 64 each"


def test_a_row_that_stops_counting_is_timed_no_more() -> None:
    timed: list[tuple[str, int]] = []

    def time_row(row: str, rung: Rung) -> float | None:
        timed.append((row, rung.number))
        return None if row == "bad" else 1.0

    assert set(halve(["good", "bad", "fair"], time_row)) == {0, 2}
    assert [number for row, number in timed if row == "bad"] == [1]


def test_nothing_to_time_is_no_mistake() -> None:
    assert halve([], lambda _row, _rung: 1.0) == {}
