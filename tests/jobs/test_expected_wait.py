"""What is said of the wait of a queued job, compared with what happens, on queues that are played in no time."""

from __future__ import annotations

import heapq
import itertools
import math
import re
import statistics
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pytest

from amdkernel_mcp.jobs.away import AwayHosts
from amdkernel_mcp.jobs.expected_wait import HOLDS, ExpectedWaits, Wait
from amdkernel_mcp.jobs.fair_queue import Usage, in_order
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.lanes import Lanes
from amdkernel_mcp.jobs.overview import Place
from amdkernel_mcp.jobs.pools import Pools
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work
from tests.waiting import AT_MOST_S, wait_until

VERBS = {"compile": 2.0, "check": 20.0, "profile": 45.0, "benchmark": 90.0, "tune": 400.0}
OFTEN = {"compile": 0, "check": 10, "profile": 4, "benchmark": 5, "tune": 1}


@dataclass
class World:
    """A server with one lane: users who work for a while, then pause, and jobs whose times differ by verb, problem and
    chance. Sizes of problems are hidden from the queue, and change nothing but how long jobs take."""

    workers: int
    seed: int
    load: float
    """Of the workers, on average."""
    target: str = ""
    now_s: float = 0.0
    told: list[tuple[Wait, float]] = field(default_factory=list)
    """And the seconds that it was."""
    untold: int = 0

    def __post_init__(self) -> None:
        self.draw = Random(self.seed)
        self.size = {number: math.exp(self.draw.gauss(0.0, 0.9)) for number in range(12)}
        self.waits, self.usage = ExpectedWaits(lambda: self.now_s), Usage(lambda: self.now_s)
        self.lanes = Lanes(self.workers, Pools(), AwayHosts())
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.ends: list[tuple[float, int, Job]] = []
        self.numbers = itertools.count()
        self.coming = self.comes()
        self.next = next(self.coming)
        self.looked: dict[str, tuple[float, Wait | None]] = {}

    def comes(self) -> Iterator[tuple[float, str, Request]]:
        """Bursts: a user brings one to eight jobs within minutes."""
        mean_s = sum(VERBS[verb] * OFTEN[verb] for verb in VERBS) / sum(OFTEN.values()) * math.exp(0.9**2 / 2)
        every_s = mean_s * 4.5 / (self.load * self.workers)
        burst_s = 0.0
        made: list[tuple[float, int, str, Request]] = []
        for number in itertools.count():
            burst_s += self.draw.expovariate(1 / every_s)
            while made and made[0][0] <= burst_s:
                when_s, _, owner, request = heapq.heappop(made)
                yield when_s, owner, request
            owner, when_s = f"user{self.draw.randrange(6)}", burst_s
            for each in range(self.draw.randint(1, 8)):
                when_s += self.draw.expovariate(1 / 20)
                verb = self.draw.choices([*OFTEN], [*OFTEN.values()])[0]
                asked = {"problem": self.draw.randrange(12), "target": self.target}
                heapq.heappush(made, (when_s, 10 * number + each, owner, Request(verb, asked)))

    def takes_s(self, request: Request) -> float:
        mean_s = VERBS[request.verb] * self.size[request.arguments["problem"]]
        return mean_s * math.exp(self.draw.gauss(0.0, 0.35))

    def play(self, told: int) -> World:
        """Until so many jobs that waited have started."""
        ends, numbers, looked = self.ends, self.numbers, self.looked
        while len(self.told) + self.untold < told:
            if ends and ends[0][0] <= self.next[0]:
                self.now_s, _, job = heapq.heappop(ends)
                self.running.remove(job)
                assert job.begun_s is not None
                self.usage.add(job.owner, self.now_s - job.begun_s)
                self.waits.ended(job, self.now_s - job.begun_s)
            else:
                self.now_s, owner, request = self.next
                job = Job(f"job{next(numbers)}", owner, request, lane="emulator", accepted_s=self.now_s)
                self.waiting.append(job)
                self.waits.came(job)
                self.next = next(self.coming)
            for job in in_order(self.waiting, self.running, self.usage):
                if not self.lanes.is_full("emulator", self.running) and self.lanes.has_room(job, self.running):
                    self.waiting.remove(job)
                    self.waits.started(job)
                    self.running.append(job)
                    job.begun_s = self.now_s
                    heapq.heappush(ends, (self.now_s + self.takes_s(job.request), next(numbers), job))
                    if (seen := looked.pop(job.id, None)) is not None:
                        when_s, wait = seen
                        self.untold += wait is None
                        self.told += [(wait, self.now_s - when_s)] if wait else []
            if any(job.id not in looked for job in self.waiting):
                order = in_order(self.waiting, self.running, self.usage)
                queue = self.lanes.queue("emulator", order, self.running, self.usage, self.now_s)
                waits = self.waits.of(queue)
                for job in order:
                    looked.setdefault(job.id, (self.now_s, waits.get(job.id)))
        return self


def holding(world: World) -> float:
    return statistics.mean(wait.low_s - 0.05 <= was_s <= wait.high_s + 0.05 for wait, was_s in world.told)


