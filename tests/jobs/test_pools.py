"""A job for a pool of GPUs is bound to the least loaded one that fits and is healthy, when it starts."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from amdkernel_mcp.errors import InfrastructureError, UnknownTargetError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.hardware.pool import is_in_pool, is_pool
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.lanes import JOBS_PER_GPU
from amdkernel_mcp.jobs.pools import KEPT_OUT_S, Pools
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_health import QuarantinedError
from amdkernel_mcp.results.kernels import CompileResult
from amdkernel_mcp.results.machine import TargetInfo
from amdkernel_mcp.work import Work
from tests.waiting import AT_MOST_S, wait_until


def gpu(name: str, *, arch: str = "gfx942", product: str = "MI300X", ready: bool = True) -> TargetInfo:
    return TargetInfo(name=name, kind="gpu", arch=arch, gpu=product, rocm=None, default=False, ready=ready)


EMULATED = TargetInfo(
    name="emulator:gfx942", kind="emulator", arch="gfx942", gpu="MI300X", rocm=None, default=True, ready=True
)
RADEON = gpu("pc:0", arch="gfx1100", product="RX 7900 XTX")


class Cluster:
    """GPUs whose jobs end when the test says so."""

    def __init__(self, *targets: TargetInfo) -> None:
        self.targets = [EMULATED, *targets]
        self.begun: list[tuple[str, str]] = []  # the target and the job
        self.ends: dict[str, threading.Event] = {}
        self.fails: dict[str, Exception] = {}  # by target
        self.store = JobStore(self._perform, 2, pools=Pools(lambda: self.targets))

    def submit(self, name: str, target: str, owner: str = "ann") -> Job:
        self.ends[name] = threading.Event()
        request = Request("benchmark", {"target": target, "name": name})
        self.store.look_for_gpus(request)
        return self.store.submit(owner, request)

    def _perform(self, request: Request, work: Work) -> Answer:
        target, name = str(request.arguments["target"]), str(request.arguments["name"])
        self.begun.append((target, name))
        if target in self.fails:
            raise self.fails[target]
        while not self.ends[name].wait(0.02):
            work.say("runs")
        return CompileResult(ok=True)

    def where(self, name: str) -> str:
        wait_until(lambda: any(job == name for _, job in self.begun), f"{name} begins")
        return next(target for target, job in reversed(self.begun) if job == name)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(gpu("a:0"), gpu("a:1"), gpu("b:0"), RADEON)
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("pool", "arch", "product", "fits"),
    [
        ("any", "gfx1100", "RX 7900 XTX", True),
        ("gfx942", "gfx942", "MI300A", True),
        ("GFX942", "gfx942", "MI300X", True),
        ("gfx942", "gfx950", "MI355X", False),
        ("any:MI300X", "gfx942", "MI300X", True),
        ("any:mi300x", "gfx942", "MI300X", True),
        ("any:MI300X", "gfx942", "MI325X", False),
        ("any:RX 7900 XTX", "gfx1100", "RX 7900 XTX", True),
        ("any:gfx1100", "gfx1100", "RX 7900 XTX", True),
    ],
)
def test_what_belongs_to_a_pool(pool: str, arch: str, product: str, fits: bool) -> None:
    assert is_pool(pool)
    assert is_in_pool(arch, product, pool) is fits


@pytest.mark.parametrize("target", ["emulator:gfx942", "a:0", "slurm:gfx942", "local:0", "anything", "any:", "compile"])
def test_what_names_one_target_is_no_pool(target: str) -> None:
    assert not is_pool(target)


def test_jobs_of_one_pool_are_spread_over_its_gpus(cluster: Cluster) -> None:
    jobs = [cluster.submit(str(number), "any:MI300X") for number in range(6)]
    assert Counter(cluster.where(str(number)) for number in range(6)) == {"a:0": 2, "a:1": 2, "b:0": 2}
    for number, job in enumerate(jobs):
        cluster.ends[str(number)].set()
        assert job.wait(AT_MOST_S)
        assert job.status == "done"


def test_what_waits_for_a_pool_gets_the_first_gpu_that_is_free(cluster: Cluster) -> None:
    full = [str(number) for number in range(3 * JOBS_PER_GPU)]
    for name in full:
        cluster.submit(name, "gfx942")
    places = [cluster.where(name) for name in full]
    late = cluster.submit("late", "gfx942")
    assert late.status == "queued"
    cluster.ends[full[4]].set()
    assert cluster.where("late") == places[4]


def test_users_take_turns_though_they_name_the_same_gpus_differently(cluster: Cluster) -> None:
    full = [str(number) for number in range(3 * JOBS_PER_GPU)]
    for name in full:
        cluster.submit(name, "gfx942")
    for name in full:
        cluster.where(name)
    anns = [cluster.submit(f"ann's {number}", "gfx942") for number in range(3)]
    bobs = [cluster.submit(f"bob's {number}", "any:MI300X", owner="bob") for number in range(2)]
    places = [cluster.store.place(job) for job in (*bobs, *anns)]
    assert [place and place.number for place in places] == [1, 2, 3, 4, 5]
    assert places[2] is not None
    assert "2 jobs before it" in places[2].says("gfx942")
    for number, name in enumerate(("bob's 0", "bob's 1", "ann's 0")):
        cluster.ends[full[number]].set()
        cluster.where(name)
    assert [job.status for job in (*bobs, *anns)] == ["running", "running", "running", "queued", "queued"]


def test_a_job_for_one_gpu_does_not_wait_for_those_that_may_have_others(cluster: Cluster) -> None:
    for number in range(3 * JOBS_PER_GPU + 3):
        cluster.submit(str(number), "gfx942")
    (place,) = [cluster.store.place(cluster.submit("named", "a:0", owner="ann"))]
    assert place is not None
    assert place.number == 1


def test_a_gpu_that_a_job_names_counts_for_the_pool_too(cluster: Cluster) -> None:
    for name in ("one", "two"):
        cluster.submit(name, "a:0")
        cluster.where(name)
    assert {cluster.submit(name, "any:MI300X") and cluster.where(name) for name in "xyuv"} == {"a:1", "b:0"}


def test_the_same_user_gets_the_same_gpu_again_where_it_is_as_free_as_others(cluster: Cluster) -> None:
    first = cluster.submit("first", "any:MI300X", owner="bob")
    cluster.submit("other", "a:1", owner="ann")
    cluster.where("other")
    had = cluster.where("first")
    cluster.ends["first"].set()
    assert first.wait(AT_MOST_S)
    cluster.submit("again", "any:MI300X", owner="bob")
    assert cluster.where("again") == had


def test_a_gpu_that_is_not_ready_gets_none(cluster: Cluster) -> None:
    cluster.targets[1:4] = [gpu("a:0", ready=False), gpu("a:1"), gpu("b:0", ready=False)]
    for number in range(JOBS_PER_GPU):
        cluster.submit(str(number), "gfx942")
        assert cluster.where(str(number)) == "a:1"


@pytest.mark.parametrize(
    "error", [QuarantinedError("id", "a:0", "it is sick"), LostWorkerError("the worker of a was lost")]
)
def test_a_job_whose_gpu_fails_it_goes_on_with_another(cluster: Cluster, error: InfrastructureError) -> None:
    cluster.fails["a:0"] = error
    job = cluster.submit("first", "any:MI300X")
    wait_until(lambda: len(cluster.begun) == 2, "it begins on another GPU")
    assert [target for target, _ in cluster.begun] == ["a:0", "a:1"]
    cluster.ends["first"].set()
    assert job.wait(AT_MOST_S)
    assert job.status == "done"


def test_a_gpu_that_was_just_found_quarantined_draws_no_more_jobs_until_it_is_looked_at_again() -> None:
    now_s = [0.0]
    pools = Pools(lambda: [gpu("a:0"), gpu("a:1")], lambda: now_s[0])
    pools.look("any")
    pools.leave("a:0")
    pools.look("any")  # the list may be older than what the job found
    assert pools.members("any") == ("a:1",)
    now_s[0] = KEPT_OUT_S
    assert pools.members("any") == ("a:0", "a:1"), "released, or else the list says that it is not ready"


def test_a_job_that_no_gpu_of_its_pool_can_do_ends_with_the_reason(cluster: Cluster) -> None:
    cluster.fails = {name: QuarantinedError("id", name, "it is sick") for name in ("a:0", "a:1", "b:0")}
    job = cluster.submit("first", "any:MI300X")
    assert job.wait(AT_MOST_S)
    assert job.status == "failed"
    assert "it is sick" in str(job.error)
    assert len(cluster.begun) == 3


def test_a_pool_without_a_gpu_is_refused_at_once_and_no_emulator_takes_its_place(cluster: Cluster) -> None:
    with pytest.raises(UnknownTargetError, match="no GPU for 'any:MI355X'") as refused:
        cluster.submit("first", "any:MI355X")
    assert "emulator:gfx942" in str(refused.value.hint)
