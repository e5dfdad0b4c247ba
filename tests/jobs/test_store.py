"""The job store: order, waiting, cancelling, eviction, and which owner sees which job."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from amdkernel_mcp.errors import JobError
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import KEPT_JOBS, KEPT_S, JobStore
from amdkernel_mcp.progress import Progress
from amdkernel_mcp.results.kernels import CompileResult
from amdkernel_mcp.work import Work

DONE = CompileResult(ok=True)


def done(_: Progress) -> CompileResult:
    return DONE


def fails(_: Progress) -> CompileResult:
    raise ZeroDivisionError


Step = Callable[[Progress], Answer]


def perform(request: Request, work: Work) -> Answer:
    """Requests of these tests carry their work."""
    step: Step = request.arguments["work"]
    return step(work.say)


def doing(step: Step, verb: str = "check") -> Request:
    return Request(verb, {"work": step})


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[JobStore]:
    made = JobStore(perform, 2, clock=clock)
    yield made
    made.close()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def waits_for(gate: threading.Event) -> Callable[[Progress], CompileResult]:
    def work(progress: Progress) -> CompileResult:
        while not gate.wait(0.01):
            progress("waiting at the gate")
        return DONE

    return work


def finished(job: Job) -> Job:
    assert job.wait(5), f"{job.status}: {job.progress}"
    return job


def test_a_job_ends_with_the_answer_of_its_work(store: JobStore) -> None:
    job = finished(store.submit("ann", doing(done)))
    assert (job.status, job.answer, job.error) == ("done", DONE, None)


def test_a_job_keeps_the_exception_of_its_work(store: JobStore) -> None:
    job = finished(store.submit("ann", doing(fails)))
    assert job.status == "failed"
    assert isinstance(job.error, ZeroDivisionError)


def test_no_more_jobs_run_than_there_are_workers(store: JobStore, gate: threading.Event) -> None:
    jobs = [store.submit("ann", doing(waits_for(gate))) for _ in range(3)]
    while any(job.progress is None for job in jobs[:2]):
        time.sleep(0.01)
    assert [job.status for job in jobs] == ["running", "running", "queued"]
    gate.set()
    assert [finished(job).status for job in jobs] == ["done"] * 3


def test_a_user_who_fills_all_workers_does_not_hold_up_another(store: JobStore, gate: threading.Event) -> None:
    flood = [store.submit("mallory", doing(waits_for(gate))) for _ in range(4)]
    assert finished(store.submit("ann", doing(done))).answer == DONE
    assert finished(store.submit("ann", doing(done))).answer == DONE
    assert [job.status for job in flood] == ["running", "running", "queued", "queued"]
    held = [store.submit(owner, doing(waits_for(gate))) for owner in ("ann", "bob")]
    assert [job.status for job in held] == ["running", "queued"]
    gate.set()
    assert all(finished(job).answer == DONE for job in [*flood, *held])


def test_a_second_call_right_after_the_first_runs_at_the_same_time(clock: Clock) -> None:
    store = JobStore(perform, 2, clock=clock)
    finished(store.submit("ann", doing(done)))  # from here on one worker exists and is idle
    second_has_run = threading.Event()

    def waits_for_the_second(_: Progress) -> CompileResult:
        assert second_has_run.wait(5), "the second job waits behind the first though a worker is idle"
        return DONE

    def second(_: Progress) -> CompileResult:
        second_has_run.set()
        return DONE

    jobs = [store.submit("ann", doing(waits_for_the_second)), store.submit("ann", doing(second))]
    assert [(finished(job).status, job.error) for job in jobs] == [("done", None)] * 2
    store.close()


def test_a_job_that_hangs_does_not_keep_the_process_of_a_closed_store_alive() -> None:
    program = (
        "import threading\n"
        "from amdkernel_mcp.jobs.request import Request\n"
        "from amdkernel_mcp.jobs.store import JobStore\n"
        "begun = threading.Event()\n"
        "store = JobStore(lambda *_: begun.set() or threading.Event().wait(), 1)\n"
        "store.submit('ann', Request('check'))\n"
        "begun.wait()\n"
        "store.close()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_another_owner_does_not_see_a_job_and_cannot_tell_that_it_exists(store: JobStore) -> None:
    job = finished(store.submit("ann", doing(done)))
    with pytest.raises(JobError) as others:
        store.find(job.id, "bob")
    with pytest.raises(JobError) as nobodys:
        store.find("job-0", "bob")
    assert others.value.message.replace(job.id, "job-0") == nobodys.value.message
    assert store.find(job.id, "ann") is job


def test_a_cancelled_job_stops_at_its_next_progress_report(store: JobStore, gate: threading.Event) -> None:
    job = store.submit("ann", doing(waits_for(gate)))
    store.cancel(job)
    assert finished(job).status == "cancelled"


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(store: JobStore, gate: threading.Event) -> None:
    ran = threading.Event()

    def sets_ran(_: Progress) -> CompileResult:
        ran.set()
        return DONE

    for _ in range(2):
        store.submit("ann", doing(waits_for(gate)))
    job = store.submit("ann", doing(sets_ran))
    store.cancel(job)
    assert job.status == "cancelled"
    gate.set()
    finished(store.submit("ann", doing(done)))
    assert not ran.is_set()


def test_cancelling_a_finished_job_changes_nothing(store: JobStore) -> None:
    job = finished(store.submit("ann", doing(done)))
    store.cancel(job)
    assert job.status == "done"


def test_finished_jobs_are_forgotten_after_an_hour(store: JobStore, clock: Clock) -> None:
    job = finished(store.submit("ann", doing(done)))
    clock.now_s += KEPT_S - 1
    store.find(job.id, "ann")
    clock.now_s += 2
    with pytest.raises(JobError):
        store.find(job.id, "ann")


def test_the_oldest_finished_jobs_make_room(store: JobStore) -> None:
    jobs = [finished(store.submit("ann", doing(done))) for _ in range(KEPT_JOBS + 5)]
    store.find(jobs[-1].id, "ann")
    with pytest.raises(JobError):
        store.find(jobs[0].id, "ann")


def test_a_listener_is_called_whether_it_comes_before_or_after_the_end(store: JobStore, gate: threading.Event) -> None:
    early, late = threading.Event(), threading.Event()
    job = store.submit("ann", doing(waits_for(gate)))
    store.on_end(job, early.set)
    assert not early.is_set()
    gate.set()
    finished(job)
    store.on_end(job, late.set)
    assert early.wait(5)
    assert late.is_set()


def test_a_closed_store_takes_no_work_and_cancels_what_waits(gate: threading.Event) -> None:
    store = JobStore(perform, 1)
    jobs = [store.submit("ann", doing(waits_for(gate))) for _ in range(2)]
    store.close()
    assert [finished(job).status for job in jobs] == ["cancelled"] * 2
    with pytest.raises(JobError, match="shutting down"):
        store.submit("ann", doing(done))


def test_many_threads_may_submit_at_once(store: JobStore) -> None:
    jobs: list[Job] = []

    def submit_ten(owner: str) -> None:
        jobs.extend(store.submit(owner, doing(done)) for _ in range(10))

    threads = [threading.Thread(target=submit_ten, args=(f"user{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({job.id for job in jobs}) == 80
    assert {finished(job).status for job in jobs} == {"done"}
