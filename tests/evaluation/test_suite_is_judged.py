"""A suite is judged, and judged again only where something changed."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.evaluation.evaluate import evaluate
from amdkernel_mcp.results.evaluation import Evaluation
from amdkernel_mcp.work import Work
from tests.cli.run_command import COMMAND
from tests.host_programs.programs import RIGHT
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.sandbox

KERNELS = bundled_folder("examples") / "vector_add" / "kernels"


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite" / "vector_add"
    folder.mkdir(parents=True)
    shutil.copy(KERNELS / "better.hip", folder / "good.hip")
    shutil.copy(KERNELS / "broken_grid.hip", folder / "wrong.hip")
    (folder / "text.hip").write_text("this is not a kernel")
    return folder.parent


def judge(engine: Engine, suite: Path, **options: object) -> Evaluation:
    given = {"target": None, "out": suite.parent / "out", "at_a_time": 2, "work": Work()} | options
    return evaluate(engine, suite, **given)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_each_candidate_has_a_row_and_a_second_run_judges_only_what_changed(engine: Engine, suite: Path) -> None:
    first = judge(engine, suite, timed=False)
    assert {row.candidate: row.check for row in first.rows} == {
        "vector_add/good.hip": "correct",
        "vector_add/text.hip": "invalid",
        "vector_add/wrong.hip": "incorrect",
    }
    assert all(row.attempts for row in first.rows if row.check != "invalid")
    assert first.resumed == 0
    assert first.scores.correct == pytest.approx(1 / 3)

    (suite / "vector_add" / "wrong.hip").write_text((KERNELS / "naive.hip").read_text())
    second = judge(engine, suite, timed=False)
    assert second.resumed == 2
    assert {row.candidate: row.check for row in second.rows}["vector_add/wrong.hip"] == "correct"
    assert json.loads((suite.parent / "out" / "scores.json").read_text())["correct"] == pytest.approx(2 / 3)


@pytest.mark.thorough
def test_a_wrong_baseline_is_no_measure(engine: Engine, suite: Path) -> None:
    shutil.copy(KERNELS / "broken_tail.hip", suite / "vector_add" / "baseline.hip")
    result = judge(engine, suite)
    assert result.not_judged[0].startswith("vector_add: its baseline baseline.hip is incorrect")
    assert result.scores.problems == 0


@pytest.mark.thorough
def test_a_run_that_was_killed_goes_on_where_it_stopped(engine: Engine, suite: Path) -> None:
    out = suite.parent / "out"
    command = [COMMAND, "eval", str(suite), "--out", str(out), "--jobs", "1"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = out / "rows.jsonl"
    deadline = time.monotonic() + AT_MOST_S
    while not (rows.exists() and b"\n" in rows.read_bytes()):
        assert time.monotonic() < deadline, "no row was written"
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    judged = rows.read_bytes().count(b"\n")
    result = judge(engine, suite)
    assert result.resumed >= 1
    assert result.resumed == judged
    assert len(result.rows) == 3
    (timed,) = [row for row in result.rows if row.benchmark]
    assert timed.speedup.value is not None
    assert timed.evidence == "modelled"


@pytest.mark.thorough
def test_a_program_with_host_code_is_in_a_table_of_its_own(engine: Engine, suite: Path) -> None:
    (suite / "vector_add" / "whole.cpp").write_text(RIGHT)
    result = judge(engine, suite, timed=False)
    (program,) = result.programs
    assert (program.check, program.trust) == ("correct", "unverified: host code")
    assert "vector_add/whole.cpp" not in {row.candidate for row in result.rows}
    assert result.scores.candidates == 3
