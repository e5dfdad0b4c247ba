"""A team's day on a pool: two users, 40 jobs of mixed verbs, four GPUs, one slow and one sick.

Store, queue, pools, leases and the looks at GPUs are the real ones; a compile, a launch and the judging are waits. The
sick GPU fails the kernel with a known answer, the slow one takes four times as long. The question: is each healthy GPU,
the slow one included, busy until nothing waits any more?
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.gpu_idle import GpuState
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.pools import Pools
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases, Kind
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.leases.hygiene import Hygiene
from amdkernel_mcp.results.kernels import Clocks, CompileResult
from amdkernel_mcp.results.machine import TargetInfo
from amdkernel_mcp.work import Work

HEALTHY, SLOW, SICK = ("a:0", "b:1"), "a:1", "b:0"
GPUS = (*HEALTHY, SLOW, SICK)
SLOWER = 4.0
MIXED: Sequence[tuple[str, float, Kind, float, float]] = (
    # verb, seconds of compiling, lease, seconds on a GPU, seconds of judging
    ("check", 0.5, "shared", 0.6, 0.4),
    ("benchmark", 0.6, "exclusive", 1.2, 0.3),
    ("profile", 0.4, "exclusive", 2.0, 0.3),
    ("check", 0.3, "shared", 1.0, 0.2),
    ("benchmark", 0.4, "exclusive", 0.8, 0.3),
)
JOBS = 40


@dataclass
class Trial:
    """What was seen. Times are seconds of this process's clock."""

    scale: float
    leased: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {gpu: [] for gpu in GPUS})
    bound: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {gpu: [] for gpu in GPUS})
    jobs: list[Job] = field(default_factory=list)
    begun_s: float = 0.0
    empty_s: float = 0.0
    ended_s: float = 0.0

    def share(self, gpu: str, spans: dict[str, list[tuple[float, float]]]) -> float:
        """Of the time from the first job until nothing waited: how much of it was within these spans."""
        covered, until = 0.0, self.begun_s
        for start, end in sorted(spans[gpu]):
            start, end = max(start, until), min(end, self.empty_s)
            if end > start:
                covered += end - start
                until = end
        return covered / (self.empty_s - self.begun_s)

    def report(self) -> Iterator[str]:
        """A line for each GPU, and one for the whole."""
        for gpu in GPUS:
            kind = "slow" if gpu == SLOW else "sick" if gpu == SICK else "healthy"
            yield (
                f"{gpu} ({kind:7}) {len(self.bound[gpu]):3} jobs; has jobs {self.share(gpu, self.bound):6.1%}, "
                f"is leased {self.share(gpu, self.leased):6.1%} of the time until nothing waited"
            )
        waited, rest = (self.empty_s - self.begun_s) / self.scale, (self.ended_s - self.empty_s) / self.scale
        done = sum(job.status == "done" for job in self.jobs)
        yield f"{done} of {len(self.jobs)} done; {waited:.1f} s until nothing waited, {rest:.1f} s more until the end"


class _Machine:
    """The work of a job."""

    def __init__(self, leases: GpuLeases, trial: Trial) -> None:
        self.leases, self.trial = leases, trial
        self.hygiene = {
            gpu: Hygiene(
                *(leases, f"id of {gpu}", gpu, lambda: STATE),
                lambda gpu=gpu: "a kernel gave a wrong answer" if gpu == SICK else None,
            )
            for gpu in GPUS
        }

    def targets(self) -> list[TargetInfo]:
        """As a server lists them."""
        known = {"arch": "gfx942", "gpu": "MI300X", "rocm": None, "default": False, "ready": True}
        return [TargetInfo(name=gpu, kind="gpu", **known) for gpu in GPUS]  # type: ignore[arg-type]

    def perform(self, request: Request, work: Work) -> Answer:
        gpu, number = str(request.arguments["target"]), int(request.arguments["number"])
        _, compiling, kind, on_gpu, judging = MIXED[number % len(MIXED)]
        start = time.monotonic()
        try:
            self._wait(compiling)
            with lease(self.leases, f"id of {gpu}", kind, work, name=gpu) as (asked, held):
                begun = time.monotonic()
                with self.hygiene[gpu].watched(asked, held):
                    self._wait(on_gpu * (SLOWER if gpu == SLOW else 1.0))
                self.trial.leased[gpu].append((begun, time.monotonic()))
            self._wait(judging)
        finally:
            self.trial.bound[gpu].append((start, time.monotonic()))
        return CompileResult(ok=True)

    def _wait(self, seconds: float) -> None:
        time.sleep(seconds * self.trial.scale)


STATE = GpuState(
    busy_percent=0, vram_used_bytes=0, unique_id="1", driver="6", processes=(), clocks=Clocks(), suspended=False,
    display=False,
)  # fmt: skip


@contextmanager
def _store(folder: Path, trial: Trial) -> Iterator[JobStore]:
    leases = GpuLeases(load_settings({"data_dir": folder}, {}))
    machine = _Machine(leases, trial)
    store = JobStore(machine.perform, 2, pools=Pools(machine.targets), quotas=Quotas(queued=JOBS))
    try:
        yield store
    finally:
        store.close()
        leases.close()


def run_trial(folder: Path, *, scale: float = 1.0, seed: int = 1) -> Trial:
    """Ann sends 26 jobs at once, and bob 14; `scale`: of all times."""
    trial = Trial(scale)
    numbers = list(range(JOBS))
    random.Random(seed).shuffle(numbers)
    with _store(folder, trial) as store:
        trial.begun_s = time.monotonic()
        for at, number in enumerate(numbers):
            request = Request(MIXED[number % len(MIXED)][0], {"target": "any:MI300X", "number": number})
            store.look_for_gpus(request)
            trial.jobs.append(store.submit("user:bob" if at % 3 == 2 else "user:ann", request))
        while any(job.status == "queued" for job in trial.jobs):
            threading.Event().wait(0.01)
        trial.empty_s = time.monotonic()
        for job in trial.jobs:
            assert job.wait(600), job.progress
        trial.ended_s = time.monotonic()
    return trial
