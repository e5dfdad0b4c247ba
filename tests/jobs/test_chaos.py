"""Servers that share a database and are killed at random points: nothing is lost, nothing is finished twice."""

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.jobs.job import FINISHED
from amdkernel_mcp.jobs.journal import Journal
from tests.history.postgres import postgres_server

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("chaos_process.py")
ROUNDS, JOBS_OF_A_SERVER = 5, 30


@pytest.fixture(params=["sqlite", "postgres"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    if request.param == "sqlite":
        yield load_settings({"data_dir": tmp_path / "data"}, {})
        return
    with postgres_server() as url:
        yield load_settings({"data_dir": tmp_path / "data", "database": url}, {})


def server(own: Settings, owner: str, count: int) -> "subprocess.Popen[str]":
    words = [str(own.data_dir), own.database or "", owner, str(count)]
    return subprocess.Popen([sys.executable, str(PROGRAM), *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def killed_in_pairs(own: Settings) -> list[tuple[str, str]]:
    """(owner, id) of what was accepted by pairs of servers that are killed at random moments."""
    chance, accepted = random.Random(18), []
    for number in range(ROUNDS):
        pair = [server(own, f"user {number} {side}", JOBS_OF_A_SERVER) for side in "ab"]
        for each in pair:
            assert each.stdout is not None
            first = each.stdout.readline().strip()  # from now on it works
            accepted.append((f"user {number} {'ab'[pair.index(each)]}", first))
        for each in pair:
            time.sleep(3.0 * chance.random())
            each.kill()
        for side, each in zip("ab", pair, strict=True):
            assert each.stdout is not None
            accepted += [(f"user {number} {side}", line.strip()) for line in each.stdout if line.endswith("\n")]
            each.stdout.close()
            each.wait()
    return accepted


def test_jobs_of_servers_that_are_killed_end_once_each(own: Settings) -> None:
    own.data_dir.mkdir()
    accepted = killed_in_pairs(own)
    assert len(accepted) > ROUNDS
    last = server(own, "last", 1)
    journal = Journal(own, "http")
    deadline = time.monotonic() + 400
    states: Counter[str] = Counter()
    while time.monotonic() < deadline:
        found = [journal.find(job_id, owner) for owner, job_id in accepted]
        states = Counter(job.status if job else "lost" for job in found)
        if all(state in FINISHED for state in states):
            break
        time.sleep(0.5)
    last.kill()
    last.wait()
    assert last.stdout is not None
    last.stdout.close()
    assert states == {"done": len(accepted)}, [job and job.error for job in found if job and job.error][:3]
    assert all(job and job.answer for job in found), "an answer is missing"
    journal.close()
    taken = Counter(line.split()[0] for line in (own.data_dir / "taken").read_text().splitlines())
    assert max(taken.values()) == 1, taken.most_common(3)
    assert not (own.data_dir / "overlaps").exists(), "two jobs had one GPU at once"
