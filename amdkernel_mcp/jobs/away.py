"""Jobs whose host is away because its worker was lost: which of them wait for it, and how often one is begun again.

A job that was accepted while its host was there is not lost with it: it is begun again once the worker is back. Not for
ever, because it may be this job that ends its host. What stops a server each time has the same bound (journal.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.execution.brought_hosts import RECONNECT_S, LostWorkerError
from amdkernel_mcp.jobs.journal import MOST_TRIES

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.job import Job

GONE_S = 1800.0
"""For a host to come back, after its worker left: a server with eight GPUs takes minutes to start. A choice, not a
measurement."""


@dataclass(frozen=True)
class AwayHosts:
    """`seconds`: for how long the worker of a host has been away; None: it is there, or none brings this host."""

    seconds: Callable[[str], float | None] = lambda _: None

    def holds(self, job: Job, now_s: float) -> bool:
        """Whether the job waits in the queue because its host is away. A short while is bridged where the job runs."""
        away_s = self.seconds(host_of(job.lane))
        return away_s is not None and away_s >= RECONNECT_S and _is_kept(job, away_s, now_s)

    def what_follows(self, job: Job, error: LostWorkerError, now_s: float) -> LostWorkerError | None:
        """After a job has lost its worker: the error with which it ends; None: it is begun again."""
        host = host_of(job.lane)
        away_s = self.seconds(host)
        if job.tries >= MOST_TRIES:
            return LostWorkerError(
                f"the worker of {host} was lost {job.tries} times while it worked on this job",
                hint="it may be this kernel that ends the worker or its machine: see their logs, and try the kernel on "
                "the emulator",
            )
        if away_s is None or _is_kept(job, away_s, now_s):
            return None
        if away_s >= GONE_S:
            return LostWorkerError(
                f"the worker of {host} has not come back for {away_s / 60:.0f} min, so this job has no answer",
                hint=f"start `amdkernel worker` on {host} and send the job again, or use another target of "
                "`amdkernel targets`",
            )
        return error


def host_of(lane: str) -> str:
    """The host for which the jobs of a lane wait: `gpu7` of `gpu7:0` and of `emulator of gpu7`."""
    return lane.removeprefix("emulator of ").partition(":")[0]


def waiting_for(job: Job) -> str:
    """What is shown of a job that was handed back."""
    return f"the worker of {host_of(job.lane)} was lost while this ran: waiting up to {GONE_S / 60:.0f} min for it"


def _is_kept(job: Job, away_s: float, now_s: float) -> bool:
    """Whether it was accepted before it was known that the host is away; who asks later is answered at once."""
    return away_s < GONE_S and now_s - job.accepted_s > away_s - RECONNECT_S
