"""Jobs: work that may outlast the call that asked for it. They are kept in this process and run by a thread pool."""

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from amdkernel_mcp.errors import JobError
from amdkernel_mcp.results.job_answer import JobStatus
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult

Answer = CompileResult | CheckResult | BenchmarkResult | ProfileResult
Progress = Callable[[str], None]
Work = Callable[[Progress], Answer]

FINISHED: Final = frozenset({"done", "failed", "cancelled"})
KEPT_S = 3600.0  # get_job finds a finished job for this long
KEPT_JOBS = 200
UNFINISHED_PER_OWNER = 16


class JobCancelledError(JobError):
    """The job was cancelled. Raised inside its work at the next progress report."""


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
    let_go: threading.Event = field(default_factory=threading.Event)  # the pool no longer waits for it
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def wait(self, timeout_s: float) -> bool:
        """Whether the job ended within `timeout_s`."""
        return self.ended.wait(timeout_s)


class JobStore:
    """All jobs of this process. Thread-safe; an owner sees only its own jobs."""

    def __init__(self, workers: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="amdkernel-jobs")
        self._clock = clock
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._closed = False

    def submit(self, owner: str, work: Work) -> Job:
        """A new job for `work`. Raises JobError when its owner has too many unfinished ones."""
        with self._lock:
            if self._closed:
                raise JobError("the server is shutting down")
            self._forget_old_jobs()
            mine = sum(job.owner == owner and job.status not in FINISHED for job in self._jobs.values())
            if mine >= UNFINISHED_PER_OWNER:
                raise JobError(f"{mine} jobs are waiting or running already", hint="wait for one of them with get_job")
            job = Job(id=f"job-{secrets.token_hex(6)}", owner=owner, work=work)
            self._jobs[job.id] = job
            self._pool.submit(self._run, job)
        return job

    def find(self, job_id: str, owner: str) -> Job:
        """The job. Raises JobError when there is none, and the same error when it is another owner's."""
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
        """End a queued job at once and a running one at its next progress report; a finished job stays as it is."""
        with self._lock:
            job.cancel_asked = True
            if job.status == "queued":
                self._end(job, "cancelled")

    def close(self) -> None:
        """Cancel everything without waiting: work that runs stops when it next reports progress."""
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.cancel_asked = True
                if job.status == "queued":
                    self._end(job, "cancelled")
                job.let_go.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def on_end(self, job: Job, call: Callable[[], None]) -> None:
        """Call `call` once, from any thread, when the job has ended; at once if it has ended already."""
        with self._lock:
            if not job.ended.is_set():
                job.listeners.append(call)
                return
        call()

    def _run(self, job: Job) -> None:
        """Occupy a thread of the pool while the job runs.

        At exit Python joins the threads of every pool. So the work has a daemon thread of its own: work that hangs
        cannot keep the process alive after `close`.
        """
        with self._lock:
            if job.status != "queued":
                return
            job.status = "running"
        threading.Thread(target=self._work, args=(job,), name=job.id, daemon=True).start()
        job.let_go.wait()

    def _work(self, job: Job) -> None:
        def report(message: str) -> None:
            job.progress = message
            if job.cancel_asked:
                raise JobCancelledError("the job was cancelled")

        try:
            answer = job.work(report)
        except JobCancelledError:
            with self._lock:
                self._end(job, "cancelled")
        except BaseException as error:  # not swallowed: get_job raises it
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
        job.let_go.set()
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