@pytest.mark.parametrize(("workers", "load", "jobs"), [(1, 0.7, 120), (2, 0.8, 200), (3, 0.6, 60)])
def test_of_five_ranges_four_hold_and_half_of_the_expected_waits_are_nearer_than_half(
    workers: int, load: float, jobs: int
) -> None:
    world = World(workers, seed=workers + 3, load=load).play(told=jobs)
    off = [abs(wait.expected_s - was_s) / max(was_s, 1.0) for wait, was_s in world.told]
    assert HOLDS - 0.1 < holding(world) < HOLDS + 0.13, "they hang together, so not just 0.8"
    assert statistics.median(off) < 0.5
    assert world.untold < 20, "only the first, before anything has ended"


@pytest.mark.parametrize(
    ("lane", "what"), [("compile", "the compiler"), ("emulator of box", "the emulator of box"), ("any", "a GPU of any")]
)
def test_a_place_says_what_is_waited_for_and_how_long(lane: str, what: str) -> None:
    said = Place(3, Wait(40.0, 12.4, 95.0, "from 7 ended jobs")).says(lane)
    assert said == f"waits for {what}, 2 jobs before it; 4 of 5 such waits take 12 to 95 s (from 7 ended jobs)"


def test_a_place_says_whose_jobs_run_there() -> None:
    assert Place(1, None, {"user:ann": 2, "user:bob": 1}).says("gpu1:0") == (
        "waits for gpu1:0, 0 jobs before it; 3 jobs there (2 of ann, 1 of bob)"
    )
    assert Place(2, None, {"local": 1}).says("any") == "waits for a GPU of any, 1 job before it; 1 job there"


def test_a_range_says_how_many_of_those_before_it_held() -> None:
    world = World(2, seed=8, load=0.7).play(told=30)
    wait, _ = world.told[-1]
    found = re.fullmatch(r"from (\d+) ended jobs; (\d+) of the last (\d+) ranges held", wait.evidence)
    assert found, wait.evidence
    ended, held, compared = map(int, found.groups())
    assert ended >= 1
    assert 0 < held <= compared <= len(world.told)


def test_ranges_of_a_queue_that_is_misjudged_become_wide_enough() -> None:
    """All jobs suddenly take three times as long as all of their kind did."""
    world = World(2, seed=9, load=0.2).play(told=20)
    before = len(world.told)
    world.size = {problem: 3 * size for problem, size in world.size.items()}
    late = world.play(told=90).told[before + 25 :]
    assert statistics.mean(wait.low_s <= was_s <= wait.high_s for wait, was_s in late) > HOLDS - 0.1


class Server:
    """A store with one worker whose jobs end when the test says so, on a clock of the test."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.begun: list[str] = []
        self.ends: dict[str, threading.Event] = {}
        self.store = JobStore(self._perform, 1, clock=lambda: self.now_s)

    def submit(self, name: str, verb: str = "check", problem: str = "softmax", owner: str = "ann") -> Job:
        self.ends[name] = threading.Event()
        return self.store.submit(owner, Request(verb, {"problem": problem, "name": name}))

    def runs(self, name: str, seconds: float, verb: str = "check", problem: str = "softmax") -> None:
        job = self.submit(name, verb, problem)
        wait_until(lambda: name in self.begun, f"{name} begins", pause_s=0.005)
        self.now_s += seconds
        self.ends[name].set()
        assert job.wait(AT_MOST_S)
        wait_until(lambda: not self.store.overview().running, f"{name} is gone", pause_s=0.005)

    def _perform(self, request: Request, work: Work) -> Answer:
        name = str(request.arguments["name"])
        self.begun.append(name)
        while not self.ends[name].wait(0.005):
            work.say("runs")
        return CheckResult(reason="done")


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.store.close()


def told(server: Server, job: Job) -> Wait:
    place = server.store.place(job)
    assert place
    assert place.wait
    return place.wait


def test_nothing_is_expected_before_a_job_has_ended(server: Server) -> None:
    server.submit("first")
    place = server.store.place(server.submit("second"))
    assert place
    assert (place.number, place.wait) == (1, None)
    assert place.says("emulator") == "waits for the emulator, 0 jobs before it; 1 job there (1 of ann)"


def test_the_verb_before_it_and_how_long_that_runs_already_decide(server: Server) -> None:
    for number in range(6):
        server.runs(f"check{number}", 10.0)
        server.runs(f"tune{number}", 600.0, "tune")
    server.submit("check")
    behind_check = told(server, waits := server.submit("waits"))
    server.store.cancel(waits)
    server.ends["check"].set()
    wait_until(lambda: not server.store.overview().running, "the check ends")
    server.submit("tune", "tune")
    behind_tune = told(server, waits := server.submit("waits too"))
    assert behind_check.high_s < 60 < 100 < behind_tune.low_s
    server.now_s += 500.0
    assert told(server, waits).expected_s < behind_tune.expected_s / 2
    server.now_s += 5000.0
    assert told(server, waits).high_s > 1000, "a job that is older than all before it may last as long again"


def test_a_large_problem_counts_also_for_a_verb_that_it_was_not_tried_with(server: Server) -> None:
    for number in range(8):
        server.runs(f"small{number}", 10.0, problem="small")
        server.runs(f"large{number}", 200.0, problem="large")
        server.runs(f"profile{number}", 20.0, "profile", problem="small")
    server.submit("runs")
    one = server.submit("one", "profile", "small")
    after_small = told(server, server.submit("behind one", problem="small"))
    server.store.cancel(one)
    server.submit("other", "profile", "large")
    behind = server.submit("behind other", problem="small")
    assert told(server, behind).expected_s > 2 * after_small.expected_s
