"""How many jobs run at a time: on the emulator, of compiles, on each GPU; and which GPU of a pool a job gets."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amdkernel_mcp.hardware.pool import is_pool
from amdkernel_mcp.jobs.away import host_of
from amdkernel_mcp.jobs.fair_queue import rank
from amdkernel_mcp.jobs.futures import Queue
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.jobs.request import is_gpu

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.away import AwayHosts
    from amdkernel_mcp.jobs.fair_queue import Usage
    from amdkernel_mcp.jobs.job import Job
    from amdkernel_mcp.jobs.pools import Pools

JOBS_ON_SLURM = 32  # Slurm has the queue for the GPUs; these are threads that wait for it
JOBS_PER_GPU = 3  # one compiles, one holds the GPU, the outputs of one are judged


@dataclass(frozen=True)
class Lanes:
    """The room in each lane. Not thread-safe: the store has a lock. `running`: the jobs that run now."""

    workers: int
    pools: Pools
    away: AwayHosts
    quotas: Quotas = field(default_factory=Quotas)
    had_last: dict[tuple[str, str], str] = field(default_factory=dict)
    """By owner and pool: the GPU of the newest job."""

    def width(self, lane: str) -> int:
        """How many jobs of a lane run at the same time."""
        if is_pool(lane):
            return max(1, sum(self.width(gpu) for gpu in self.pools.members(lane)))
        if lane.startswith("slurm:"):
            return JOBS_ON_SLURM
        return JOBS_PER_GPU if is_gpu(lane) else self.workers

    def is_full(self, lane: str, running: Sequence[Job]) -> bool:
        """For everyone. A GPU has leases for what `has_room` says, and a single worker was wished for."""
        if is_pool(lane):
            return all(self.is_full(gpu, running) for gpu in self.pools.members(lane))
        owners = _owners(lane, running)
        return len(owners) >= self.width(lane) + (self.has_one_more(lane) and len({*owners}) == 1)

    def has_one_more(self, lane: str) -> bool:
        """Whether a job of another user starts where all workers run jobs of one."""
        return not is_gpu(lane) and self.width(lane) > 1

    def same_gpus(self, lane: str, lanes: Iterable[str]) -> Sequence[str]:
        """The lane, and those of `lanes` whose jobs can only run on GPUs of this one: `any`, `gfx942` and `any:MI300X`
        may be three names of the same."""
        here = {*self._gpus(lane)}
        return lane, *(each for each in lanes if each != lane and (gpus := {*self._gpus(each)}) and gpus <= here)

    def _gpus(self, lane: str) -> Sequence[str]:
        return self.pools.members(lane) if is_pool(lane) else (lane,) if is_gpu(lane) else ()

    def next_start(
        self, lines: Sequence[deque[Job]], running: Sequence[Job], usage: Usage, now_s: float
    ) -> tuple[Job, str] | None:
        """Which job starts next, and where; None: no more. `lines`: of each lane its waiting jobs in their order;
        the job is taken from its line, and so are those that may not start now. Of the first of the lines it is the one
        whose user is next: users take turns though they name the same GPUs differently."""
        heads: list[tuple[deque[Job], str]] = []
        for line in lines:
            while line:
                if (place := self._place_for(line[0], running, now_s)) is not None:
                    heads.append((line, place))
                    break
                line.popleft()
        busy = Counter(job.owner for job in running)

        def turn(head: tuple[deque[Job], str]) -> tuple[float, ...]:
            owner = head[0][0].owner
            return -self.quotas.priority_of(owner), busy[owner], usage.of(owner), rank(head[0][0])

        if not heads:
            return None
        line, place = min(heads, key=turn)
        return line.popleft(), place

    def _place_for(self, job: Job, running: Sequence[Job], now_s: float) -> str | None:
        """The lane in which a waiting job may start now."""
        if not self.quotas.may_run_one_more(job.owner, running):
            return None
        if job.pool is not None:
            return self.gpu_for(job, running)
        return job.lane if self.has_room(job, running) and not self.away.holds(job, now_s) else None

    def queue(
        self,
        lane: str,
        waiting: Sequence[Job],
        running: Sequence[Job],
        usage: Usage,
        now_s: float,
        lanes: Sequence[str] = (),
    ) -> Queue:
        """A lane at one moment. `waiting`: in the order in which they will run; of all `lanes`, see `same_gpus`."""
        here = self.pools.members(lane) if is_pool(lane) else (lane,)
        return Queue(
            lane,
            waiting,
            [(job, job.lane in here) for job in running],
            self.width(lane),
            self.has_one_more(lane),
            self.quotas,
            {owner: usage.of(owner) for owner in {job.owner for job in (*waiting, *running)}},
            now_s,
            lanes,
        )

    def has_room(self, job: Job, running: Sequence[Job]) -> bool:
        """Where all workers of a lane run jobs of one user, a job of another still starts: long jobs of one user
        do not hold up others."""
        if not self.quotas.may_use(job.owner, job.lane):  # a reservation has begun since the job was accepted
            return False
        owners = _owners(job.lane, running)
        room = len(owners) < self.width(job.lane) or job.owner not in owners
        return room and not self.is_full(job.lane, running)

    def gpu_for(self, job: Job, running: Sequence[Job]) -> str | None:
        """The GPU of the job's pool with the fewest jobs; of equals the one that its owner had last, whose noise is
        known. None where none has room."""
        pool = job.pool or job.lane
        free = [
            gpu
            for gpu in self.pools.members(pool)
            if gpu not in job.avoided
            and self.quotas.may_use(job.owner, gpu)
            and not self.is_full(gpu, running)
            and self.away.seconds(host_of(gpu)) is None
        ]
        last = self.had_last.get((job.owner, pool))
        return min(free, key=lambda gpu: (len(_owners(gpu, running)), gpu != last), default=None)


def _owners(lane: str, running: Sequence[Job]) -> Sequence[str]:
    return [job.owner for job in running if job.lane == lane]
