"""No verdict depends on how busy the machine is: kernels next to four busy loops; test_redteam.py has all without."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from redteam_cases import all_cases
from redteam_run import run_all

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.timeout(3000)]

BUSY_LOOPS = 4
DECIDED = [case for case in all_cases().values() if not case.open and max(len(case.check), len(case.benchmark)) == 1]
CASES = DECIDED[::20]  # each has one verdict that is right, so that none can differ unseen


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
    busy()
    missed = {case.name: why for case, answer in run_all(engine, CASES) if (why := answer.misses(case))}
    assert not missed
