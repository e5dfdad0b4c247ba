"""`amdkernel serve` in a process of its own, for tests that kill it: `PORT NOTES`.

HTTP, tokens, tools, queue, journal and leases are the real ones. The work of a compile is a stand-in that holds one of
two GPUs for a moment and answers with a number that no other run answers with. Leases are short, and the clock of the
database is ahead by what the table `chaos_clock` says. NOTES is a folder:

* `taken`: `JOB STATUS` for each result that the journal took
* `errors`: each error of the database
* `counted`: `GPU BEGUN ENDED` for each run that held its GPU all the time
"""

import os
import secrets
import sys
import time
from pathlib import Path

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database import leases as leases_of_rows
from amdkernel_mcp.database import open_database
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.jobs import journal, store
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.request import Answer, Perform, Request
from amdkernel_mcp.leases import gpu_leases, held
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.results.job_answer import JobStatus
from amdkernel_mcp.results.kernels import CompileResult
from amdkernel_mcp.server import app
from amdkernel_mcp.server.admission import limits
from amdkernel_mcp.server.admission.tokens import known_users
from amdkernel_mcp.server.transports import serve_http
from amdkernel_mcp.work import Work

LEASE_S = 3.0  # ours are 30 s
GPU_S = 0.005


def note(file: Path, line: str) -> None:
    """One line, whole or not at all."""
    with file.open("a") as opened:
        opened.write(f"{line}\n")


def standing_in(settings: Settings, notes: Path) -> Perform:
    """Does a job: hold the GPU that the flag of the compile names."""
    leases = GpuLeases(settings)

    def perform(request: Request, work: Work) -> Answer:
        run, gpu = secrets.token_hex(6), str(request.arguments["flags"][0])
        with held.lease(leases, gpu, "exclusive", work):
            begun_s = time.monotonic()  # one clock for all processes of a machine
            time.sleep(GPU_S)
            ended_s = time.monotonic()
        note(notes / "counted", f"{gpu} {begun_s!r} {ended_s!r}")
        return CompileResult(ok=True, toolchain=run)

    return perform


def shorten_leases() -> None:
    leases_of_rows.LEASE_S = gpu_leases.LEASE_S = held.LEASE_S = LEASE_S
    store.RENEW_S, held.RENEW_S, held.MARGIN_S = LEASE_S / 3, LEASE_S / 6, LEASE_S / 3


def let_the_test_set_the_clock() -> None:
    """Nothing but the database's clock counts, so nothing but it is moved."""
    for dialect, now in open_database._NOW.items():
        open_database._NOW[dialect] = f"({now} + (select seconds from chaos_clock))"


def note_what_is_taken(notes: Path) -> None:
    end = journal.Journal.end

    def noted(self: journal.Journal, job: Job, status: JobStatus, error: str | None) -> bool:
        taken = end(self, job, status, error)
        if taken:
            note(notes / "taken", f"{job.id} {status}")
        return taken

    journal.Journal.end = noted  # type: ignore[method-assign]


def note_errors(notes: Path) -> None:
    class Noted(DatabaseError):
        def __init__(self, message: str, **named: str | None) -> None:
            note(notes / "errors", message)
            super().__init__(message, **named)  # type: ignore[arg-type]

    vars(open_database)["DatabaseError"] = Noted


def main(port: int, notes: Path) -> None:
    shorten_leases()
    let_the_test_set_the_clock()
    note_what_is_taken(notes)
    note_errors(notes)
    settings = load_settings()
    vars(app)["performed_by"] = lambda _: standing_in(settings, notes)
    app.REQUESTS_PER_S, app.REQUEST_BURST = 100_000.0, 100_000
    assert limits.REQUESTS_PER_S < app.REQUESTS_PER_S
    users = known_users(settings)
    serve_http(settings, users, host="127.0.0.1", port=port, allowed_hosts=[], began=f"pid {os.getpid()}")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
