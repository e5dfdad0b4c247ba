"""The self-test passes on every emulated target, and fails where one verdict is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, SlurmSettings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.execution.hosts import EMULATED
from amdkernel_mcp.execution.sandbox import Completed
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.results.selftest import NOT_RUN
from amdkernel_mcp.selftest import run
from amdkernel_mcp.selftest.clock import clock_rows
from amdkernel_mcp.selftest.steps import STEPS
from amdkernel_mcp.work import Work
from tests.one_in import one_in

IDLE = "gpu_busy_percent 0\nmem_info_vram_used 1048576\nunique_id 1a2b\ndriver 6.16\ngpu_id 7\nprocesses listed\n"
IN_GATE = ("plain", "works", "does_nothing", "crashes")


class Driver:
    """A sandbox that says what the driver's files of its GPU say."""

    def __init__(self, printed: str) -> None:
        self._printed = printed

    def run(self, *_: object, **__: object) -> Completed:
        return Completed(0, {}, self._printed, False, False, False, 0.0)


def test_identical_code_is_inconclusive_and_five_percent_are_slower_on_the_simulated_clock() -> None:
    assert [row.got for row in clock_rows()] == ["inconclusive", "slower"]


def test_a_kernel_that_hangs_is_left_out_where_a_reset_would_take_down_others(monkeypatch, settings: Settings) -> None:
    hanging = tuple(step for step in STEPS if step.hangs)
    monkeypatch.setattr(run, "STEPS", hanging)
    rows = run._run_steps(Engine(settings), "gpu1:0", "a reset would take down the desktop on it", Work())
    assert [(row.name, row.got, row.ok) for row in rows] == [(step.name, NOT_RUN, True) for step in hanging]
    assert rows[0].reason == "a reset would take down the desktop on it: with --hang it runs"


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (IDLE, None),
        (IDLE + "hive 8\n", "a reset of gpu1:0 would take down 7 more GPUs of its XGMI hive"),
        ("", "it is not known what a reset of gpu1:0 would take down: the driver's files do not show"),
    ],
)
def test_what_hangs_is_started_only_where_a_reset_is_known_to_take_down_nothing_else(
    monkeypatch, settings: Settings, printed: str, why: str | None
) -> None:
    gpu = Target("gpu1:0", "gpu", "gfx942", "MI300X", "gpu1", 0)
    monkeypatch.setattr("amdkernel_mcp.execution.targets.find_target", lambda *_: gpu)
    monkeypatch.setattr("amdkernel_mcp.execution.sandboxes.Sandboxes.render_node", lambda *_: "/dev/dri/renderD128")
    engine = Engine(settings)
    monkeypatch.setattr(engine._sandboxes, "of", lambda _: Driver(printed))
    assert (engine.machine.why_not_hang("gpu1:0") or "").startswith(why or "\n") == bool(why)


def test_a_gpu_that_slurm_gives_is_not_known_before_and_an_emulated_one_takes_nothing_down(settings: Settings) -> None:
    slurm = SlurmSettings(gres={"gfx942": "gpu:mi300x"}, url="http://server.invalid", token_file="/token")
    given = Engine(settings.model_copy(update={"slurm": slurm}))
    assert (given.machine.why_not_hang("slurm:gfx942") or "").startswith("it is not known what a reset of slurm:gfx942")
    assert given.machine.why_not_hang("emulator:gfx942") is None


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
