"""Jobs: work that may outlast the call that asked for it. Kept in this process, run by a few threads of its own."""

import queue
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from amdkernel_mcp.errors import JobError
from amdkernel_mcp.results.job_answer import JobStatus
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult

Answer = CompileResult | CheckResult | BenchmarkResult | ProfileResult
Progress = Callable[[str], None]
Work = Callable[[Progress], Answer]

FINISHED: Final = frozenset({"done", "failed", "cancelled"})
KEPT_S = 3600.0  # a finished job can be asked for this long
KEPT_JOBS = 200
UNFINISHED_PER_OWNER = 16


class JobCancelledError(JobError):
    """The job was cancelled; raised inside its work at the next progress report."""


@dataclass(eq=False)
class Job:
    """One piece of work of one owner. Fields change under the store's lock; `wait` needs none."""

    id: str
    owner: str
    work: Work
    status: JobStatus = "queued"
    progress: str | None = None
    answer: Answer | None = None
    error: BaseException | None = None
    finished_s: float | None = None
    cancel_asked: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def wait(self, timeout_s: float) -> bool:
        """Whether the job ended within `timeout_s`."""
        return self.ended.wait(timeout_s)


class JobStore:
    """All jobs of this process. Thread-safe; an owner sees only its own jobs."""

    def __init__(self, workers: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._workers = workers
        self._clock = clock
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def submit(self, owner: str, work: Work) -> Job:
        """A new job for `work`. Raises JobError when its owner has too many that are not finished."""
        with self._lock:
            if self._closed:
                raise JobError("the server is shutting down")
            self._forget_old_jobs()
            mine = sum(job.owner == owner and job.status not in FINISHED for job in self._jobs.values())
            if mine >= UNFINISHED_PER_OWNER:
                raise JobError(f"{mine} jobs are waiting or running already", hint="wait for one of them with get_job")
            job = Job(id=f"job-{secrets.token_hex(6)}", owner=owner, work=work)
            self._jobs[job.id] = job
            if not self._idle and len(self._threads) < self._workers:
                # Daemons, so that a job that hangs cannot keep the process alive after its client has gone.
                thread = threading.Thread(target=self._run_jobs, name="amdkernel-job", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._queue.put(job)
        return job

    def find(self, job_id: str, owner: str) -> Job:
        """The job. Raises JobError when there is none, and just the same when it is another owner's."""
        with self._lock:
            self._forget_old_jobs()
            job = self._jobs.get(job_id)
        if job is None or job.owner != owner:
            raise JobError(
                f"there is no job {job_id!r}",
                hint="finished jobs are kept for an hour; call the tool that made it again",
            )
        return job

    def cancel(self, job: Job) -> None:
        """End `job` at once where it waits, at its next progress report where it runs; no effect on a finished one."""
        with self._lock:
            job.cancel_asked = True
            if job.status == "queued":
                self._end(job, "cancelled")

    def close(self) -> None:
        """Cancel everything; threads end when their present job reports progress or returns."""
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.cancel_asked = True
                if job.status == "queued":
                    self._end(job, "cancelled")
            for _ in self._threads:
                self._queue.put(None)

    def on_end(self, job: Job, call: Callable[[], None]) -> None:
        """Call `call` once, from any thread, when the job has ended; at once when it has."""
        with self._lock:
            if not job.ended.is_set():
                job.listeners.append(call)
                return
        call()

    def _run_jobs(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            job = self._queue.get()
            with self._lock:
                self._idle -= 1
                if job is not None and job.status == "queued":
                    job.status = "running"
                elif job is not None:
                    continue
            if job is None:
                return
            self._run(job)

    def _run(self, job: Job) -> None:
        def report(message: str) -> None:
            job.progress = message
            if job.cancel_asked:
                raise JobCancelledError("the job was cancelled")

        try:
            answer = job.work(report)
        except JobCancelledError:
            with self._lock:
                self._end(job, "cancelled")
        except BaseException as error:  # not swallowed: whoever asks for the job gets it
            with self._lock:
                job.error = error
                self._end(job, "failed")
        else:
            with self._lock:
                job.answer = answer
                self._end(job, "done")

    def _end(self, job: Job, status: JobStatus) -> None:
        job.status = status
        job.finished_s = self._clock()
        job.ended.set()
        for call in job.listeners:
            call()
        job.listeners.clear()

    def _forget_old_jobs(self) -> None:
        finished = [job for job in self._jobs.values() if job.finished_s is not None]
        finished.sort(key=lambda job: job.finished_s or 0.0)
        surplus = len(finished) - KEPT_JOBS
        for number, job in enumerate(finished):
            if number < surplus or self._clock() - (job.finished_s or 0.0) > KEPT_S:
                del self._jobs[job.id]
