"""correct and fast_p of rows that are known."""

import pytest

from amdkernel_mcp.evaluation.scores import is_fast, is_proven, scores
from amdkernel_mcp.results.evaluation import EvaluatedKernel, FastP
from amdkernel_mcp.results.quantity import Interval


def row(problem: str, check: str = "correct", benchmark: str | None = "faster", **more: object) -> EvaluatedKernel:
    speedup = more.pop("speedup", (1.0, 1.0, 1.0))
    assert isinstance(speedup, tuple)
    low, value, high = speedup
    interval = Interval(low=low, value=value, high=high) if benchmark else Interval()
    given = {"candidate": f"{problem}/a.hip", "key": "0", "check": check, "benchmark": benchmark, "speedup": interval}
    return EvaluatedKernel.model_validate({"problem": problem} | given | more)


def share(found: list[FastP], p: float) -> tuple[float, float]:
    return next((each.share, each.proven) for each in found if each.p == p)


def test_a_problem_counts_once_however_many_candidates_it_has() -> None:
    fast, wrong = row("a", speedup=(1.6, 1.8, 2.0)), row("a", "incorrect", None)
    total = scores(["a", "b"], [fast, wrong, wrong, wrong, row("b", "incorrect", None)])
    assert total.correct == pytest.approx(1 / 8)
    assert share(total.fast_p, 1.5) == pytest.approx((1 / 8, 1 / 8))
    assert total.best_correct == 0.5
    assert share(total.best_fast_p, 1.5) == (0.5, 0.5)


def test_a_problem_without_a_candidate_is_not_correct() -> None:
    assert scores(["a", "b"], [row("a")]).correct == 0.5


def test_a_candidate_that_the_machine_failed_is_counted_apart() -> None:
    total = scores(["a"], [row("a"), row("a", failed="the disk is full")])
    assert (total.failed, total.correct) == (1, 1.0)


def test_fast_p_is_above_p_and_not_equal_to_it() -> None:
    assert not is_fast(row("a", speedup=(1.0, 1.0, 1.0)), 1.0)
    assert is_fast(row("a", speedup=(0.9, 1.01, 1.1)), 1.0)


@pytest.mark.parametrize(
    ("benchmark", "speedup", "flags", "p", "proven"),
    [
        ("faster", (1.2, 1.4, 1.6), [], 1.0, True),
        ("faster", (1.2, 1.4, 1.6), [], 1.3, False),
        ("slower", (0.6, 0.7, 0.9), [], 0.5, True),
        ("inconclusive", (0.9, 1.1, 1.3), [], 1.0, False),
        ("inconclusive", (0.9, 1.1, 1.3), [], 0.8, True),
        ("inconclusive", (20.0, 30.0, 40.0), ["suspicious"], 0.8, False),
    ],
)
def test_a_speed_up_is_proven_by_its_whole_interval(
    benchmark: str, speedup: tuple[float, ...], flags: list[str], p: float, proven: bool
) -> None:
    assert is_proven(row("a", benchmark=benchmark, speedup=speedup, flags=flags), p) is proven


@pytest.mark.parametrize("benchmark", ["invalid", "incorrect", "timeout"])
def test_a_benchmark_that_found_a_mistake_counts_as_no_speed_up(benchmark: str) -> None:
    found = row("a", benchmark=benchmark, speedup=(100.0, 220.0, 300.0))
    assert not is_fast(found, 0.0)


def test_an_empty_suite_has_scores_of_zero() -> None:
    assert scores([], []).correct == 0.0
