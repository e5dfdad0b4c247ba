"""Gets a GPU from Slurm: submits the worker of a session, waits until it has come, and ends its job afterwards."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amdkernel_mcp.cancellation import Cancellation
from amdkernel_mcp.config import SlurmSettings
from amdkernel_mcp.execution.gpus import Gpu
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.slurm.batch_script import batch_script, sbatch_options
from amdkernel_mcp.slurm.commands import Comment, NoAnswerError, Slurm, SlurmError, SlurmJob, SlurmNode
from amdkernel_mcp.slurm.listing import SharedListing
from amdkernel_mcp.slurm.reconcile import Decision, Submission, decide, is_over, not_wanted
from amdkernel_mcp.work import Work, cancelled_by

if TYPE_CHECKING:
    from amdkernel_mcp.workers.hub import Arrival, WorkerHub

_log = logging.getLogger(__name__)


LOOK_S = 0.2
FIRST_LISTING_S, LONGEST_LISTING_S = 1.0, 10.0
"""Between two looks at the queue: a job that is not confirmed is looked up again within 10 s."""
NO_CONTROLLER_S = 600.0
"""For which a controller that does not answer is waited for."""
IDLE_S = 10.0
"""For which a GPU is kept for the next run of the same user."""
REUSED_S = 120.0
"""A GPU that is held for so long goes back after the run that it has: others wait for it in Slurm's queue."""
ENDING_S = 60.0
"""For a job whose worker was lost to say how it ended: until its epilog is over it does not."""
LEAVES_S = 10.0
"""For a worker to go by itself when its session is over; then its job gets SIGTERM, and LEAVES_S later it is ended."""


@dataclass(eq=False)
class Allocation:
    """A GPU of a node, and the worker there."""

    submission: Submission
    sandbox: Sandbox
    gpu: Gpu
    session: ExitStack
    begun_s: float
    idle: threading.Timer | None = field(default=None)

    @property
    def is_alive(self) -> bool:
        """Whether its worker is connected."""
        return self.sandbox.is_connected()


