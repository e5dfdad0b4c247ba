from math import log2

import pytest

from amdkernel_mcp.checking.cases.tuned import Tuning
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions
from amdkernel_mcp.engine.tuning.strategy import Search, Sweep, strategy_of

LARGE = Space({name: tuple(str(2**k) for k in range(8)) for name in "ABCD"}, dict.fromkeys("ABCD", "1"))


def distance(tuning: Tuning) -> float:
    """Smallest at A=8 B=16 C=32 D=4."""
    best = {"A": 3, "B": 4, "C": 5, "D": 2}
    return 1.0 + sum((log2(int(value)) - best[name]) ** 2 for name, value in tuning.items())


def run(space: Space, options: TuneOptions, *, fails: bool = False) -> list[Tuning]:
    strategy = strategy_of(space, options)
    strategy.tell(space.default, distance(space.default))
    tried = [space.default]
    while batch := strategy.ask():
        for tuning in batch:
            strategy.tell(tuning, None if fails and tuning["A"] == "8" else distance(tuning))
        tried += batch
    return tried


def test_a_small_space_is_swept_and_a_large_one_searched() -> None:
    small = Space({"A": ("1", "2")}, {"A": "1"})
    assert isinstance(strategy_of(small, TuneOptions(rows=2)), Sweep)
    assert run(small, TuneOptions(rows=2)) == [{"A": "1"}, {"A": "2"}]
    assert isinstance(strategy_of(LARGE, TuneOptions()), Search)


@pytest.mark.parametrize("fails", [False, True])
def test_a_search_tries_each_combination_once_and_no_more_than_allowed(fails: bool) -> None:
    tried = run(LARGE, TuneOptions(rows=60), fails=fails)
    assert len({tuple(each.values()) for each in tried}) == len(tried) == 60


def test_a_search_repeats_with_its_seed_only() -> None:
    first = run(LARGE, TuneOptions(rows=40, seed=3))
    assert run(LARGE, TuneOptions(rows=40, seed=3)) == first
    assert run(LARGE, TuneOptions(rows=40, seed=4)) != first


def test_a_search_that_leaves_few_combinations_ends() -> None:
    space = Space({"A": tuple(map(str, range(40)))}, {"A": "0"})
    search = Search(space, TuneOptions(rows=39))
    seen = [each["A"] for _ in range(9) for each in search.ask()]
    assert len(set(seen)) == len(seen) == 38


def test_a_search_learns_from_the_times() -> None:
    """64 random rows of 4096 reach a cost of 3 or less with a chance of 40 %."""
    found = [min(map(distance, run(LARGE, TuneOptions(rows=64, seed=seed)))) for seed in range(5)]
    assert sum(cost <= 3 for cost in found) >= 4, found


def test_a_search_learns_which_values_belong_together() -> None:
    """Only A = B with C = D is best, so that no value is better than another by itself: 64 of 4096 combinations."""

    def apart(tuning: Tuning) -> float:
        a, b, c, d = (log2(int(value)) for value in tuning.values())
        return 1.0 + (a - b) ** 2 + (c - d) ** 2

    def best_of(seed: int) -> int:
        search, costs = Search(LARGE, TuneOptions(rows=128, seed=seed)), []
        while batch := search.ask():
            for tuning in batch:
                costs.append(apart(tuning))
                search.tell(tuning, costs[-1])
        return costs.count(1.0)

    found = [best_of(seed) for seed in range(5)]
    assert sum(found) >= 2 * 5 * 128 * 64 / 4096, f"{found}: random rows find 2 of them"


def test_a_search_avoids_values_that_are_wrong() -> None:
    """Three eighths of the combinations fail by their A; of random rows as many would."""
    search = Search(LARGE, TuneOptions(rows=96, seed=1))
    failed = []
    while batch := search.ask():
        for tuning in batch:
            failed.append(int(tuning["A"]) >= 32)
            search.tell(tuning, None if failed[-1] else distance(tuning))
    assert 4 <= sum(failed[:24]) <= 16
    assert sum(failed[24:]) <= len(failed[24:]) // 8


def test_without_any_correct_row_the_search_goes_on_at_random() -> None:
    search = Search(LARGE, TuneOptions(rows=40))
    tried: list[Tuning] = []
    while batch := search.ask():
        tried += batch
        for tuning in batch:
            search.tell(tuning, None)
    assert len({tuple(each.values()) for each in tried}) == 39


def test_a_default_outside_the_lists_is_not_told() -> None:
    space = Space(LARGE.lists, dict.fromkeys("ABCD", "3"))
    search = Search(space, TuneOptions(rows=10))
    search.tell(space.default, 1.0)
    assert len(search.ask()) == 8
