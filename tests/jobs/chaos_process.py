"""A server of jobs in a process of its own, for tests that kill it: `DATA_FOLDER DATABASE OWNER COUNT`.

Accepts COUNT jobs, prints their ids and does all that it finds; each holds one of two GPUs. What it writes to the files
`overlaps` and `taken` is read by the test.
"""

import fcntl
import sys
import time
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.journal import Journal
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.jobs.request import Answer, Progress, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.leases.work import current_work
from amdkernel_mcp.results.job_answer import JobStatus
from amdkernel_mcp.results.kernels import CheckResult


def note(file: Path, line: str) -> None:
    with file.open("a") as opened:
        opened.write(f"{line}\n")


class Noted(Journal):
    """Notes each answer that was taken."""

    folder: Path

    def end(self, job: Job, status: JobStatus, error: str | None) -> bool:
        taken = super().end(job, status, error)
        if taken:
            note(self.folder / "taken", f"{job.id} {status}")
        return taken


def main(folder: Path, database: str, owner: str, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Noted.folder = folder
    settings = load_settings({"data_dir": folder, "database": database or None}, {})
    leases = GpuLeases(settings)

    def perform(request: Request, _: str, __: Progress) -> Answer:
        gpu = str(request.arguments["target"])
        with lease(leases, gpu, "exclusive", current_work()), (folder / gpu).open("a") as alone:
            try:
                fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)  # goes with its process, like the lease
            except BlockingIOError:
                note(folder / "overlaps", gpu)
            time.sleep(0.01)
        return CheckResult(reason=str(request.arguments["number"]))

    store = JobStore(perform, 2, journal=lambda: Noted(settings, "http"), quotas=Quotas(queued=100_000))
    for number in range(count):
        job = store.submit(owner, Request("check", {"number": number, "target": f"gpu{number % 2}"}))
        store.hand_out(job)
        if job.fence is not None:  # else it was not accepted
            sys.stdout.write(f"{job.id}\n")
            sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
