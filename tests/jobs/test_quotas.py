"""What one user may have: waiting jobs, running jobs, seconds on GPUs; and lanes that do not wait for each other."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import DatabaseError, SettingsError
from amdkernel_mcp.hardware.reserved_times import read_time
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.lanes import JOBS_PER_GPU
from amdkernel_mcp.jobs.pools import Pools
from amdkernel_mcp.jobs.quotas import QuotaError, Quotas
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.results.machine import TargetInfo
from amdkernel_mcp.work import Work
from tests.waiting import AT_MOST_S

Stores = Callable[..., JobStore]


class Gate:
    """Jobs wait at it; `order` has their numbers as they began."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.order: list[object] = []

    def perform(self, request: Request, work: Work) -> Answer:
        self.order.append(request.arguments["number"])
        while not self.opened.wait(0.01):
            work.say("at the gate")
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


def test_seconds_on_emulators_are_those_of_the_users_ended_jobs(stores: Stores, gate: Gate) -> None:
    now = [100.0]
    store = stores(clock=lambda: now[0])
    job = submit(store, 0, target="emulator:gfx942")
    wait_until(lambda: job.begun_s is not None)
    now[0] = 130.0
    assert store.emulated_s("ann") == 0.0
    gate.opened.set()
    wait_until(lambda: job.finished_s is not None)
    assert (store.emulated_s("ann"), store.emulated_s("bob")) == (30.0, 0.0)


def test_a_user_who_has_used_up_its_gpu_seconds_still_has_the_emulator(stores: Stores) -> None:
    store = stores(quotas=Quotas(gpu_seconds_a_day=100), gpu_seconds=lambda _: (130.4, 7200.0))
    with pytest.raises(QuotaError, match=r"GPU seconds a day: 130 s of 100 s are used; .* in 7200 s"):
        store.check_time_quota("ann", Request("benchmark", {"target": "gpu1:0"}))
    store.check_time_quota("ann", Request("benchmark", {"target": "emulator:gfx942"}))
    store.check_time_quota("ann", Request("compile", {"target": "gpu1:0"}))


def test_where_the_used_seconds_cannot_be_read_nothing_is_timed(stores: Stores) -> None:
    def fails(_: str) -> tuple[float, float]:
        raise DatabaseError("disk full")

    store = stores(quotas=Quotas(gpu_seconds_a_day=100), gpu_seconds=fails, default_target="local:0")
    with pytest.raises(DatabaseError):
        store.check_time_quota("ann", Request("benchmark"))


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
    def perform(request: Request, work: Work) -> Answer:
        work.used.gpu_s += request.arguments["number"]
        return CheckResult(reason="done")

    store = JobStore(perform, 1)
    for owner, seconds in (("ann", 50.0), ("bob", 5.0)):
        assert submit(store, seconds, owner, target="gpu1:0").wait(60)
    assert store._usage.of("ann") > 40
    assert store._usage.of("bob") < 10
    store.close()


TWO_CLASSES = {
    "leads": {"users": ["lead"], "priority": 5, "gpus": ["gpu1:0", "gpu2"], "queued_jobs": 2},
    "interns": {"users": ["intern", "other intern"], "priority": -5, "running_jobs": 1, "emulator_seconds": 100},
}


def of_settings(tmp_path: Path, **more: object) -> Quotas:
    flags = {"data_dir": tmp_path, "cache_dir": tmp_path, "classes": TWO_CLASSES, **more}
    return Quotas.of(load_settings(flags, environ={"AMDKERNEL_CONFIG": os.devnull}))


def test_users_of_a_class_with_a_higher_priority_start_first(stores: Stores, gate: Gate, tmp_path: Path) -> None:
    store = stores(quotas=of_settings(tmp_path))
    submit(store, "runs")
    jobs = [submit(store, owner, f"user:{owner}") for owner in ("intern", "ann", "lead")]
    submit(store, "ann's second", "user:ann")
    submit(store, "lead's second", "user:lead")
    assert [(place := store.place(job)) and place.number for job in jobs] == [5, 3, 1]
    gate.opened.set()
    assert all(job.wait(60) for job in jobs)
    assert gate.order == ["runs", "lead", "lead's second", "ann", "ann's second", "intern"]


def test_a_class_has_limits_of_its_own_and_the_others_of_all(stores: Stores, gate: Gate, tmp_path: Path) -> None:
    store = stores(3, quotas=of_settings(tmp_path))
    runs, waits = (submit(store, number, "user:intern") for number in range(2))
    wait_until(lambda: len(gate.order) == 1)
    assert (runs.status, waits.status) == ("running", "queued")
    for number in range(4):
        submit(store, number, "user:lead")
    with pytest.raises(QuotaError, match="2 jobs of yours wait, and 2 may"):
        submit(store, 4, "user:lead")


