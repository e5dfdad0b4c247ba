"""Jobs whose worker is lost while they run: handed back, begun again when it is back, given up after a bound."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.jobs.away import GONE_S, AwayHosts
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.journal import MOST_TRIES, Journal
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work
from amdkernel_mcp.workers.connection import lost
from tests.waiting import AT_MOST_S


class Host:
    """`gpu7`, with a worker that leaves and comes back; the clock of its store stands still."""

    def __init__(self, own: Settings) -> None:
        self.now_s, self.begun = 1000.0, 0
        self.left_s: float | None = None
        self.runs_of_a_begin = 1
        self.store = JobStore(
            self.perform, 2, clock=lambda: self.now_s, away=AwayHosts(self.away_s), journal=lambda: Journal(own, "http")
        )

    def away_s(self, host: str) -> float | None:
        return self.now_s - self.left_s if host == "gpu7" and self.left_s is not None else None

    def perform(self, request: Request, _: Work) -> Answer:
        assert request.arguments["target"].startswith("gpu7:")
        self.begun += 1
        self.on_begin()
        if self.left_s is not None:
            self.now_s = max(self.now_s, self.left_s + 60)  # for which its run has waited
            error = lost("gpu7")
            error.begun = self.runs_of_a_begin
            raise error
        return CheckResult(reason=f"begun {self.begun} times")

    def leaves(self) -> None:
        self.left_s = self.left_s or self.now_s

    on_begin: Callable[[], None] = staticmethod(lambda: None)

    def ask(self, target: str = "gpu7:0") -> Job:
        job = self.store.submit("ann", Request("check", {"target": target}))
        self.store.hand_out(job)
        return job

    def comes_back(self) -> None:
        self.left_s, self.on_begin = None, lambda: None
        self.looks_again()

    def looks_again(self) -> None:
        """As the thread of the journal does every few seconds."""
        self.store._adopt([])


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return load_settings({"data_dir": tmp_path / "data"}, {})


@pytest.fixture
def host(own: Settings) -> Iterator[Host]:
    made = Host(own)
    yield made
    made.store.close()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + AT_MOST_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


@pytest.mark.parametrize("target", ["gpu7:0", "gpu7:gfx942"])
def test_a_job_whose_worker_is_lost_waits_in_the_queue_until_it_is_back(host: Host, own: Settings, target: str) -> None:
    host.on_begin = host.leaves
    job = host.ask(target)
    until(lambda: job.progress)
    assert job.status == "queued"
    assert job.progress == "the worker of gpu7 was lost while this ran: waiting up to 30 min for it"
    assert not host.store.overview().running, "it counts for no quota"
    stored = Journal(own, "http")
    found = stored.find(job.id, "ann")
    stored.close()
    assert found is not None
    assert (found.status, found.tries) == ("queued", 1), "a server that takes it over counts on"
    host.looks_again()
    assert host.begun == 1
    host.comes_back()
    assert job.wait(30)
    assert job.answer == CheckResult(reason="begun 2 times")


def test_a_job_that_was_queued_when_its_host_left_waits_as_well(host: Host) -> None:
    hold = threading.Event()

    def leaves_later() -> None:
        hold.wait(30)
        host.leaves()

    host.on_begin = leaves_later
    jobs = [host.ask() for _ in range(5)]
    hold.set()
    until(lambda: not host.store.overview().running)
    host.looks_again()
    assert [job.status for job in jobs] == ["queued"] * 5
    host.comes_back()
    assert [(job.wait(30), job.status) for job in jobs] == [(True, "done")] * 5


def test_a_host_that_never_returns_ends_its_jobs_after_a_while(host: Host) -> None:
    host.on_begin = host.leaves
    job = host.ask()
    until(lambda: job.progress)
    host.now_s += GONE_S - 61
    host.looks_again()
    assert job.status == "queued"
    host.now_s += 2
    host.looks_again()
    assert job.wait(30)
    assert isinstance(job.error, LostWorkerError)
    assert job.error.message == "the worker of gpu7 has not come back for 30 min, so this job has no answer"
    assert "start `amdkernel worker` on gpu7" in str(job.error.hint)


def test_a_job_that_comes_while_its_host_is_away_is_answered_at_once(host: Host) -> None:
    host.leaves()
    host.now_s += 300
    job = host.ask()
    assert job.wait(30)
    assert isinstance(job.error, LostWorkerError)
    assert job.error.message.startswith("the worker of gpu7 is not connected")


@pytest.mark.parametrize(("runs", "begun"), [(1, MOST_TRIES), (2, 3)])
def test_a_job_that_ends_its_worker_each_time_is_given_up(host: Host, runs: int, begun: int) -> None:
    """runs: how often one run was with the worker before the job went back."""
    host.runs_of_a_begin = runs
    host.on_begin = host.leaves
    job = host.ask()
    for number in range(1, begun):
        until(lambda number=number: host.begun == number and not host.store.overview().running)
        host.left_s = None
        host.looks_again()
    assert job.wait(30)
    assert isinstance(job.error, LostWorkerError)
    assert "while it worked on this job" in job.error.message
    assert host.begun == begun


def test_a_job_that_waits_for_its_host_can_be_cancelled(host: Host) -> None:
    host.on_begin = host.leaves
    job = host.ask()
    until(lambda: job.progress)
    host.store.cancel(job)
    assert job.wait(30)
    assert job.status == "cancelled"
    host.comes_back()
    assert host.begun == 1


def test_another_host_is_not_held_up(host: Host) -> None:
    host.leaves()
    assert not AwayHosts(host.away_s).holds(Job("job-1", "ann", Request("check"), lane="gpu8:0"), host.now_s)
