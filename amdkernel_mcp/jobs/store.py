"""The threads that do jobs; waiting for them and cancelling them.

With a journal, a job that a caller knows survives this process: the next server does it. Without one jobs are in this
process alone. A database that is away for a while costs time: what needs it is tried again for AWAY_S.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp import tracing
from amdkernel_mcp.cancellation import CancelledWorkError
from amdkernel_mcp.errors import AmdkernelError, DatabaseError, JobError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.hardware.pool import is_pool
from amdkernel_mcp.jobs.away import AwayHosts, waiting_for
from amdkernel_mcp.jobs.emulated_today import EmulatedToday
from amdkernel_mcp.jobs.ended import DrainingError, said, where_raised
from amdkernel_mcp.jobs.expected_wait import ExpectedWaits
from amdkernel_mcp.jobs.fair_queue import Usage, in_order
from amdkernel_mcp.jobs.futures import Queue
from amdkernel_mcp.jobs.job import FINISHED, Job, new_id
from amdkernel_mcp.jobs.journal import MOST_TRIES, RENEW_S, Journal, StoredJob, as_job
from amdkernel_mcp.jobs.lanes import Lanes
from amdkernel_mcp.jobs.overview import Overview, Place
from amdkernel_mcp.jobs.pools import Pools
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.jobs.request import Answer, Perform, Request, is_emulator, is_gpu
from amdkernel_mcp.leases.gpu_health import QuarantinedError
from amdkernel_mcp.leases.held import LeaseLostError

if TYPE_CHECKING:
    from pathlib import Path

    from amdkernel_mcp.results.job_answer import JobStatus

_log = logging.getLogger(__name__)

KEPT_S = 3600.0  # in this process; the journal keeps them for days
KEPT_JOBS = 200
AWAY_S = 60.0
"""For which a database may be away while a job runs that it knows."""
ACCEPTED_WITHIN_S = 10.0
AGAIN_S = 0.5


class JobStore:
    """All jobs of this process. Thread-safe; an owner sees only its own jobs."""

    def __init__(
        self,
        perform: Perform,
        workers: int,
        *,
        journal: Callable[[], Journal] | None = None,
        quotas: Quotas | None = None,
        gpu_seconds: Callable[[str], tuple[float, float]] = lambda _: (0.0, 0.0),
        default_target: str = "emulator",
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[[Job], None] = lambda _: None,
        away: AwayHosts | None = None,
        pools: Pools | None = None,
        emulated: Path | None = None,
    ) -> None:
        """`workers`: jobs at a time on the emulator, and again for compiles: a compile never waits behind a target.
        Each GPU has some besides: lanes.py. `journal`: opens it, in the background; None: jobs are in this process
        alone. `gpu_seconds`: what a user has used, see GpuLeases.used_s; it may wait for a database. `watch`
        is called with each job that has ended, under the lock. `away`: the hosts whose workers were lost.
        `pools`: the GPUs of targets such as `any`. `emulated`: the file of EmulatedToday."""
        self._perform = perform
        self._workers = workers
        self._quotas = quotas or Quotas()
        self._gpu_seconds = gpu_seconds
        self._default_target = default_target
        self._clock = clock
        self._watch = watch
        self._away = away or AwayHosts()
        self._pools = pools or Pools()
        self._lanes = Lanes(workers, self._pools, self._away, self._quotas)
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._waiting: dict[str, list[Job]] = {}  # by lane; the jobs in the order in which they came
        self._queued: Counter[str] = Counter()  # by owner
        self._ended: dict[str, deque[Job]] = {}  # by owner; the oldest first
        self._running: list[Job] = []
        self._usage, self._emulated = Usage(clock), EmulatedToday(clock, emulated)
        self._waits = ExpectedWaits(clock)
        self._closed = threading.Event()
        self._drained_by_s: float | None = None  # until when a server that drains finishes what runs
        self._idle = threading.Condition(self._lock)
        self._opened = threading.Event()
        self._journal: Journal | None = None
        if journal is None:
            self._opened.set()
        else:
            threading.Thread(target=self._keep, args=(journal,), name="journal", daemon=True).start()

    def check_time_quota(self, owner: str, request: Request) -> None:
        """Raises QuotaError when the owner has used up its time on GPUs or emulators, DatabaseError."""
        lane, mine = request.lane(self._default_target), self._quotas.of_user(owner)
        if mine.gpu_seconds_a_day and is_gpu(lane):
            mine.check_gpu_seconds(*self._gpu_seconds(owner))
        if is_emulator(lane):
            with self._lock:
                used = self._emulated.of(owner, self._running)
            mine.check_emulator_seconds(*used)

    def emulated_s(self, owner: str) -> float:
        """Seconds of the owner's ended jobs on emulators, in the last 24 hours."""
        with self._lock:
            return self._emulated.of(owner, ())[0]

    def look_for_gpus(self, request: Request) -> None:
        """Learn which GPUs a pool has now; may take seconds. Raises UnknownTargetError where it has none."""
        if is_pool(lane := request.lane(self._default_target)):
            self._pools.look(lane)

    def submit(self, owner: str, request: Request) -> Job:
        """A new job. Raises QuotaError when too many jobs of its owner wait, DrainingError."""
        lane = request.lane(self._default_target)
        self._quotas.check_reserved(owner, lane, self._pools.members(lane) if is_pool(lane) else [lane])
        job = Job(new_id(), owner, request, lane=lane, accepted_s=self._clock())
        job.pool = lane if is_pool(lane) else None
        with self._lock:
            if self._closed.is_set():
                raise JobError("the server is shutting down")
            if self._drained_by_s is not None:
                raise DrainingError(max(self._drained_by_s - time.monotonic(), 0.0))
            self._forget_old_jobs()
            self._check_queued(owner)
            self._jobs[job.id] = job
            self._enqueue(job)
            self._start_waiting(job.lane)
        return job

    def _check_queued(self, owner: str) -> None:
        """Raises QuotaError. Called under the lock."""
        if self._queued[owner] < self._quotas.of_user(owner).queued:
            return
        mine = next(job for lane in self._waiting.values() for job in lane if job.owner == owner)
        first = self._waits.of(self._queue(mine.lane)).get(mine.id)
        self._quotas.of_user(owner).check_queued(self._queued[owner], None if first is None else first.expected_s)

    def _enqueue(self, job: Job, *, first: bool = False) -> None:
        lane = self._waiting.setdefault(job.lane, [])
        lane.insert(0 if first else len(lane), job)
        self._queued[job.owner] += 1
        self._waits.came(job)

    def _dequeue(self, job: Job) -> None:
        self._waiting[job.lane].remove(job)
        self._queued[job.owner] -= 1

    def hand_out(self, job: Job) -> bool:
        """The caller is given the job's id: from now on it outlives this process. False: it does not."""
        journal = self._open_journal()
        if journal is None or job.fence is not None:
            return job.fence is not None
        if not self._accepted(journal, job):
            return False
        with self._lock:
            job.fence, status = 1, job.status
        if status == "running":
            self._note(job, lambda known: known.begin(job))
        elif status == "queued" and job.tries:
            self._note(job, lambda known: known.hand_back(job))
        elif status != "queued":
            self._stored(job, status)
        return True

    def _accepted(self, journal: Journal, job: Job) -> bool:
        """Store a new job, not under the lock: a busy database must not hold up others."""
        until_s = time.monotonic() + ACCEPTED_WITHIN_S
        while not self._closed.is_set():
            with contextlib.suppress(DatabaseError):
                journal.accept(job)
                return True
            if job.status in FINISHED or time.monotonic() > until_s:
                break
            self._closed.wait(AGAIN_S)
        return False

    def find(self, job_id: str, owner: str | None) -> Job:
        """The job, from this process or from the journal. `owner` None: anyone's, for an admin who ends it.
        Raises JobError when there is none of this owner."""
        with self._lock:
            self._forget_old_jobs()
            job = self._jobs.get(job_id)
        if job is None and (journal := self._open_journal()) and (stored := journal.find(job_id, owner)):
            job = as_job(stored)
            job.elsewhere = True
        if job is None or owner not in (None, job.owner):
            raise JobError(f"there is no job {job_id!r}", hint="list_jobs lists yours; or call its tool again")
        return job

    def list(self, owner: str | None, limit: int, attempt: str | None = None) -> list[Job]:
        """The newest jobs of an owner, None: of all; here and in the journal. `attempt`: only the one that made it."""
        with self._lock:
            here = {job.id: job for job in reversed(self._jobs.values()) if owner in (None, job.owner)}
        stored = journal.list(owner, limit, attempt) if (journal := self._open_journal()) else []
        found = [*here.values(), *(as_job(each) for each in stored if each.id not in here)]
        made = [job for job in found if attempt is None or (job.answer and job.answer.attempt == attempt)]
        return sorted(made, key=lambda job: -job.created_s)[:limit]

    def place(self, job: Job) -> Place | None:
        """Where a waiting job stands; None once it runs."""
        with self._lock:
            queue = self._queue(job.lane)
        return self._places(queue).get(job)

    def overview(self) -> Overview:
        """What runs and what waits, of all owners."""
        with self._lock:
            queues = [self._queue(lane) for lane, jobs in self._waiting.items() if jobs]
            running, now_s = tuple(self._running), self._clock()
            draining = self._closed.is_set() or self._drained_by_s is not None
        waiting = tuple(each for queue in queues for each in self._places(queue).items())
        return Overview(running, waiting, now_s, self._workers, draining)

    def _queue(self, lane: str) -> Queue:
        """A lane now. Called under the lock."""
        lanes = self._lanes.same_gpus(lane, self._waiting)
        return self._lanes.queue(lane, self._in_order(*lanes), self._running, self._usage, self._clock(), lanes)

    def _in_order(self, *lanes: str) -> Sequence[Job]:
        waiting = [job for lane in lanes for job in self._waiting.get(lane, ())]
        return in_order(waiting, self._running, self._usage, self._quotas.priority_of)

    def _places(self, queue: Queue) -> dict[Job, Place]:
        """Its waiting jobs. Takes milliseconds: not under the lock."""
        waits = self._waits.of(queue)
        busy = Counter(job.owner for job, is_here in queue.running if is_here)
        numbers = ((number, job) for number, job in enumerate(queue.waiting, 1) if job.lane == queue.lane)
        return {job: Place(number, waits.get(job.id), busy) for number, job in numbers}

    def cancel(self, job: Job) -> None:
        """End a queued job at once and a running one within a second; a finished job stays as it is."""
        with self._lock:
            if job.status == "queued" and job in self._waiting.get(job.lane, ()):
                self._dequeue(job)
                self._waits.left(job)
                self._end(job, "cancelled")
        job.cancellation.cancel()
        with contextlib.suppress(DatabaseError):
            if job.fence is not None and self._journal and (job.elsewhere or job.begun_s is None):
                self._journal.cancel(job.id, job.owner)

    def drain(self, grace_s: float) -> None:
        """Take no new work, start nothing that waits, and wait until nothing runs, for at most `grace_s`."""
        until_s = time.monotonic() + grace_s
        with self._idle:
            self._drained_by_s = until_s
            self._idle.wait_for(lambda: not self._running, grace_s)

    def close(self) -> None:
        """Stop everything without waiting. Jobs that callers know go back to the journal, the others are cancelled."""
        with self._lock:
            self._closed.set()
            waiting = [job for lane in self._waiting.values() for job in lane]
            self._waiting.clear()
            self._queued.clear()
            handed_back = [job for job in self._jobs.values() if job.fence is not None and job.status not in FINISHED]
            for job in waiting:
                if job not in handed_back:
                    self._end(job, "cancelled")
            for job in handed_back:
                job.fence = None  # what this process still finds out about it is not stored
                self._end(job, "cancelled")
        for job in [*self._running]:
            job.cancellation.cancel()
        if self._journal:
            self._journal.close()

    def on_end(self, job: Job, call: Callable[[], None]) -> None:
        """Call `call` once, from any thread, when the job has ended; at once if it has ended already."""
        with self._lock:
            if not job.ended.is_set():
                job.listeners.append(call)
                return
        call()

    def _start_waiting(self, *lanes: str) -> None:
        """Start what may start in these lanes, or in all. Called under the lock. Each job has a daemon thread of its
        own: work that hangs cannot keep the process alive after `close`."""
        if self._drained_by_s is not None:
            return
        open_lanes = (lane for lane in lanes or [*self._waiting] if self._waiting.get(lane))
        lines = [deque(self._in_order(lane)) for lane in open_lanes if not self._lanes.is_full(lane, self._running)]
        while (found := self._lanes.next_start(lines, self._running, self._usage, self._clock())) is not None:
            self._start(*found)

    def _start(self, job: Job, place: str) -> None:
        """`place`: a lane; of a job for a pool the GPU."""
        self._dequeue(job)
        if job.pool is not None:
            job.lane = self._lanes.had_last[job.owner, job.pool] = place
        self._running.append(job)
        self._waits.started(job)
        job.status, job.begun_s = "running", self._clock()
        job.tries += 1
        threading.Thread(target=self._work, args=(job,), name=job.id, daemon=True).start()

    def _work(self, job: Job) -> None:
        status: JobStatus = "done"
        try:
            self._note(job, lambda journal: journal.begin(job))
            with (
                tracing.below(job.work.trace),
                tracing.span("job", job=job.id, verb=job.request.verb, lane=job.lane),
            ):
                job.cancellation.check()
                job.answer = self._answer(job)
        except CancelledWorkError:
            status = "cancelled"
        except (LostWorkerError, QuarantinedError) as error:
            if self._handed_back(job, error):
                return
            status = "cancelled" if job.cancellation.asked else "failed"
        except BaseException as error:  # not swallowed: get_job raises it
            job.error = error
            status = "failed"
            if not isinstance(error, AmdkernelError):
                _log.error("%s failed: %s", job.id, where_raised(error))
        while True:
            fence = job.fence
            counts = self._stored(job, status)  # stored, then announced
            with self._lock:
                if job.fence is not None and fence is None:
                    continue  # it was handed out meanwhile
                self._running.remove(job)
                self._idle.notify_all()
                if job.status not in FINISHED:
                    if counts:
                        self._end(job, status)
                    else:
                        self._leave(job)
                self._start_waiting()
                return

    def _answer(self, job: Job) -> Answer:
        """The answer of the work. What ended because the lease or the database was gone is done again."""
        until_s: float | None = None
        while True:
            try:
                asked = job.request if job.pool is None else job.request.on(job.lane)
                with self._quotas.of_user(job.owner).time_limit(job.cancellation):
                    return self._perform(asked, job.work)
            except (LeaseLostError, DatabaseError):
                until_s = until_s or time.monotonic() + AWAY_S
                if job.fence is None or time.monotonic() > until_s or self._closed.wait(AGAIN_S):
                    raise
            job.cancellation.check()

    def _handed_back(self, job: Job, error: LostWorkerError | QuarantinedError) -> bool:
        """Put a job whose worker was lost back into its lane; a job of a pool takes another GPU of it, also where its
        GPU was quarantined. False: it ends, with its error."""
        lost = job.lane
        if job.pool is not None:
            job.avoided.add(lost)
            if isinstance(error, QuarantinedError):
                self._pools.leave(lost)
            others = {*self._pools.members(job.pool)} - job.avoided
            job.error = None if others and job.tries < MOST_TRIES else error
        elif isinstance(error, QuarantinedError):
            job.error = error
        else:
            job.tries += max(error.begun - 1, 0)  # the first of them was counted when the job began
            job.error = self._away.what_follows(job, error, self._clock())
        if job.error is None:
            self._note(job, lambda journal: journal.hand_back(job))
        with self._lock:
            if job.error is not None or job.cancellation.asked or self._closed.is_set():
                return False
            self._running.remove(job)
            self._idle.notify_all()
            job.status, job.begun_s, job.lane = "queued", None, job.pool or job.lane
            job.progress = f"{lost} was lost while this ran: waiting for another GPU" if job.pool else waiting_for(job)
            self._enqueue(job, first=True)
            self._start_waiting()
        _log.info("%s waits again: %s", job.id, error.message)
        return True

    def _stored(self, job: Job, status: JobStatus) -> bool:
        """Store how the job ended. False: another process has it or has cancelled it, and this result counts for
        nothing."""
        until_s = time.monotonic() + AWAY_S
        while job.fence is not None and self._journal and not self._closed.is_set():
            try:
                return self._journal.end(job, status, said(job.error))
            except ValueError:  # text that JSON cannot have
                break
            except DatabaseError:
                if time.monotonic() > until_s:
                    break
            self._closed.wait(AGAIN_S)
        return True

    def _leave(self, job: Job) -> None:
        """From now on the journal says what becomes of it. Called under the lock."""
        job.elsewhere, job.answer, job.error = True, None, None
        if self._jobs.get(job.id) is job:
            del self._jobs[job.id]
        self._announce(job)

    def _note(self, job: Job, write: Callable[[Journal], object]) -> None:
        """Write about a job that the journal knows. A database that fails costs the survival, not the job."""
        if job.fence is not None and self._journal:
            with contextlib.suppress(DatabaseError, ValueError):  # ValueError: text that JSON cannot have
                write(self._journal)

    def _end(self, job: Job, status: JobStatus) -> None:
        """Called under the lock."""
        job.status = status
        job.finished_s = self._clock()
        self._ended.setdefault(job.owner, deque()).append(job)
        if job.begun_s is not None:
            seconds = job.finished_s - job.begun_s
            self._usage.add(job.owner, job.work.used.gpu_s if is_gpu(job.lane) else seconds)
            self._waits.ended(job, seconds)
            self._emulated.add(job, seconds)
        self._watch(job)
        self._announce(job)

    def _announce(self, job: Job) -> None:
        """Called under the lock."""
        job.ended.set()
        for call in job.listeners:
            call()
        job.listeners.clear()

    def _forget_old_jobs(self) -> None:
        """Each owner's own: the results of one user never make room for those of another."""
        for finished in self._ended.values():
            while finished and (len(finished) > KEPT_JOBS or self._clock() - (finished[0].finished_s or 0.0) > KEPT_S):
                oldest = finished.popleft()
                if self._jobs.get(oldest.id) is oldest:  # another process may have had it, and this one has it again
                    del self._jobs[oldest.id]

    def _open_journal(self) -> Journal | None:
        self._opened.wait(10)
        return None if self._closed.is_set() else self._journal

    def _keep(self, open_journal: Callable[[], Journal]) -> None:
        """Open the journal; then, as long as this process lives, renew leases and take over what others left."""
        while self._journal is None and not self._closed.is_set():
            try:
                self._journal = open_journal()
            except AmdkernelError:  # until then jobs are in this process alone; the answers say so
                self._opened.set()
                self._closed.wait(RENEW_S)
        self._opened.set()
        while self._journal and not self._closed.is_set():
            with contextlib.suppress(DatabaseError):
                with self._lock:
                    known = [job for job in self._jobs.values() if job.fence is not None and job.status not in FINISHED]
                    pools = [lane for lane, jobs in self._waiting.items() if jobs and is_pool(lane)]
                still_ours = self._journal.renew()
                self._give_up([job for job in known if (job.id, job.fence) not in still_ours])
                self._look_again(pools)
                self._adopt(self._journal.take_over())
            self._closed.wait(RENEW_S)

    def _give_up(self, lost: Sequence[Job]) -> None:
        """Work no longer on jobs that another process has by now, or has cancelled."""
        with self._lock:
            for job in lost:
                if job.status == "queued" and job in self._waiting.get(job.lane, ()):
                    self._dequeue(job)
                    self._leave(job)
        for job in lost:
            job.cancellation.cancel()

    def _look_again(self, pools: Sequence[str]) -> None:
        """Start what waits for a pool that has other GPUs by now, or for the end of a reservation."""
        for pool in pools:
            with contextlib.suppress(AmdkernelError):
                self._pools.look(pool)
        if pools or self._quotas.when:
            with self._lock:
                self._start_waiting(*(() if self._quotas.when else pools))

    def _adopt(self, stored: Sequence[StoredJob]) -> None:
        for lane in {each.request.lane(self._default_target) for each in stored}:
            with contextlib.suppress(AmdkernelError):  # they wait; the next look may find one
                if is_pool(lane):
                    self._pools.look(lane)
        with self._lock:
            for each in stored:
                job = as_job(each)
                job.lane, job.accepted_s = job.request.lane(self._default_target), self._clock()
                job.pool = job.lane if is_pool(job.lane) else None
                self._jobs[job.id] = job
                self._enqueue(job)
            self._start_waiting()
