"""Checks on `slurm:gfx942` while controller, nodes, servers and jobs are killed: each verdict is right and taken once.

Servers, Slurm, workers, containers and kernels are real. AMDK_CHAOS_JOBS: checks, 100 without it. AMDK_CHAOS_SEED: what
happens when; it is printed. AMDK_CHAOS_S: for how long agents ask for checks at most.
"""

import json
import os
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from gpu_host_box import GpuHost
from nodes_with_workers import give_token, slurm_of
from slurm_cluster import SlurmCluster
from slurm_trouble import Trouble

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.jobs.journal import KEPT_JOBS
from tests.server.http_server import free_port
from tests.team.chaos.team_of_servers import Agent, NotAnsweredError, TeamServer, token_of

JOBS = int(os.environ.get("AMDK_CHAOS_JOBS", "100"))
SEED = int(os.environ.get("AMDK_CHAOS_SEED", "18"))
MOST_ASKING_S = float(os.environ.get("AMDK_CHAOS_S", "inf"))
TEST_S = max(3600, 5 * JOBS)
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.timeout(TEST_S),
]
SERVERS, USERS, AGENTS = 2, 4, 24
"""More agents than GPUs, so that no GPU is without work; six have the same user, whose runs hand on their GPUs."""
BETWEEN, BETWEEN_KILLS = max(1, min(6, JOBS // 100)), 16
NEW_EVERY, KNOWN = 10, 4
"""One of so many kernels is compiled and its reference runs; the others are one of these, whose results are cached."""
MOST_S = 600.0
"""For one job, which may wait for nodes that are lost."""
SHOWN_EVERY_S = 30.0
ENDED = ("done", "failed", "cancelled")
PROGRAM = Path(__file__).with_name("slurm_team_server.py")
EXAMPLE = bundled_folder("examples") / "vector_add"
VERDICTS = {"better.hip": "correct", "broken_tail.hip": "incorrect"}
SOURCES = {name: (EXAMPLE / "kernels" / name).read_text() for name in VERDICTS}
PROBLEM = (EXAMPLE / "problem.toml").read_text().partition("[[cases]]")[0] + "[[cases]]\nn = 300\n"
"""One small case: what is tested here is how the job gets to its GPU and back."""


@dataclass
class Promised:
    """A job that a server has accepted, and the answers that its agent saw once it had ended."""

    id: str
    user: int
    verdict: str
    cancelled: bool = False
    answers: set[str] = field(default_factory=set)

    def saw(self, answer: dict[str, Any]) -> bool:
        """Whether it has ended."""
        if answer["status"] not in ENDED:
            return False
        check = answer.get("check") or {}
        error = (answer.get("error") or "").partition("\n")[0]  # the journal keeps no hints
        self.answers.add(json.dumps([answer["status"], check.get("verdict"), error]))
        return True

    @property
    def is_over(self) -> bool:
        return bool(self.answers)


class Agents:
    """Each asks for a check at one of the servers, follows it at all of them, and asks for the next."""

    def __init__(self, team: list[TeamServer], jobs: int, seed: int) -> None:
        self.promised: list[Promised] = []
        self.refused: Counter[str] = Counter()
        self._team = team
        self._seed = seed
        self._numbers = iter(range(jobs))
        self._until_s = time.monotonic() + MOST_ASKING_S
        self._lock = threading.Lock()

    def work(self) -> None:
        """Returns when all jobs have ended, or have not in time."""
        threads = [threading.Thread(target=self._agent, args=(number,), daemon=True) for number in range(AGENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def cancel_one(self, chance: random.Random) -> bool:
        """Cancel a job that has not ended, as its user."""
        with self._lock:
            alive = [job for job in self.promised if not job.is_over and not job.cancelled]
        if not alive:
            return False
        job = chance.choice(alive)
        job.cancelled = True
        with agent_of(job.user) as agent:
            return ask(agent, self._team, chance, "get_job", job_id=job.id, cancel=True, wait_s=0) is not None

    def ended(self) -> int:
        """How many jobs have ended."""
        with self._lock:
            return sum(job.is_over for job in self.promised)

    def look_again(self) -> None:
        """What each server says now of the jobs that it still keeps, the newest of each user."""
        for user in range(USERS):
            mine = [job for job in self.promised if job.user == user]
            with agent_of(user) as agent:
                for job in mine[-(KEPT_JOBS - AGENTS) :]:
                    for server in self._team:
                        job.saw(agent.call(server, "get_job", job_id=job.id, wait_s=5))

    def _agent(self, number: int) -> None:
        chance, user = random.Random(self._seed + number), number % USERS
        stored = {"name": "small_add", "problem_toml": PROBLEM, "reference_py": (EXAMPLE / "reference.py").read_text()}
        with agent_of(user) as agent:
            while ask(agent, self._team, chance, "create_problem", **stored) is None:
                time.sleep(1.0)
            while (job := self._submit(agent, user, chance)) is not None:
                self._follow(agent, job, chance)

    def _submit(self, agent: Agent, user: int, chance: random.Random) -> Promised | None:
        with self._lock:
            number = next(self._numbers, None)
        if number is None or time.monotonic() > self._until_s:
            return None
        name = chance.choice([*VERDICTS])
        known = number if number % NEW_EVERY == 0 else -(number % KNOWN)
        asked = {"problem": "small_add", "source": f"{SOURCES[name]}\n// {known}\n", "target": "slurm:gfx942"}
        while True:
            try:
                answer = agent.call(chance.choice(self._team), "check_kernel", **asked, wait_s=0)
            except NotAnsweredError as error:
                with self._lock:
                    self.refused[str(error)[:60]] += 1
                time.sleep(1.0)
                continue
            job = Promised(answer["job_id"], user, VERDICTS[name])
            with self._lock:
                self.promised.append(job)
            return job

    def _follow(self, agent: Agent, job: Promised, chance: random.Random) -> None:
        until = time.monotonic() + MOST_S
        while time.monotonic() < until:
            answer = ask(agent, self._team, chance, "get_job", job_id=job.id, wait_s=4)
            if answer is None:
                time.sleep(1.0)
            elif job.saw(answer):
                return


def ask(agent: Agent, team: list[TeamServer], chance: random.Random, tool: str, **asked: Any) -> dict[str, Any] | None:
    """The answer of one of the servers, or None."""
    try:
        return agent.call(chance.choice(team), tool, **asked)
    except NotAnsweredError:
        return None


@contextmanager
def agent_of(user: int) -> Iterator[Agent]:
    agent = Agent(user)
    try:
        yield agent
    finally:
        agent.close()


@contextmanager
def servers_of(cluster: SlurmCluster, folder: Path) -> Iterator[list[TeamServer]]:
    """Servers that share a database and the cluster; each has an address of its own for its workers."""
    notes, data, tokens = folder / "notes", folder / "data", folder / "tokens"
    notes.mkdir()
    give_token(cluster, data)
    tokens.write_text("".join(f"{token_of(user)} user{user}\n" for user in range(USERS)))
    tokens.chmod(0o600)
    common = {name: value for name, value in os.environ.items() if not name.startswith("AMDKERNEL_")} | {
        "AMDKERNEL_DATA_DIR": str(data),
        "AMDKERNEL_CACHE_DIR": str(folder / "cache"),
        "AMDKERNEL_TOKENS_FILE": str(tokens),
    }
    with ExitStack() as stack:
        team = []
        for number in range(SERVERS):
            port = free_port()
            own = common | {"AMDKERNEL_SLURM": slurm_of(cluster, port)}
            server = TeamServer(str(number), own, notes, port, program=PROGRAM, options=(cluster.gateway,))
            server.start()
            stack.callback(server.kill)
            team.append(server)
        yield team


def test_checks_on_slurm_end_once_with_the_right_verdict_whatever_is_killed(
    cluster: SlurmCluster, box: GpuHost, tmp_path: Path
) -> None:
    survive_trouble(cluster, box, tmp_path, JOBS, SEED)


def survive_trouble(cluster: SlurmCluster, box: GpuHost, folder: Path, jobs: int, seed: int) -> None:
    begun, over = time.monotonic(), threading.Event()
    with servers_of(cluster, folder) as team:
        agents = Agents(team, jobs, seed)
        trouble = Trouble(
            cluster, team, seed, agents.cancel_one, agents.ended, lambda: remove_one(box), BETWEEN, BETWEEN_KILLS
        )
        making = threading.Thread(target=trouble.until, args=(over,), daemon=True)
        making.start()
        with shown(lambda: f"{agents.ended()} of {jobs} have ended, {dict(trouble.happened)}"):
            agents.work()
        over.set()
        making.join()
        assert trouble.failure is None, repr(trouble.failure)
        took_s = time.monotonic() - begun
        print(f"AMDK_CHAOS_SEED={seed} AMDK_CHAOS_JOBS={jobs} {took_s:.0f} s, {dict(trouble.happened)}")  # noqa: T201
        print(Counter(str(sorted(job.answers)) for job in agents.promised), dict(agents.refused))  # noqa: T201
        agents.look_again()
        cluster.until(lambda: not cluster.jobs(), 180, "Slurm has no job of ours left")
    running = ("docker", "ps", "--quiet")  # what a lost node left has ended, and is removed by the next process there
    cluster.until(lambda: not box.inside(*running).split(), 180, "no container runs any more")
    judge(agents.promised, trouble, (folder / "notes" / "taken").read_text().split())


def remove_one(box: GpuHost) -> bool:
    """Remove one of the containers that run, as `docker rm -f` does."""
    running = box.inside("docker", "ps", "--quiet").split()
    with suppress(subprocess.CalledProcessError, RuntimeError):  # it may just have ended
        return bool(running) and bool(box.inside("docker", "rm", "--force", random.choice(running)))
    return False


@contextmanager
def shown(what: Callable[[], str]) -> Iterator[None]:
    """Print how far it is, now and then; `pytest -s` shows it."""
    over, begun_s = threading.Event(), time.monotonic()

    def show() -> None:
        while not over.wait(SHOWN_EVERY_S):
            print(f"{time.monotonic() - begun_s:.0f} s: {what()}", flush=True)  # noqa: T201

    threading.Thread(target=show, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def judge(promised: list[Promised], trouble: Trouble, taken: list[str]) -> None:
    """Each promised job has ended once: with its verdict, or because it was cancelled."""
    lost = [job for job in promised if not job.is_over]
    assert not lost, "jobs that never ended"
    twice = [job for job in promised if len(job.answers) != 1]
    assert not twice, f"agents saw two answers of one job: {twice}"
    assert max(Counter(taken[::2]).values()) == 1, "the journal took two results of one job"
    by_administrator = 0
    for job in promised:
        status, verdict, error = json.loads(next(iter(job.answers)))
        if status == "failed":
            assert "cancelled in Slurm" in error, job
            by_administrator += 1
        elif status == "cancelled":
            assert job.cancelled, job
        else:
            assert verdict == job.verdict, job
    assert by_administrator <= len(trouble.cancelled)
