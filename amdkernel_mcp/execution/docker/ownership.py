"""Labels that say which process a container belongs to and when it must be gone, and whether that is so."""

import os
import platform
import time
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path

OWNER, PROCESS, DEADLINE, KIND = "amdkernel.owner", "amdkernel.process", "amdkernel.deadline", "amdkernel.kind"
SLURM_JOB = "amdkernel.slurm_job"
"""The job of Slurm in which the process runs: its epilog removes what the job left behind (deploy/slurm)."""

PROC = Path("/proc")
# Far beyond the longest job: containers end by themselves when their client goes, this is for a daemon that missed it.
LIFETIME_S = 6 * 3600.0


def ownership_labels(kind: str) -> dict[str, str]:
    """The labels of a container that this process starts now."""
    job = os.environ.get("SLURM_JOB_ID")
    return {
        **({SLURM_JOB: job} if job else {}),
        OWNER: _machine(),
        PROCESS: f"{os.getpid()}:{_started(os.getpid())}",
        DEADLINE: str(int(time.time() + LIFETIME_S)),
        KIND: kind,
    }


def is_abandoned(labels: Mapping[str, str], *, now: float) -> bool:
    """Whether the deadline has passed, or the owner was a process of this machine that has ended."""
    deadline = labels.get(DEADLINE, "")
    if deadline.isdigit() and now > int(deadline):
        return True
    if labels.get(OWNER) != _machine():
        return False  # a process of another machine or pid namespace: only the deadline counts
    pid, _, started = labels.get(PROCESS, "").partition(":")
    return pid.isdigit() and _started(int(pid)) != started


def is_of_this_process(labels: Mapping[str, str]) -> bool:
    """Whether this process started it for jobs; what setup builds in has ended, too, while it becomes an image."""
    mine = ownership_labels("")
    return labels.get(KIND) != "setup" and all(labels.get(name) == mine[name] for name in (OWNER, PROCESS))


@cache
def _machine() -> str:
    """This boot of this machine and this pid namespace: within it a pid means one process.

    Just this machine where there is no /proc (macOS): there what a killed client left is removed at its deadline.
    """
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return f"{platform.node()}:{uuid.getnode():x}"


def _started(pid: int) -> str:
    """When a process started, in clock ticks since boot, so that a reused pid is not mistaken for the old process."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return "gone"
    after_name = stat.rpartition(")")[2].split()
    return "gone" if after_name[0] in "ZX" else after_name[19]
