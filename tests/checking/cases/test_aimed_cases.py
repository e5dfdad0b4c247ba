"""Sizes that are aimed at a kernel's own constants: multiples of them, beyond them, and never too large."""

import math

import pytest

from amdkernel_mcp.checking.cases.aimed_cases import aim_cases, aim_further, constants_of, divisors_of, residues_of
from amdkernel_mcp.checking.cases.drawn_cases import draw_cases
from amdkernel_mcp.checking.cases.seeds import SeedKey
from amdkernel_mcp.problems.problem_file import load_problem

KEYS = [SeedKey(bytes([n] * 32)) for n in range(20)]
PRODUCT, VECTOR = load_problem("gemm_f32"), load_problem("vector_add")
CODE = """
\ts_and_b32 s2, s3, 0x7f                                     // 000000001700: 8602FF03 0000007F
\ts_cmp_lt_i32 s4, 0x10000                                   // 000000001708: BF04FF04 00010000
\ts_lshr_b32 s5, s6, 9                                       // 000000001710: 8F058906
"""


def test_constants_come_from_the_source_and_from_the_code() -> None:
    source = "constexpr int T = 96; // 77\nif (n % T == 0 || n >= (1 << 20) || n == 40 * 100 || x < 3.5f) {}"
    found = constants_of(source, CODE)
    assert {96, 1 << 20, 4000, 128, 0x10000, 512} <= found
    assert not {77, 35} & found
    assert divisors_of(source) == {96}


def test_a_remainder_may_be_asked_for_by_a_mask() -> None:
    assert residues_of("(n & 63) == 37 ? 1 : 0; (n & 6) == 2; n % 7 == 3; (n & 0xff) == 9") == {
        (64, 37),
        (7, 3),
        (256, 9),
    }


@pytest.mark.parametrize("key", KEYS)
def test_all_sizes_of_a_product_are_multiples_of_the_tile_in_one_case(key: SeedKey) -> None:
    known = (*PRODUCT.cases, *draw_cases(PRODUCT, key))
    [case] = aim_cases(PRODUCT, key, frozenset({16, 128, 129}), frozenset(), known)
    assert all(case.values[name] % 128 == 0 for name in "mnk")
    assert math.prod(case.values.values()) <= max(math.prod(each.values.values()) for each in PRODUCT.cases) / 8
    assert aim_cases(PRODUCT, key, frozenset({16, 128}), frozenset(), (*known, case)) == ()


@pytest.mark.parametrize("key", KEYS)
def test_a_size_is_a_multiple_of_one_constant_and_beyond_another(key: SeedKey) -> None:
    known = (*VECTOR.cases, *draw_cases(VECTOR, key))
    cases = aim_cases(VECTOR, key, frozenset({1024, 65536}), frozenset({6000}), known)
    assert any(case.values["n"] % 1024 == 0 and case.values["n"] >= 65536 for case in cases)
    assert any(case.values["n"] % 6000 == 0 for case in cases)


@pytest.mark.parametrize("key", KEYS[:5])
def test_a_size_leaves_the_remainder_that_the_source_asks_for(key: SeedKey) -> None:
    source = "if (n % 7 == 3 && n > 10000) {}  // n % 5 == 1"
    assert residues_of(source) == {(7, 3)}
    constants = constants_of(source, "")
    cases = aim_cases(VECTOR, key, constants, divisors_of(source), VECTOR.cases, residues_of(source))
    assert any(case.values["n"] % 7 == 3 and case.values["n"] > 10000 for case in cases)


@pytest.mark.parametrize("key", KEYS[:5])
def test_each_size_goes_beyond_a_constant_where_none_did(key: SeedKey) -> None:
    problem = load_problem("row_softmax")
    known = (*problem.cases, *draw_cases(problem, key))
    assert max(case.values["rows"] for case in known) < 3000 < problem.ranges["rows"].high
    counts = [10_000] * len(known)
    for name, constant in (("rows", 3000), ("cols", max(int(case.values["cols"]) for case in known))):
        cases = aim_further(problem, key, frozenset({constant}), known, counts, unrun=False)
        assert any(case.values[name] > constant for case in cases), name


def test_sizes_are_equal_in_a_further_case() -> None:
    problem = load_problem("transpose")
    cases = aim_further(problem, KEYS[0], frozenset({64}), problem.cases, [500_000, 5000, 700, 90], unrun=True)
    assert any(64 < case.values["rows"] == case.values["cols"] for case in cases)


def test_further_cases_are_drawn_only_for_code_that_did_not_run_and_stay_quick() -> None:
    known, key = PRODUCT.cases, KEYS[0]
    works = [math.prod(case.values.values()) for case in known]
    counts = [int(work) // 6 for work in works]
    assert aim_further(PRODUCT, key, frozenset({128}), known, counts, unrun=False) == ()
    cases = aim_further(PRODUCT, key, frozenset({128, 2048}), known, counts, unrun=True)
    for name in "mnk":
        assert any(case.values[name] % 2048 == 0 for case in cases), name
        assert any(case.values[name] % 2 and case.values[name] > 1000 for case in cases), name
    assert all(math.prod(case.values.values()) <= 1.01 * max(works) for case in cases)


def test_further_cases_stay_quick_where_the_time_depends_on_one_size_alone() -> None:
    """A workgroup for each row does as much for two columns as for all that its tile holds."""
    problem = load_problem("row_softmax")
    for key in KEYS:
        known = (*problem.cases, *draw_cases(problem, key))
        known = (*known, *aim_cases(problem, key, frozenset({64, 8192}), frozenset(), known))
        counts = [4000 * int(case.values["rows"]) for case in known]
        cases = aim_further(problem, key, frozenset({64, 8192}), known, counts, unrun=True)
        assert cases
        assert all(4000 * case.values["rows"] <= max(2_000_000, *counts) for case in cases)