class Allocations:
    """The GPUs that this process has from one cluster. Thread-safe."""

    def __init__(
        self,
        settings: SlurmSettings,
        slurm: Slurm,
        workers: WorkerHub,
        *,
        holder: str,
        is_dead: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`holder`, `is_dead`: this process's name, and whether one of that kind has ended; see `database.holder`."""
        self._settings = settings
        self._slurm = slurm
        self._workers = workers
        self._holder = holder
        self._is_dead = is_dead
        self._clock = clock
        self._listing = SharedListing(slurm.jobs, clock)
        self._lock = threading.Lock()
        self._wanted: dict[str, int] = {}  # the fence of each key that is in use
        self._ending: set[str] = set()  # keys whose jobs may go by themselves
        self._idle: dict[tuple[str, str], list[Allocation]] = {}  # by arch and user
        self._closed = threading.Event()

    @contextmanager
    def borrowed(self, arch: str, work: Work) -> Iterator[Allocation]:
        """A block in which `work` has a GPU alone. Raises SlurmError, CancelledWorkError, and what its
        sandbox raises."""
        allocation = self._take_idle(arch, work.owner) or self._allocate(arch, work)
        try:
            yield allocation
        except BaseException:
            self._end(allocation, at_once=True)
            raise
        self._give_back(allocation, arch, work.owner)

    def check_not_cancelled(self, allocation: Allocation, work: Work) -> None:
        """After its worker was lost: raises SlurmError where its job was cancelled in Slurm, so that an administrator
        ends the work and not only its first try. Also raises CancelledWorkError."""
        mine, begun_s = allocation.submission, self._clock()
        while self._clock() - begun_s < ENDING_S:
            with suppress(NoAnswerError):
                jobs = [job for job in self._listed(begun_s) if job.comment.key == mine.key]
                states = {job.state for job in jobs if job.comment.fence == mine.fence}
                if "CANCELLED" in states:
                    raise SlurmError("its job was cancelled in Slurm while it ran, not by this server")
                if "COMPLETING" not in states:
                    return
            work.cancellation.check()
            time.sleep(1.0)

    def close(self) -> None:
        """End all sessions, and their jobs."""
        self._closed.set()
        with self._lock:
            idle = [each for kept in self._idle.values() for each in kept]
            self._idle.clear()
            self._wanted.clear()
            self._ending.clear()
        for allocation in idle:
            if allocation.idle:
                allocation.idle.cancel()
            allocation.session.close()
        with suppress(SlurmError):
            self._end_unwanted(self._slurm.jobs())

    def _allocate(self, arch: str, work: Work) -> Allocation:
        mine = Submission(secrets.token_hex(8), fence=1)
        session = ExitStack()
        try:
            while True:
                with self._lock:
                    self._wanted[mine.key] = mine.fence
                worker_key = f"{mine.key}.{mine.fence}.{secrets.token_hex(16)}"
                arrival = session.enter_context(self._workers.expected(worker_key))
                self._submit(mine, arch, work, worker_key)
                came = self._until_it_comes(mine, arrival, lambda: self._take_idle(arch, work.owner), work)
                if isinstance(came, Allocation):
                    work.say("another run of the same user is over; this one has its GPU")
                    session.close()
                    self._forget(mine.key, at_once=True)
                    return came
                if isinstance(came, Submission):
                    session.close()  # the worker of the fence before is not accepted any more
                    mine = came
                    continue
                sandbox, gpu = came
                if gpu is None or gpu.arch != arch:
                    has = gpu.arch if gpu else "no GPU"
                    raise SlurmError(
                        f"{self._settings.gres[arch]} of Slurm is {has}, not {arch}",
                        hint="`gres` of [slurm] in the settings names the GPUs of each architecture",
                    )
                work.say(f"has a GPU of {arch} from Slurm")
                return Allocation(mine, sandbox, gpu, session, self._clock())
        except BaseException:
            session.close()
            self._forget(mine.key, at_once=True)
            raise

    def _submit(self, mine: Submission, arch: str, work: Work, worker_key: str) -> None:
        """Submit, where an answer that does not come is not a refusal: the next listing shows whether it is there."""
        comment = Comment(mine.key, mine.fence, self._holder)
        work.say(f"submitting to Slurm, try {mine.tries}")
        try:
            job = self._slurm.submit(
                batch_script(self._settings, worker_key), sbatch_options(self._settings, arch, work.owner, comment)
            )
        except NoAnswerError as error:
            _log.warning("the submission of %s.%d was not answered: %s", mine.key, mine.fence, error.message)
        else:
            _log.info("submitted %s.%d to Slurm as job %s", mine.key, mine.fence, job)

    def _until_it_comes(
        self, mine: Submission, arrival: Arrival, free: Callable[[], Allocation | None], work: Work
    ) -> tuple[Sandbox, Gpu | None] | Submission | Allocation:
        """What the worker brings; or a GPU that is free by then; or the submission that is next. Raises SlurmError."""
        pause_s, listed_s = FIRST_LISTING_S, self._clock()
        answered_s = done_s = listed_s
        while True:
            work.cancellation.check()
            if self._closed.is_set():
                raise SlurmError("the server is about to end")
            if came := arrival.came():
                return came
            if (allocation := free()) is not None:
                return allocation
            now_s = self._clock()
            if now_s - listed_s < pause_s:
                time.sleep(LOOK_S)
                continue
            listed_s, pause_s = now_s, min(1.5 * pause_s, LONGEST_LISTING_S)
            try:
                decision = self._next_step(mine, done_s)
            except NoAnswerError as error:
                if self._clock() - answered_s > NO_CONTROLLER_S:
                    raise SlurmError(f"Slurm has not answered for {NO_CONTROLLER_S:.0f} s: {error.message}") from None
                work.say(f"Slurm does not answer: {error.message}")
                continue
            answered_s = done_s = self._clock()
            work.say(decision.say)
            if decision.kind == "fail":
                raise SlurmError(f"no GPU from Slurm: {decision.say}", hint="`amdkernel slurm doctor` looks further")
            if decision.kind == "submit":
                _log.warning("%s: %s", mine.key, decision.say)
                return decision.submission
            mine = decision.submission

    def _next_step(self, mine: Submission, done_s: float) -> Decision:
        """List, decide, and do what needs no new submission. `done_s`: when the step before was done.

        Raises NoAnswerError, SlurmError.
        """
        jobs, now_s = self._listed(done_s), self._clock()
        decision = decide(mine, jobs, now_s)
        if decision.kind in ("fail", "release"):
            decision = decide(mine, jobs, now_s, self._nodes())
        for job in decision.cancel:
            self._cancel(job)
        if decision.kind == "release" and decision.job:
            _log.warning("%s: job %s: %s", mine.key, decision.job, decision.say)
            with suppress(SlurmError):  # it may have ended; the next listing shows it
                self._slurm.release(decision.job)
        return decision

    def _listed(self, since_s: float) -> Sequence[SlurmJob]:
        """The jobs as they are since then. What no session waits for is ended once for each listing."""
        listing = self._listing.since(since_s)
        if listing.is_new:
            self._end_unwanted(listing.jobs)
        return listing.jobs

    def _nodes(self) -> Sequence[SlurmNode]:
        try:
            return self._slurm.nodes()
        except SlurmError:
            return ()

    def _take_idle(self, arch: str, user: str) -> Allocation | None:
        while True:
            with self._lock:
                kept = self._idle.get((arch, user))
                allocation = kept.pop() if kept else None
            if allocation is None:
                return None
            if allocation.idle:
                allocation.idle.cancel()
            if allocation.is_alive:
                return allocation
            self._end(allocation, at_once=True)

    def _give_back(self, allocation: Allocation, arch: str, user: str) -> None:
        allocation.idle = threading.Timer(IDLE_S, self._end_idle, (allocation, arch, user))
        allocation.idle.daemon = True
        is_due = self._clock() - allocation.begun_s > REUSED_S
        with self._lock:
            if not (is_due or self._closed.is_set()):
                self._idle.setdefault((arch, user), []).append(allocation)
                allocation.idle.start()
                return
        self._end(allocation, at_once=self._closed.is_set())

    def _end_idle(self, allocation: Allocation, arch: str, user: str) -> None:
        with self._lock:
            kept = self._idle.get((arch, user), [])
            if allocation not in kept:
                return  # it is in use again
            kept.remove(allocation)
        self._end(allocation, at_once=False)

    def _end(self, allocation: Allocation, *, at_once: bool) -> None:
        allocation.session.close()  # which ends its worker
        self._forget(allocation.submission.key, at_once=at_once)

    def _forget(self, key: str, *, at_once: bool) -> None:
        with self._lock:
            fence = self._wanted.pop(key, None)
            self._ending.add(key)
        if fence is not None and not self._closed.is_set():
            name = f"slurm {key[:6]}"
            threading.Thread(target=self._see_it_end, args=(key, at_once), name=name, daemon=True).start()

    def _see_it_end(self, key: str, at_once: bool) -> None:
        """See that no job of this key lives: first it may go by itself, then SIGTERM, then the job is ended."""
        begun_s, termed_s = self._clock(), None
        done_s = begun_s
        with self._let_it_end(key), cancelled_by(Cancellation()):
            while self._clock() - begun_s < NO_CONTROLLER_S and not self._closed.wait(1.0):
                try:
                    left = [job for job in self._listed(done_s) if job.comment.key == key and not is_over(job)]
                    if not left:
                        return
                    now_s = self._clock()
                    if termed_s is None and (at_once or now_s - begun_s > LEAVES_S):
                        termed_s = now_s
                        for job in left:
                            self._slurm.cancel(job.id, signal=None if job.state == "PENDING" else "TERM")
                    elif termed_s is not None and now_s - termed_s > LEAVES_S:
                        for job in left:
                            self._slurm.cancel(job.id)
                    done_s = self._clock()
                except SlurmError as error:
                    _log.warning("the job of %s is not ended yet: %s", key, error.message)

    @contextmanager
    def _let_it_end(self, key: str) -> Iterator[None]:
        try:
            yield
        finally:
            with self._lock:
                self._ending.discard(key)

    def _end_unwanted(self, jobs: Sequence[SlurmJob]) -> None:
        """End what is not waited for: older fences, and the jobs of servers that have ended."""
        with self._lock:
            wanted = dict(self._wanted)
            jobs = [job for job in jobs if job.comment.key not in self._ending]
        holders = {job.comment.holder for job in jobs} - {self._holder}
        dead = [holder for holder in holders if self._is_dead(holder)]
        for job in not_wanted(jobs, wanted, self._holder, dead):
            self._cancel(job.id)

    def _cancel(self, job: str) -> None:
        with suppress(SlurmError):  # it may have ended by itself; else the next listing has it again
            self._slurm.cancel(job)
