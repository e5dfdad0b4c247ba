"""How much of a case is checked follows from the instructions that it executes, and from nothing else."""

import ast
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parents[3] / "sandbox/runner"
PLANS = ("races=0,schedule_seed=0", "races=1,schedule_seed=0", "races=1,schedule_seed=1", "races=0,schedule_seed=2")
LIMIT = 1000 * 1000 * 1000


def settings(options: str) -> dict[str, int]:
    """The options as the emulator reads them: the last one of a name counts."""
    return {name: int(value) for name, value in (item.split("=") for item in options.split(",") if item)}


def decided(plain: int, sample: int = 5) -> list[dict[str, int]]:
    """The options of four repeats of a case whose plain repeat executes `plain` instructions."""
    sys.path.insert(0, str(RUNNER))
    try:
        from budget import Budget
    finally:
        sys.path.remove(str(RUNNER))
    budget = Budget(PLANS, close_look=1000, limit=LIMIT, sample=sample)
    executed, chosen = 77, []
    for repeat in range(4):
        options = settings(budget.begin(repeat, executed))
        chosen.append(options | settings(budget.launch(executed + 5)))
        executed += plain if repeat == 0 else 10 * plain
    return chosen


@pytest.mark.parametrize(
    ("plain", "every", "races_again", "orders"),
    [
        (500, 0, 1, [1, 2]),
        (1000, 0, 0, [1, 2]),
        (1001, 3, 0, [1, 2]),
        (4000, 8, 0, [1, 2]),
        (4001, 9, 0, [0, 0]),
        (1_000_000, 2000, 0, [0, 0]),
    ],
)
def test_a_larger_case_is_checked_less(plain: int, every: int, races_again: int, orders: list[int]) -> None:
    first, second, third, fourth = decided(plain)
    assert (first["races"], first["schedule_seed"], first["races_every"]) == (0, 0, 0)
    assert (second["races"], second["schedule_seed"], second["races_every"]) == (1, 0, every)
    assert (third["races"], third["races_every"]) == (races_again, 0)
    assert [third["schedule_seed"], fourth["schedule_seed"]] == orders
    assert fourth["races"] == 0


def test_a_number_from_outside_chooses_the_sample_of_a_large_case() -> None:
    assert [decided(4000, sample)[1]["races_seed"] for sample in (5, 1 << 62)] == [5, 1 << 62]


def test_launches_of_a_repeat_share_its_limit_and_another_order_may_wait_longer() -> None:
    first, second, *_ = decided(4_000_000)
    assert first["step_limit"] == LIMIT - 5
    assert second["step_limit"] == 64 * 4_000_000 - 5
    assert decided(10)[1]["step_limit"] == 200_000_000 - 5


def test_what_decides_reads_no_clock() -> None:
    tree = ast.parse((RUNNER / "budget.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["from collections.abc import Sequence"]
    runs = ast.parse((RUNNER / "case_run.py").read_text())
    assert "time" not in {alias.name for node in ast.walk(runs) if isinstance(node, ast.Import) for alias in node.names}
