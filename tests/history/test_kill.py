"""Whatever kills the process, an attempt that an answer named is there, whole and signed."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.history.attempt import files_of
from amdkernel_mcp.history.history import History
from amdkernel_mcp.history.signing import is_signed
from tests.one_in import one_in

# Answers without end, each with a text of its own, and names the attempt as a server would: after the record is made.
WORKER = """
import sys
from amdkernel_mcp.config import Settings
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult

recorder = Recorder(Settings.model_validate_json(sys.argv[1]))
problem = load_problem("vector_add")
number = int(sys.argv[2])
while True:
    number += 1
    tried = Tried("check", f"// {number}\\n" * 50, "k.hip", problem=problem)
    answer = recorder.record(tried, CheckResult(verdict="correct", reason=str(number), target="emulator:gfx942"))
    print(answer.attempt, answer.not_recorded, flush=True)
"""


def answered(settings: Settings, count: int, seed: int) -> list[str]:
    """The attempts that were named until `count` were, with a kill at a random moment again and again."""
    drawn = random.Random(seed)
    named: list[str] = []
    while len(named) < count:
        arguments = [sys.executable, "-c", WORKER, settings.model_dump_json(), str(len(named))]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout
            for _ in range(min(drawn.randint(1, 60), count - len(named))):
                attempt, why = worker.stdout.readline().split(" ", 1)
                assert why == "None\n"
                named.append(attempt)
            # Some way into the next record: the pipe says when an answer was given, not how far the next one is.
            subprocess.run(["sleep", f"{drawn.uniform(0, 0.02):.4f}"], check=True)
            worker.send_signal(signal.SIGKILL)
            lines = worker.stdout.read().split("\n")[:-1]  # what it answered meanwhile; a half line was not an answer
            named += [line.split(" ")[0] for line in lines]
    return named


def all_there(settings: Settings, named: list[str]) -> None:
    history = History(settings)
    for name in named:
        stored = history.find(name)
        assert is_signed(stored.record, stored.signature, stored.public_key)
        for file in files_of(stored.attempt):
            history.artefacts.read(file)
    listed, before = [], None
    while page := history.list(limit=200, before=before):
        listed += [each.id for each in page]
        before = page[-1].id
    assert [name for name in reversed(listed) if name in set(named)] == named
    assert len(set(listed)) == len(listed)
    history.close()


def test_a_kill_loses_no_attempt_that_was_answered(file_settings: Settings) -> None:
    all_there(file_settings, answered(file_settings, 40, seed=1))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", one_in(2, [2, 3]))
def test_random_kills_during_500_attempts_lose_none_that_was_answered(own_settings: Settings, seed: int) -> None:
    assert Path(own_settings.data_dir).parent.exists()
    all_there(own_settings, answered(own_settings, 500, seed))
