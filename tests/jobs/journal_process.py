"""A server of jobs in a process of its own, for tests that kill it: `DATA_FOLDER OWNER COUNT`.

Accepts COUNT jobs and prints their ids, then does them; a job appends its number to the file `done` and waits.
"""

import sys
import time
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.jobs.journal import Journal
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work


def main(folder: Path, owner: str, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    settings = load_settings({"data_dir": folder}, {})

    def perform(request: Request, work: Work) -> Answer:
        number = request.arguments["number"]
        with (folder / "done").open("a") as file:
            file.write(f"{number}\n")
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            work.say("waiting")
            time.sleep(0.005)
        return CheckResult(verdict="correct", reason=f"job {number}")

    store = JobStore(perform, 2, journal=lambda: Journal(settings, "http"))
    for number in range(count):
        job = store.submit(owner, Request("check", {"number": number}))
        store.hand_out(job)
        sys.stdout.write(f"{job.id}\n")
        sys.stdout.flush()
        time.sleep(0.01)
    time.sleep(600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
