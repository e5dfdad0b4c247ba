"""What a server accepted survives it: nothing is lost, and nothing is finished twice."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database import leases
from amdkernel_mcp.database.leases import LEASE_S
from amdkernel_mcp.database.tables import jobs
from amdkernel_mcp.errors import DatabaseError, JobError
from amdkernel_mcp.jobs import store as store_module
from amdkernel_mcp.jobs.job import FINISHED, Job, new_id
from amdkernel_mcp.jobs.journal import MOST_TRIES, Journal
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.held import LeaseLostError
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work
from tests.history.postgres import postgres_server
from tests.waiting import AT_MOST_S

ROOT = Path(__file__).parents[2]
Stores = Callable[..., JobStore]


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return load_settings({"data_dir": tmp_path / "data"}, {})


@pytest.fixture
def store(own: Settings) -> Iterator[Stores]:
    """Makes a server of jobs on the same database; each is closed at the end."""
    made: list[JobStore] = []

    def make(perform: Callable[[Request, Work], Answer] = right, service: str = "http") -> JobStore:
        made.append(JobStore(perform, 2, journal=lambda: Journal(own, service)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def right(request: Request, work: Work) -> Answer:
    return CheckResult(verdict="correct", reason=f"{work.owner} {request.arguments.get('number')}")


def hangs(_: Request, work: Work) -> Answer:
    while True:
        work.say("working")
        time.sleep(0.01)


def ended(store: JobStore, job_id: str, owner: str = "ann") -> Job:
    deadline = time.monotonic() + AT_MOST_S
    while (job := store.find(job_id, owner)).status not in FINISHED:
        assert time.monotonic() < deadline, job.status
        time.sleep(0.02)
    return job


def accepted(store: JobStore, number: int = 1, owner: str = "ann") -> Job:
    job = store.submit(owner, Request("check", {"number": number}))
    store.hand_out(job)
    return job


def test_an_answer_is_found_after_a_restart(store: Stores) -> None:
    first = store(hangs)
    job = accepted(first)
    first.close()
    found = ended(store(), job.id)
    assert found.answer == CheckResult(verdict="correct", reason="ann 1")
    assert ended(store(), job.id).answer == found.answer, "a third server has it from the database"


def test_a_job_of_a_verb_that_is_not_installed_any_more_is_listed_without_an_answer(store: Stores) -> None:
    first = store()
    job = first.submit("ann", Request("prove", {"number": 1}))
    first.hand_out(job)
    ended(first, job.id)
    found = store().find(job.id, "ann")
    assert (found.status, found.answer, found.request.verb) == ("done", None, "prove")


def test_another_owner_finds_and_lists_no_stored_job(store: Stores) -> None:
    job = accepted(store())
    ended(store(), job.id)
    later = store()
    with pytest.raises(JobError, match="there is no job"):
        later.find(job.id, "bob")
    assert [each.id for each in later.list("ann", 10)] == [job.id]
    assert not later.list("bob", 10)


def test_a_failure_is_found_after_a_restart(store: Stores) -> None:
    def fails(_: Request, __: Work) -> Answer:
        raise JobError("the disk is full")

    first = store(fails)
    job = accepted(first)
    assert job.wait(10)
    first.close()
    found = ended(store(), job.id)
    assert (found.status, str(found.error)) == ("failed", str(JobError("the disk is full")))


def test_a_job_whose_caller_never_got_its_id_ends_with_the_server(store: Stores) -> None:
    first = store(hangs)
    job = first.submit("ann", Request("check"))
    first.close()
    assert job.wait(10)
    with pytest.raises(JobError):
        store().find(job.id, "ann")


def test_a_living_servers_job_is_left_to_it_by_others(store: Stores) -> None:
    job = accepted(store(hangs))
    other = store()
    found = other.find(job.id, "ann")
    assert found.elsewhere
    assert found.status not in FINISHED


def test_servers_of_another_kind_take_nothing_over(store: Stores) -> None:
    first = store(hangs)
    job = accepted(first)
    first.close()
    other = store(service="stdio")
    time.sleep(0.3)
    assert other.find(job.id, "ann").status not in FINISHED


def test_a_late_result_of_an_earlier_holder_is_not_taken(own: Settings) -> None:
    slow, quick = Journal(own, "http"), Journal(own, "http")
    quick._holder = "another process"
    job = Job(new_id(), "ann", Request("check"))
    job.fence = slow.accept(job)
    with slow._engine.begin() as connection:
        connection.execute(update(jobs).values(lease_until=0.0))
    (taken,) = quick.take_over()
    again = Job(taken.id, taken.owner, taken.request, fence=taken.fence, answer=CheckResult(reason="new"))
    job.answer = CheckResult(reason="old")
    assert quick.end(again, "done", None)
    assert not slow.end(job, "done", None)
    found = slow.find(job.id, "ann")
    assert found is not None
    assert found.answer is not None
    assert found.answer.model_dump()["reason"] == "new"
    slow.close()
    quick.close()


def test_a_finished_job_keeps_its_answer_and_not_the_texts_that_it_was_given(own: Settings) -> None:
    journal = Journal(own, "http")
    named = {"problem": "softmax", "target": "gpu1:0"}
    asked = Request("check", named | {"source": "x" * 1_000_000})
    job = Job(new_id(), "ann", asked, answer=CheckResult(reason="right"))
    job.fence = journal.accept(job)
    assert journal.end(job, "done", None)
    found = journal.find(job.id, "ann")
    assert found is not None
    assert found.request.arguments == named, "which a list of jobs shows"
    assert found.answer is not None
    journal.close()


def test_an_admin_lists_the_jobs_of_all_users_and_finds_the_one_of_an_attempt(store: Stores) -> None:
    def records(_: Request, work: Work) -> Answer:
        return CheckResult(reason="right", attempt=f"a-{work.owner}")

    first = store(records)
    of = {owner: accepted(first, owner=owner).id for owner in ("ann", "bob")}
    for owner, job in of.items():
        ended(first, job, owner)
    for each in (first, store(records)):  # the second one knows them from the journal alone
        assert [job.id for job in each.list(None, 10)] == [of["bob"], of["ann"]]
        assert [job.id for job in each.list("ann", 10)] == [of["ann"]]
        assert [job.id for job in each.list(None, 10, "a-bob")] == [of["bob"]]
        assert not each.list("ann", 10, "a-bob")
        assert not each.list("ann", 10, "a-%")


def test_an_answer_that_json_cannot_have_costs_the_survival_and_not_the_job(store: Stores) -> None:
    def half(_: Request, __: Work) -> Answer:
        time.sleep(0.3)
        return CheckResult(reason="half a character: \ud83d")

    job = accepted(store(half))
    assert job.wait(10), "the job never ended"
    assert job.status == "done"


def test_a_job_that_stops_every_server_is_given_up(own: Settings) -> None:
    journal = Journal(own, "http")
    job = Job(new_id(), "ann", Request("check"))
    job.fence = journal.accept(job)
    for number in range(MOST_TRIES):
        journal.begin(job)
        journal._holder = f"server {number}"
        with journal._engine.begin() as connection:
            connection.execute(update(jobs).values(lease_until=0.0))
        taken = journal.take_over()
        assert len(taken) == (number < MOST_TRIES - 1)
        job.fence = taken[0].fence if taken else None
    found = journal.find(job.id, "ann")
    assert found is not None
    assert found.status == "failed"
    assert f"stopped {MOST_TRIES} times" in (found.error or "")
    journal.close()


def test_a_job_that_only_waits_while_servers_stop_is_not_given_up(own: Settings) -> None:
    journal = Journal(own, "http")
    journal.accept(Job(new_id(), "ann", Request("check")))
    for number in range(2 * MOST_TRIES):
        journal._holder = f"server {number}"
        with journal._engine.begin() as connection:
            connection.execute(update(jobs).values(lease_until=0.0))
        assert len(journal.take_over()) == 1
    journal.close()


def test_a_cancelled_job_stays_cancelled_after_a_restart(store: Stores) -> None:
    first = store(hangs)
    job = accepted(first)
    first.cancel(job)
    assert job.wait(10)
    first.close()
    assert ended(store(), job.id).status == "cancelled"


def test_a_database_that_fails_costs_the_survival_and_not_the_job(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = load_settings({"data_dir": tmp_path / "file" / "data"}, {})
    store = JobStore(right, 2, journal=lambda: Journal(settings, "http"))
    job = accepted(store)
    assert job.wait(10)
    assert job.status == "done"
    store.close()


def accepted_by_servers_that_are_killed(folder: Path, count: int, kills: int) -> list[tuple[str, str]]:
    """(owner, id) of the jobs that `kills` servers accepted; each is killed at a random moment."""
    chance = random.Random(count)
    program = Path(__file__).with_name("journal_process.py")
    accepted = []
    for number in range(kills):
        owner = f"user {number}"
        command = [sys.executable, str(program), str(folder), owner, str(count // kills)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
            assert server.stdout is not None
            first = server.stdout.readline()
            threading.Timer(1.5 * chance.random(), server.send_signal, [signal.SIGKILL]).start()
            accepted += [(owner, line.strip()) for line in (first, *server.stdout) if line.endswith("\n")]
    return accepted


@pytest.mark.parametrize(("count", "kills"), [(20, 1), pytest.param(500, 4, marks=pytest.mark.thorough)])
def test_no_accepted_job_is_lost_when_its_server_is_killed(
    store: Stores, own: Settings, count: int, kills: int
) -> None:
    accepted = accepted_by_servers_that_are_killed(own.data_dir, count, kills)
    assert accepted, "no job was accepted before the server was killed"
    last = store()
    states = [(each := ended(last, job_id, owner)).error or each.status for owner, job_id in accepted]
    assert states == ["done"] * len(accepted)


def test_a_job_is_accepted_once_though_the_first_answer_of_the_database_was_lost(own: Settings) -> None:
    journal = Journal(own, "http")
    job = Job(new_id(), "ann", Request("check"))
    assert [journal.accept(job), journal.accept(job)] == [1, 1]
    assert len(journal.list("ann", 10)) == 1
    journal.close()


def test_a_clock_that_was_set_back_delays_a_take_over_by_one_lease(own: Settings) -> None:
    gone, other = Journal(own, "http"), Journal(own, "http")
    gone._holder = "process/of/another/machine/x"  # it cannot be known here that it is dead
    gone._insert = gone._insert.values(holder=gone._holder)
    gone.accept(Job(new_id(), "ann", Request("check")))
    with gone._engine.begin() as connection:
        connection.execute(update(jobs).values(lease_until=jobs.c.lease_until + 6 * 3600))
    assert not other.take_over()
    with gone._engine.begin() as connection:
        until = connection.execute(select(jobs.c.lease_until - jobs.c.created)).scalar_one()
        connection.execute(update(jobs).values(lease_until=jobs.c.lease_until - LEASE_S - 1))
    assert until < 2 * LEASE_S
    assert len(other.take_over()) == 1
    gone.close()
    other.close()


def test_an_agent_sees_the_answer_that_was_taken_and_not_that_of_an_earlier_holder(
    store: Stores, own: Settings
) -> None:
    goes_on = threading.Event()

    def slow(_: Request, __: Work) -> Answer:
        goes_on.wait(30)
        return CheckResult(reason="of the earlier holder")

    first = store(slow)
    job = accepted(first)
    taken_away = Journal(own, "http")
    with taken_away._engine.begin() as connection:
        connection.execute(update(jobs).values(lease_until=0.0, holder=""))
    (taken,) = taken_away.take_over()
    again = Job(taken.id, taken.owner, taken.request, fence=taken.fence, answer=CheckResult(reason="taken"))
    assert taken_away.end(again, "done", None)
    goes_on.set()
    assert job.wait(30)
    found = first.find(job.id, "ann")
    assert (found.status, found.answer) == ("done", CheckResult(reason="taken"))
    taken_away.close()


def test_work_that_lost_its_lease_is_done_again(store: Stores) -> None:
    done, handed_out = list[str](), threading.Event()

    def loses_it_once(_: Request, __: Work) -> Answer:
        done.append("begun")
        if len(done) == 1:
            handed_out.wait(30)
            raise LeaseLostError("gpu0")
        return CheckResult(reason="held all the time")

    job = accepted(store(loses_it_once))
    handed_out.set()
    assert job.wait(30)
    assert (job.status, len(done)) == ("done", 2)


@pytest.mark.thorough
def test_a_server_that_starts_before_its_database_keeps_jobs_once_it_answers(own: Settings) -> None:
    tries: list[int] = []

    def opens_at_the_second_try() -> Journal:
        tries.append(1)
        if len(tries) == 1:
            raise DatabaseError("it starts")
        return Journal(own, "http")

    store = JobStore(hangs, 2, journal=opens_at_the_second_try)
    deadline = time.monotonic() + AT_MOST_S
    while not store._journal and time.monotonic() < deadline:
        time.sleep(0.05)
    job = store.submit("ann", Request("check"))
    assert store.hand_out(job), "it is not kept"
    store.close()


def test_a_job_that_the_database_does_not_take_is_not_promised(own: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "ACCEPTED_WITHIN_S", 0.1)

    class Full(Journal):
        def accept(self, _: Job) -> int:
            raise DatabaseError("the disk is full")

    store = JobStore(hangs, 2, journal=lambda: Full(own, "http"))
    assert not store.hand_out(store.submit("ann", Request("check")))
    store.close()


def test_a_job_that_ends_while_another_takes_over_stays_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres_server() as url:  # SQLite lets one write at a time
        settings = load_settings({"data_dir": tmp_path / "data", "database": url}, {})
        first, other = Journal(settings, "http"), Journal(settings, "http")
        job = Job(new_id(), "ann", Request("check", {"number": 1}), answer=CheckResult(reason="right"))
        job.fence = first.accept(job)

        def ends_meanwhile(_: str) -> bool:
            assert first.end(job, "done", None)
            return True

        monkeypatch.setattr(leases, "is_dead", ends_meanwhile)
        assert other.take_over() == []
        found = first.find(job.id, "ann")
        assert found is not None
        assert (found.status, found.answer) == ("done", CheckResult(reason="right"))
        first.close()
        other.close()
