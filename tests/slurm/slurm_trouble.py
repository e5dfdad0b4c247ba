"""What happens to a Slurm cluster and to the servers that use it, one thing after the other."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from slurm_cluster import NODES, SlurmCluster

from tests.team.chaos.team_of_servers import TeamServer

SICK_S = 30.0
"""For which nodes have sick GPUs, where no job finds one sooner."""
PROGRESS_S = 20.0
"""For more jobs to end before the next thing happens."""


@dataclass
class Trouble:
    """Makes it, from a thread of its own.

    `ended`: how many jobs have ended; on a busy machine things happen less often. `between`: so many end before the
    next thing happens, if they do within PROGRESS_S. `between_kills`: so many end before the next server is killed, the
    next worker or node is lost, or the next container is removed. For a job that was begun by 5 servers that stopped
    has failed, and so has one whose worker was lost three times during its run or its container twice.
    `remove_a_container`: of a run; false where there was none.

    `happened`: what, and how often; `cancelled`: comments of jobs that an administrator ended; `failure`: what ended it
    before its time.
    """

    cluster: SlurmCluster
    team: list[TeamServer]
    seed: int
    cancel_a_job: Callable[[random.Random], bool]
    ended: Callable[[], int]
    remove_a_container: Callable[[], bool]
    between: int
    between_kills: int
    happened: Counter[str] = field(default_factory=Counter)
    cancelled: list[str] = field(default_factory=list)
    failure: BaseException | None = None
    _next_kill: dict[str, int] = field(default_factory=dict)

    def until(self, over: threading.Event) -> None:
        """One thing after the other until it is over."""
        try:
            self._one_after_the_other(over)
        except BaseException as error:  # the test raises it
            self.failure = error

    def _one_after_the_other(self, over: threading.Event) -> None:
        """Each in turn at first, so that none is left out by chance; then by chance."""
        chance = random.Random(self.seed)
        things = [
            self.controller_killed,
            self.node_lost,
            self.administrator_cancels,
            self.server_killed,
            self.gpu_is_sick,
            self.user_cancels,
            self.slurmd_killed,
            self.worker_killed,
            self.container_removed,
        ]
        chance.shuffle(things)
        turn = 0
        while not over.wait(chance.uniform(0.5, 3.0)):
            before = self.ended()
            (things[turn] if turn < len(things) else chance.choice(things))(chance)
            turn += 1
            self.repair()
            until = time.monotonic() + PROGRESS_S
            while self.ended() < before + self.between and time.monotonic() < until:
                time.sleep(0.2)
        self.repair()

    def controller_killed(self, chance: random.Random) -> None:
        self.cluster.kill_controller()
        time.sleep(chance.uniform(0, 2))
        self.cluster.start_controller()
        self._count("slurmctld killed")

    def node_lost(self, chance: random.Random) -> None:
        """Its worker is killed with it. A short outage and one that Slurm notices (10 s)."""
        if self._is_too_soon("worker"):
            return
        node = chance.choice(NODES)
        self.cluster.kill_node(node)
        time.sleep(chance.choice((1.0, 14.0)))
        self.cluster.revive(node)
        self._count("node lost")

    def slurmd_killed(self, chance: random.Random) -> None:
        """Its jobs continue."""
        node = chance.choice(NODES)
        self.cluster.inside(node, "sh", "-c", "kill -9 $(pgrep -x slurmd)")
        time.sleep(chance.uniform(0, 4))
        self.cluster.inside(node, "slurmd")
        self._count("slurmd killed")

    def worker_killed(self, chance: random.Random) -> None:
        """One of a session, on a node that has some."""
        if self._is_too_soon("worker"):
            return
        for node in chance.sample(NODES, len(NODES)):
            with suppress(RuntimeError):  # it may just have ended
                workers = self.cluster.inside(node, "sh", "-c", "pgrep -f '[w]orker --url' || true").split()
                if workers:
                    self.cluster.inside(node, "kill", "-9", chance.choice(workers))
                    self._count("worker killed")
                    return

    def container_removed(self, _: random.Random) -> None:
        if not self._is_too_soon("container") and self.remove_a_container():
            self._count("container of a run removed")

    def server_killed(self, chance: random.Random) -> None:
        if self._is_too_soon("server"):
            return
        server = chance.choice(self.team)
        server.kill()
        time.sleep(chance.uniform(0, 3))
        server.start()
        self._count("server killed")

    def administrator_cancels(self, chance: random.Random) -> None:
        with suppress(RuntimeError):  # the job may just have ended
            alive = [line.split("|") for line in self.cluster.jobs()]
            alive = [line for line in alive if line[2] in ("RUNNING", "PENDING")]
            if alive:
                number, comment, state, *_ = chance.choice(alive)
                self.cancelled.append(comment)
                self.cluster.inside("ctl", "scancel", number)
                self._count(f"administrator cancelled a {state.lower()} job")

    def user_cancels(self, chance: random.Random) -> None:
        if self.cancel_a_job(chance):
            self._count("user cancelled")

    def gpu_is_sick(self, chance: random.Random) -> None:
        """Two nodes have one until a job is held because a prolog failed; then they are repaired."""
        sick, until, held = chance.sample(NODES, 2), time.monotonic() + SICK_S, False
        for node in sick:
            self.cluster.break_gpu(node)
        while time.monotonic() < until and not held:
            with suppress(RuntimeError):
                held = any("launch failed requeued held" in line for line in self.cluster.jobs())
            time.sleep(0.2)
        for node in sick:
            self.cluster.break_gpu(node, busy=False)
        self._count("job held after a failed prolog" if held else "GPU sick")

    def repair(self) -> None:
        """What an administrator does about drained nodes."""
        with suppress(RuntimeError):
            drained = [node for node, state in self.cluster.states().items() if state.startswith(("drain", "drng"))]
            for node in drained:
                self.cluster.inside("ctl", "scontrol", "update", f"nodename={node}", "state=resume")
                self._count("drained node resumed")

    def _is_too_soon(self, what: str) -> bool:
        if self.ended() < self._next_kill.get(what, 0):
            return True
        self._next_kill[what] = self.ended() + self.between_kills
        return False

    def _count(self, what: str) -> None:
        self.happened[what] += 1
