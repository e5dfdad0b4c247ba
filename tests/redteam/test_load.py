"""No verdict depends on how busy the machine is: the same kernels, quiet and next to four busy loops."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from redteam_cases import all_cases
from redteam_run import Answer, run_all

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.timeout(3000)]

BUSY_LOOPS = 4
CASES = [case for case in all_cases().values() if not case.open][::8]  # `redteam_run.py` runs all


@pytest.fixture
def engine(settings: Settings, sandbox: object) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


@pytest.fixture
def busy() -> Iterator[object]:
    """Begins the loops when it is called."""
    begun: list[subprocess.Popen[bytes]] = []
    yield lambda: begun.extend(subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_LOOPS))
    for one in begun:
        one.kill()
        one.wait()


def test_verdicts_are_the_same_on_a_busy_machine(engine: Engine, busy) -> None:
    quiet = {case.name: answer for case, answer in run_all(engine, CASES)}
    busy()
    loaded = {case.name: answer for case, answer in run_all(engine, CASES)}
    differ = {name: (one, loaded[name]) for name, one in quiet.items() if _said(one) != _said(loaded[name])}
    assert not differ


def _said(answer: Answer) -> tuple[str, str]:
    return answer.check, answer.benchmark
