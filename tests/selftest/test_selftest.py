"""The self-test passes on every emulated target, and fails where one verdict is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.execution.targets import EMULATED
from amdkernel_mcp.results.selftest import NOT_RUN
from amdkernel_mcp.selftest import run
from amdkernel_mcp.selftest.clock import clock_rows
from amdkernel_mcp.selftest.steps import STEPS
from tests.one_in import one_in

IN_GATE = ("plain", "works", "does_nothing", "crashes")


def test_identical_code_is_inconclusive_and_five_percent_are_slower_on_the_simulated_clock() -> None:
    assert [row.got for row in clock_rows()] == ["inconclusive", "slower"]


def test_a_kernel_that_hangs_is_left_out_where_a_reset_would_take_down_others(monkeypatch, settings: Settings) -> None:
    hanging = tuple(step for step in STEPS if step.hangs)
    monkeypatch.setattr(run, "STEPS", hanging)
    rows = run._run_steps(Engine(settings), "gpu1:0", "the desktop on it", lambda _: None)
    assert [(row.name, row.got, row.ok) for row in rows] == [(step.name, NOT_RUN, True) for step in hanging]
    assert rows[0].reason == "a reset of this GPU would take down the desktop on it: with --hang it runs"


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox")
def test_a_cheat_that_is_called_correct_fails_the_selftest(monkeypatch, settings: Settings, tmp_path: Path) -> None:
    settings = settings.model_copy(update={"data_dir": tmp_path / "data"})  # other tests write to the shared one
    believed = replace(STEPS[0], name="a cheat that gets away", verdicts=("incorrect",))
    monkeypatch.setattr(run, "STEPS", (*(step for step in STEPS if step.kernel in IN_GATE), believed))
    result = run.selftest(settings)
    assert not result.ok
    assert [row.name for row in result.rows if not row.ok] == ["a cheat that gets away"]
    assert not list(settings.data_dir.glob("*")), "the caller's history is left alone"


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox")
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("arch", [*one_in(4, EMULATED)])
def test_the_selftest_passes(settings: Settings, arch: str) -> None:
    result = run.selftest(settings, target=f"emulator:{arch}")
    assert result.ok, [row for row in result.rows if not row.ok]
    assert result.target == f"emulator:{arch}"
