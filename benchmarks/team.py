"""A team on eight GPUs: how busy they are, how fair the queue is, how soon a job starts. `make bench`.

100 agents of ten users, one of whom has 46, submit 2,000 jobs; each waits for its answer before it sends the next.
Store, queue, journal and leases are the real ones; a compile, the time on a GPU and the judging are waits of fixed
lengths. The anchor is the same with a queue that serves the first who came. The bars: GPUs busy 92 %, Jain index 0.95,
a start on an idle GPU within 20 ms (SQLite) and 50 ms (Postgres), 1,000 submits a second, memory flat within 10 %.
"""

import gc
import queue
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.jobs import fair_queue
from amdkernel_mcp.jobs import store as store_module
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.journal import Journal
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work
from tests.history.postgres import postgres_server

GPUS, JOBS = 8, 2000
AGENTS_OF = {"user 0": 46} | {f"user {number}": 6 for number in range(1, 10)}
COMPILE_S, JUDGE_S = 0.02, 0.02
MANY = Quotas(queued=100_000)


@dataclass
class Seen:
    """When which user's job was on which GPU."""

    spans: list[tuple[str, str, float, float]] = field(default_factory=list)

    def busy(self, until: float) -> float:
        """The share of the GPUs' time until then in which work was on them."""
        begun = min(start for _, _, start, _ in self.spans)
        worked = sum(min(end, until) - start for _, _, start, end in self.spans if start < until)
        return worked / (GPUS * (until - begun))

    def jain(self, until: float) -> float:
        """Jain's index of the users' seconds until then: 1 is equal, 1/10 is one user alone."""
        seconds = dict.fromkeys(AGENTS_OF, 0.0)
        for user, _, start, end in self.spans:
            seconds[user] += max(min(end, until) - start, 0.0)
        total = sum(seconds.values())
        return total**2 / (len(seconds) * sum(each**2 for each in seconds.values()))

    def overlaps(self) -> int:
        """How many jobs began on a GPU while another was on it."""
        on: dict[str, list[tuple[float, float]]] = {}
        for _, gpu, start, end in self.spans:
            on.setdefault(gpu, []).append((start, end))
        return sum(b[0] < a[1] for each in on.values() for a, b in zip(sorted(each), sorted(each)[1:], strict=False))


@contextmanager
def serving(settings: Settings, perform: Callable[[Request, Work], Answer]) -> Iterator[JobStore]:
    """A store of jobs on this database; what others left there is not its."""
    service: Any = str(settings.data_dir)
    store = JobStore(perform, 8, journal=lambda: Journal(settings, service), quotas=MANY)
    try:
        yield store
    finally:
        store.close()


def timing(leases: GpuLeases, seen: Seen) -> Callable[[Request, Work], Answer]:
    """Does a job: compile, hold the GPU, judge."""

    def perform(request: Request, work: Work) -> Answer:
        gpu = str(request.arguments["target"])
        time.sleep(COMPILE_S)
        with lease(leases, gpu, "exclusive", work):
            start = time.monotonic()
            time.sleep(float(request.arguments["seconds"]))
            end = time.monotonic()
        seen.spans.append((work.owner, gpu, start, end))
        time.sleep(JUDGE_S)
        return CheckResult(reason="done")

    return perform


def team(settings: Settings) -> tuple[float, float, int, float]:
    """GPUs busy, Jain index, overlaps, seconds."""
    chance, seen, leases = random.Random(18), Seen(), GpuLeases(settings)
    agents = [(user, f"gpu{number % GPUS}") for number, user in enumerate(_agents())]
    free: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    begun = time.monotonic()
    with serving(settings, timing(leases, seen)) as store:
        for agent in agents:
            free.put(agent)
        jobs = []
        for _ in range(JOBS):
            agent = free.get()
            given = {"target": agent[1], "seconds": chance.uniform(0.1, 0.3)}
            job = store.submit(agent[0], Request("benchmark", given))
            store.hand_out(job)
            store.on_end(job, lambda agent=agent: free.put(agent))  # type: ignore[misc]
            jobs.append(job)
        until = time.monotonic()  # from here on agents leave
        _wait(jobs)
    leases.close()
    return seen.busy(until), seen.jain(until), seen.overlaps(), time.monotonic() - begun


