"""Sizes that a check draws within the ranges of a problem."""

from pathlib import Path

import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.checking.cases.drawn_cases import draw_cases
from amdkernel_mcp.checking.cases.seeds import SeedKey
from amdkernel_mcp.problems.inits import bytes_of
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem

KEYS = [SeedKey(bytes([number]) * 32) for number in range(30)]


def problem(folder: Path, ranges: str, text: str = TOML) -> Problem:
    return load_problem(write_problem(folder, changed("[tolerance]", f"[ranges]\n{ranges}\n\n[tolerance]", text)))


def drawn(given: Problem) -> list[tuple[Case, ...]]:
    return [draw_cases(given, key) for key in KEYS]


def values(case: Case) -> tuple[int, ...]:
    return tuple(int(value) for value in case.values.values())


def test_the_same_key_draws_the_same_cases_and_another_one_others(tmp_path: Path) -> None:
    given = problem(tmp_path, "rows = [1, 4096]\ncols = [1, 8192]")
    assert drawn(given) == drawn(given)
    assert len({tuple(map(values, cases)) for cases in drawn(given)}) > 25


def test_each_check_draws_smallest_odd_prime_and_large_sizes(tmp_path: Path) -> None:
    large = changed("rows = 4\ncols = 10", "rows = 64\ncols = 500")
    for cases in drawn(problem(tmp_path, "rows = [1, 4096]\ncols = [1, 8192]", large)):
        smallest, odd, prime, big = (values(case) for case in cases)
        assert min(smallest) == 1
        assert max(smallest) <= 2
        assert all(value % 2 for value in odd)
        assert any(value > 1 and all(value % n for n in range(2, value)) for value in prime)
        assert max(big) > 250
        assert all(case.drawn and case.held_out for case in cases)


def test_the_only_size_of_a_problem_is_drawn_beyond_all_that_are_listed() -> None:
    given = load_problem("vector_add")
    assert all(cases[-1].values["n"] > 12345 for cases in drawn(given))


def test_no_case_is_drawn_without_ranges(tmp_path: Path) -> None:
    assert draw_cases(load_problem(write_problem(tmp_path)), KEYS[0]) == ()


def test_a_listed_case_is_not_drawn(tmp_path: Path) -> None:
    given = problem(tmp_path, "rows = [4, 7]\ncols = [10, 33]")
    listed = [dict(case.values) for case in given.cases]
    assert all(dict(case.values) not in listed for cases in drawn(given) for case in cases)


def test_sizes_stay_within_their_range_and_its_multiple(tmp_path: Path) -> None:
    text = TOML.replace("rows = 4\ncols = 10", "rows = 4\ncols = 16").replace("cols = 33", "cols = 40")
    for cases in drawn(problem(tmp_path, "cols = { min = 1, max = 800, multiple = 8 }", text)):
        assert cases
        for case in cases:
            assert case.values["rows"] in (4, 7), "a size without a range is one of the listed"
            assert case.values["cols"] % 8 == 0
            assert 8 <= case.values["cols"] <= 800


def test_a_range_of_listed_values_alone_draws_nothing(tmp_path: Path) -> None:
    text = TOML.replace("rows = 7\ncols = 33", "rows = 4\ncols = 11")
    assert draw_cases(problem(tmp_path, "rows = [4, 4]\ncols = [10, 11]", text), KEYS[0]) == ()


@pytest.mark.parametrize("name", bundled_problems())
def test_drawn_cases_of_the_examples_are_quick(name: str) -> None:
    given = load_problem(name)
    largest = max(sum(bytes_of(case, each) for each in given.arrays) for case in given.cases)
    for cases in drawn(given):
        assert len(cases) >= 3
        sizes = [sum(bytes_of(case, each) for each in given.arrays) for case in cases]
        assert max(sizes[:-1]) <= min(largest, 256 << 10)
        assert max(sizes) <= 4 << 20
