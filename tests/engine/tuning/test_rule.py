"""The rule from shape to variant: it splits where that pays, and it is judged on what it has not seen."""

import pytest

from amdkernel_mcp.engine.tuning.rule import FEWEST_SHAPES, Timed, fit, held_out, loss


def shape(m: int, n: int = 1, **ratios: float | None) -> Timed:
    return Timed({"m": m, "n": n}, ratios)


SMALL = [shape(m, small=1.0, large=3.0) for m in (1, 2, 4)]
LARGE = [shape(m, small=2.0, large=1.0) for m in (64, 128)]


def test_a_size_that_decides_becomes_a_condition() -> None:
    rule = fit([*LARGE, *SMALL])
    assert [(leaf.variant, leaf.conditions) for leaf in rule.leaves] == [
        ("small", (("m", "<=", 4),)),
        ("large", (("m", ">", 4),)),
    ]
    assert (rule.variant({"m": 3, "n": 9}), rule.variant({"m": 5, "n": 9})) == ("small", "large")


def test_variants_that_do_not_differ_surely_need_no_rule() -> None:
    [leaf] = fit([shape(m, a=1.0, b=1.0) for m in range(1, 9)]).leaves
    assert (leaf.variant, leaf.conditions) == ("a", ())


def test_one_odd_shape_is_no_rule() -> None:
    rule = fit([*SMALL, shape(8, small=1.5, large=1.0)])
    assert len(rule.leaves) == 1


def test_a_variant_without_a_time_is_not_chosen_where_it_is_wrong() -> None:
    rule = fit([shape(m, quick=None if m > 4 else 1.0, safe=1.2 if m <= 4 else 1.0) for m in (1, 2, 3, 5, 6)])
    assert rule.variant({"m": 6, "n": 1}) == "safe"
    assert rule.variant({"m": 1, "n": 1}) == "quick"
    assert rule.one_for_all == "safe"


def test_the_loss_is_that_of_unseen_shapes_and_unknown_where_a_choice_has_no_time() -> None:
    rule = fit([*SMALL, *LARGE])
    unseen = [shape(3, small=1.0, large=3.0), shape(5, small=1.0, large=4.0)]
    assert loss(unseen, rule) == pytest.approx((2.0, 4.0))
    assert loss(unseen, rule, alone=True) == pytest.approx((1.0, 1.0))
    assert loss([shape(3, small=None, large=1.0)], rule) is None


@pytest.mark.parametrize("count", range(12))
def test_a_quarter_is_held_out_the_same_for_a_seed(count: int) -> None:
    chosen = held_out(count, 7)
    assert chosen == held_out(count, 7)
    assert len(chosen) == (0 if count < FEWEST_SHAPES else count // 4)
    assert all(0 <= at < count for at in chosen)


def test_a_tree_has_few_leaves_however_many_shapes() -> None:
    shapes = [Timed({"m": m}, {f"v{v}": 1.0 if v == m // 4 else 9.0 for v in range(8)}) for m in range(32)]
    assert len(fit(shapes).leaves) == 4
