"""What one user may have: waiting jobs, running jobs, seconds on GPUs; and lanes that do not wait for each other."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.execution.work import current_work
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.lanes import JOBS_PER_GPU
from amdkernel_mcp.jobs.quotas import QuotaError, Quotas
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.progress import Progress
from amdkernel_mcp.results.kernels import CheckResult
from tests.waiting import AT_MOST_S

Stores = Callable[..., JobStore]


class Gate:
    """Jobs wait at it; `order` has their numbers as they began."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.order: list[object] = []

    def perform(self, request: Request, _: str, progress: Progress) -> Answer:
        self.order.append(request.arguments["number"])
        while not self.opened.wait(0.01):
            progress("at the gate")
        return CheckResult(reason="done")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def stores(gate: Gate) -> Iterator[Stores]:
    made: list[JobStore] = []

    def make(workers: int = 1, **how: object) -> JobStore:
        made.append(JobStore(gate.perform, workers, **how))  # type: ignore[arg-type]
        return made[-1]

    yield make
    gate.opened.set()
    for each in made:
        each.close()


def submit(store: JobStore, number: object, owner: str = "ann", verb: str = "check", target: str = "") -> Job:
    return store.submit(owner, Request(verb, {"number": number, "target": target}))


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + AT_MOST_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_owner_cannot_fill_the_queue_and_is_told_how_much_is_used(stores: Stores) -> None:
    store = stores(quotas=Quotas(queued=3))
    for number in range(4):  # one runs
        submit(store, number)
    with pytest.raises(QuotaError, match="quota of queued jobs: 3 jobs of yours wait, and 3 may") as refused:
        submit(store, 5)
    assert "get_job" in (refused.value.hint or "")
    submit(store, 6, "bob")


def test_a_refusal_says_when_there_is_room_once_a_job_has_ended(stores: Stores, gate: Gate) -> None:
    store = stores(quotas=Quotas(queued=1))
    gate.opened.set()
    assert submit(store, 0).wait(60)
    gate.opened.clear()
    submit(store, 1)
    submit(store, 2)
    with pytest.raises(QuotaError, match=r"when one of them starts, in about \d+ s"):
        submit(store, 3)


def test_more_running_jobs_than_a_user_may_have_wait_and_others_run(stores: Stores, gate: Gate) -> None:
    store = stores(3, quotas=Quotas(running=1))
    jobs = [submit(store, number) for number in range(3)]
    other = submit(store, "bob's", "bob")
    wait_until(lambda: len(gate.order) == 2)
    assert [job.status for job in jobs] == ["running", "queued", "queued"]
    assert other.status == "running"
    gate.opened.set()
    assert all(job.wait(60) for job in jobs)


def test_a_user_who_has_used_up_its_gpu_seconds_still_has_the_emulator(stores: Stores) -> None:
    store = stores(quotas=Quotas(gpu_seconds_a_day=100), gpu_seconds=lambda _: (130.4, 7200.0))
    with pytest.raises(QuotaError, match=r"GPU seconds a day: 130 s of 100 s are used; .* in 7200 s"):
        store.check_gpu_quota("ann", Request("benchmark", {"target": "gpu1:0"}))
    store.check_gpu_quota("ann", Request("benchmark", {"target": "emulator:gfx942"}))
    store.check_gpu_quota("ann", Request("compile", {"target": "gpu1:0"}))


def test_where_the_used_seconds_cannot_be_read_nothing_is_timed(stores: Stores) -> None:
    def fails(_: str) -> tuple[float, float]:
        raise DatabaseError("disk full")

    store = stores(quotas=Quotas(gpu_seconds_a_day=100), gpu_seconds=fails, default_target="local:0")
    with pytest.raises(DatabaseError):
        store.check_gpu_quota("ann", Request("benchmark"))


def test_gpus_the_emulator_and_compiles_do_not_wait_for_each_other(stores: Stores, gate: Gate) -> None:
    store = stores(1)
    on_first = [submit(store, f"first {number}", target="gpu1:0") for number in range(JOBS_PER_GPU + 1)]
    others = [submit(store, "second", target="gpu1:1"), submit(store, "emulated"), submit(store, "c", verb="compile")]
    wait_until(lambda: len(gate.order) == JOBS_PER_GPU + 3)
    assert [job.status for job in others] == ["running"] * 3
    assert on_first[-1].status == "queued"


def test_the_single_calls_of_a_user_come_before_its_sweeps_until_those_have_waited(stores: Stores, gate: Gate) -> None:
    now = [0.0]
    store = stores(clock=lambda: now[0])
    submit(store, "runs")
    submit(store, "sweep", verb="tune")
    now[0] = 60.0
    call = submit(store, "call")
    now[0] = 900.0
    late = submit(store, "late call")
    place = store.place(call)
    assert place
    assert place.number == 1
    gate.opened.set()
    assert late.wait(60)
    assert gate.order == ["runs", "call", "sweep", "late call"]


def test_a_user_whose_work_held_gpus_for_less_time_is_next() -> None:
    def perform(request: Request, _: str, __: Progress) -> Answer:
        current_work().used.gpu_s += request.arguments["number"]
        return CheckResult(reason="done")

    store = JobStore(perform, 1)
    for owner, seconds in (("ann", 50.0), ("bob", 5.0)):
        assert submit(store, seconds, owner, target="gpu1:0").wait(60)
    assert store._usage.of("ann") > 40
    assert store._usage.of("bob") < 10
    store.close()