def test_a_reserved_gpu_is_for_its_class_alone_also_in_a_pool(stores: Stores, tmp_path: Path) -> None:
    def gpu(name: str) -> TargetInfo:
        return TargetInfo(name=name, kind="gpu", arch="gfx942", gpu="MI300X", rocm=None, default=False, ready=True)

    known = [gpu("gpu1:0"), gpu("gpu2:0"), gpu("gpu3:0")]
    store = stores(quotas=of_settings(tmp_path), pools=Pools(lambda: known))
    for reserved in ("gpu1:0", "gpu2:0"):
        with pytest.raises(QuotaError, match=f"{reserved} is reserved for other users"):
            submit(store, 0, "user:ann", target=reserved)
        assert submit(store, 0, "user:lead", target=reserved).status == "running"
    store.look_for_gpus(Request("check", {"target": "any"}))
    jobs = [submit(store, 0, "user:ann", target="any") for _ in range(JOBS_PER_GPU + 1)]
    assert [job.lane for job in jobs] == ["gpu3:0"] * JOBS_PER_GPU + ["any"]
    del known[2]
    store.look_for_gpus(Request("check", {"target": "any"}))
    with pytest.raises(QuotaError, match="any is reserved"):
        submit(store, 0, "user:ann", target="any")


def test_seconds_on_emulators_are_counted_for_a_day_also_of_what_runs(
    stores: Stores, gate: Gate, tmp_path: Path
) -> None:
    now = [1000.0]
    store, asked = stores(quotas=of_settings(tmp_path), clock=lambda: now[0]), Request("check", {"number": 1})
    job = submit(store, 0, "user:intern")
    wait_until(lambda: gate.order)
    store.check_time_quota("user:intern", asked)
    now[0] += 101.0  # an endless kernel
    with pytest.raises(QuotaError, match=r"on emulators a day: 101 s of 100 s are used"):
        store.check_time_quota("user:intern", asked)
    store.check_time_quota("user:intern", Request("compile", {"number": 1}))
    store.check_time_quota("user:other intern", asked)
    store.check_time_quota("user:ann", asked)
    gate.opened.set()
    assert job.wait(60)
    now[0] += 3600.0
    with pytest.raises(QuotaError, match="free again in 82800 s"):
        store.check_time_quota("user:intern", asked)
    now[0] += 82800.0
    store.check_time_quota("user:intern", asked)


def test_a_job_that_runs_for_longer_than_it_may_is_ended_with_that_reason(stores: Stores) -> None:
    store = stores(quotas=Quotas(job_minutes=0.001))
    job = submit(store, 0)
    assert job.wait(AT_MOST_S)
    assert job.status == "failed"
    assert isinstance(job.error, QuotaError)
    assert "ended after 0.001 min" in job.error.message


def test_a_user_of_two_classes_and_a_gpu_of_two_are_refused(tmp_path: Path) -> None:
    for twice in ({"users": ["lead"]}, {"users": [], "gpus": ["gpu2"]}):
        with pytest.raises(SettingsError, match="is in the class leads as well"):
            of_settings(tmp_path, classes=TWO_CLASSES | {"more": twice})


def test_a_reservation_with_times_holds_at_them_alone(stores: Stores) -> None:
    now = [0.0]  # Thursday, 1 January 1970
    lead = frozenset({"user:lead"})
    window = [read_time("thu 08:00-18:00")]
    quotas = Quotas(reserved={"gpu1:0": lead}, when={"gpu1:0": window}, clock=lambda: now[0])
    store = stores(quotas=quotas)
    for _ in range(JOBS_PER_GPU):
        assert submit(store, 0, "user:ann", target="gpu1:0").status == "running"
    waits = submit(store, 0, "user:bob", target="gpu1:0")
    now[0] = 12 * 3600.0
    with pytest.raises(QuotaError, match=r"reserved for other users \(thu 08:00-18:00, UTC\)"):
        submit(store, 0, "user:ann", target="gpu1:0")
    assert not quotas.may_use("user:bob", "gpu1:0")
    assert quotas.may_use("user:lead", "gpu1:0")
    store.cancel(next(job for job in store.overview().running if job.owner == "user:ann"))
    wait_until(lambda: len(store.overview().running) < JOBS_PER_GPU)
    assert waits.status == "queued", "it was accepted before, and the hours of others have begun"
    now[0] = 20 * 3600.0
    assert submit(store, 0, "user:bob", target="gpu1:0").status in ("running", "queued")
    wait_until(lambda: waits.status == "running")