def _agents() -> list[str]:
    agents = [user for user, count in AGENTS_OF.items() for _ in range(count)]
    random.Random(1).shuffle(agents)
    return agents


def _wait(jobs: Iterable[Job]) -> None:
    for job in jobs:
        assert job.wait(600), job.status
        assert job.status == "done", job.error


def start_on_idle(settings: Settings, rounds: int = 60) -> list[float]:
    """Milliseconds from submit until the lease is held."""
    leases, held, took = GpuLeases(settings), threading.Event(), []

    def perform(_: Request, work: Work) -> Answer:
        with lease(leases, "gpu0", "exclusive", work):
            took.append(1000 * (time.monotonic() - submitted))
        held.set()
        return CheckResult(reason="done")

    with serving(settings, perform) as store:
        for _ in range(rounds):
            held.clear()
            submitted = time.monotonic()
            job = store.submit("ann", Request("benchmark", {"target": "gpu0"}))
            held.wait(60)
            job.wait(60)
    leases.close()
    return sorted(took)


def submits(settings: Settings, count: int = 3000) -> float:
    """Jobs that are accepted into the database in a second, by one process."""
    gate = threading.Event()

    def perform(_: Request, __: Work) -> Answer:
        gate.wait()
        return CheckResult(reason="done")

    with serving(settings, perform) as store:
        store.hand_out(store.submit("first", Request("check")))
        begun = time.monotonic()
        for number in range(count):
            store.hand_out(store.submit(f"user {number % 10}", Request("check", {"number": number})))
        took = time.monotonic() - begun
        gate.set()
    return count / took


def soak(settings: Settings, count: int = 10_000) -> tuple[float, float]:
    """MiB of this process after a tenth of the jobs, when as many are kept as ever are, and after all."""
    at_first = 0.0
    with serving(settings, lambda *_: CheckResult(reason="done")) as store:
        for number in range(count):
            job = store.submit(f"user {number % 2}", Request("check", {"number": number}))
            store.hand_out(job)
            assert job.wait(60)
            if number == count // 10:
                at_first = _resident()
        return at_first, _resident()


def _resident() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def first_come(waiting: Iterable[Job], _: object, __: object) -> list[Job]:
    """The anchor's queue."""
    return list(waiting)


def report(name: str, url: str | None, folder: Path) -> None:
    """The rows of one database."""

    def on(part: str) -> Settings:
        return load_settings({"data_dir": folder / name / part, "database": url}, {})

    took = start_on_idle(on("idle"))
    print(f"{name}: submit to start on an idle GPU, median {statistics.median(took):.1f} ms, p90 {took[-6]:.1f} ms")
    print(f"{name}: {submits(on('submits')):.0f} submits/s in one process")
    fair = fair_queue.in_order
    for label, order in (("fair", fair), ("first come", first_come)):
        vars(store_module)["in_order"] = order
        busy, jain, overlaps, seconds = team(on(label))
        print(
            f"{name}: {label:10}  GPUs busy {busy:.1%}, Jain index {jain:.3f}, two on one GPU {overlaps} times, "
            f"{JOBS} jobs in {seconds:.0f} s"
        )
    vars(store_module)["in_order"] = fair


def main() -> None:
    """All rows; `--quick` leaves Postgres out."""
    with tempfile.TemporaryDirectory() as folder:
        report("SQLite", None, Path(folder))
        first, last = soak(load_settings({"data_dir": Path(folder) / "soak"}, {}))
        grown = f"{last / first - 1:+.1%}"
        print(f"SQLite: 10,000 jobs, {first:.0f} MiB after 1,000 and {last:.0f} MiB at the end ({grown})")
        if "--quick" not in sys.argv:
            with postgres_server() as url:
                report("Postgres", url, Path(folder))


if __name__ == "__main__":
    main()
