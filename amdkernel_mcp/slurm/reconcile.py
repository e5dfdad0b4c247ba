"""What to do about one submission, from what we know of it and what Slurm lists. Nothing here runs a command.

Slurm saves its state a few seconds late: a job that it accepted can be gone after a crash of its controller, and its id
belongs to another job then. So a job is known by the key in its comment, and what is not listed is submitted again with
the next fence; only the worker of the newest fence is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from amdkernel_mcp.slurm.commands import SlurmJob, SlurmNode

MOST_TRIES = 5
MOST_RELEASES = 3
WORKER_S = 180.0
"""In which the worker of a job that runs must have come: its container image is opened meanwhile."""

ENDED = frozenset(
    {
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"),
        *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
    }
)
_ENDING = frozenset({"COMPLETING", "STAGE_OUT", "STOPPED"})
_HELD_BY_SLURM = ("launch failed requeued held", "job launch failure")
_NEVER = {
    "BadConstraints": "no node can ever run it",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
}

Kind = Literal["wait", "submit", "release", "fail"]


@dataclass(frozen=True)
class Submission:
    """One session that wants a GPU. `running_since_s`: when it was first seen to run, with this fence."""

    key: str
    fence: int
    tries: int = 1
    releases: int = 0
    running_since_s: float | None = None


@dataclass(frozen=True)
class Decision:
    """The next step. `say`: the reason, as a user reads it. `cancel`: ids of jobs that are not waited for."""

    kind: Kind
    say: str
    submission: Submission
    job: str | None = None
    cancel: tuple[str, ...] = ()


def decide(mine: Submission, jobs: Sequence[SlurmJob], now_s: float, nodes: Sequence[SlurmNode] = ()) -> Decision:
    """`jobs`: listed after the last submission. `nodes`: for the reason of a failure."""
    of_key = [job for job in jobs if job.comment.key == mine.key]
    current = [job for job in of_key if job.comment.fence == mine.fence]
    alive = [job for job in current if not is_over(job)]
    kept = _best(alive)
    cancel = tuple(job.id for job in of_key if not is_over(job) and job is not kept)
    if kept is not None:
        decision = _of_living(mine, kept, now_s, nodes)
        return replace(decision, cancel=(*cancel, *decision.cancel))
    if any(job.state in _ENDING for job in current):
        return Decision("wait", "its job in Slurm is ending", mine, cancel=cancel)
    if current:
        return replace(_of_ended(mine, current[-1], nodes), cancel=cancel)
    return replace(_again(mine, "Slurm has lost the job", nodes), cancel=cancel)


def is_over(job: SlurmJob) -> bool:
    """Whether the job holds nothing and will not run any more."""
    return job.state in ENDED or job.state in _ENDING


def not_wanted(jobs: Iterable[SlurmJob], wanted: dict[str, int], holder: str, dead: Iterable[str]) -> list[SlurmJob]:
    """The living jobs to end: of this process with a key or fence that it does not want, and of dead processes."""
    gone = frozenset(dead)
    return [
        job
        for job in jobs
        if not is_over(job)
        and (
            job.comment.holder in gone
            or (job.comment.holder == holder and wanted.get(job.comment.key) != job.comment.fence)
        )
    ]


def _best(alive: Sequence[SlurmJob]) -> SlurmJob | None:
    """The job to keep where one submission became several: one that runs, else the oldest."""
    return min(alive, key=lambda job: (job.state == "PENDING", int(job.id)), default=None)


def _of_living(mine: Submission, job: SlurmJob, now_s: float, nodes: Sequence[SlurmNode]) -> Decision:
    if job.state == "PENDING":
        return _of_waiting(mine, job, nodes)
    if job.state != "RUNNING":
        return Decision("wait", f"its job in Slurm is {job.state.lower()}", mine, job.id)
    since = now_s if mine.running_since_s is None else mine.running_since_s
    seen = replace(mine, running_since_s=since)
    if now_s - since < WORKER_S:
        return Decision("wait", f"its job runs on {job.nodes}; the worker is starting", seen, job.id)
    why = f"its job ran on {job.nodes} for {WORKER_S:.0f} s, and its worker did not reach the server"
    return replace(_again(seen, why, nodes), cancel=(job.id,))


def _of_waiting(mine: Submission, job: SlurmJob, nodes: Sequence[SlurmNode]) -> Decision:
    waiting = replace(mine, running_since_s=None)
    if job.reason.lower().startswith(_HELD_BY_SLURM):
        if mine.releases < MOST_RELEASES:
            released = replace(waiting, releases=mine.releases + 1)
            return Decision("release", "a node failed before the job began; it is released", released, job.id)
        why = f"nodes failed {MOST_RELEASES + 1} times before the job began"
        return Decision("fail", f"{why}{_because(nodes)}", waiting, job.id, (job.id,))
    for reason, words in _NEVER.items():
        if job.reason.startswith(reason):
            return Decision("fail", f"Slurm never starts the job: {words} ({job.reason})", waiting, job.id, (job.id,))
    return Decision("wait", f"waiting in Slurm's queue ({job.reason or 'no reason given'})", waiting, job.id)


def _of_ended(mine: Submission, job: SlurmJob, nodes: Sequence[SlurmNode]) -> Decision:
    where = f" on {job.nodes}" if job.nodes else ""
    if job.state == "CANCELLED":
        return Decision("fail", f"its job was cancelled in Slurm{where}, not by this server", mine, job.id)
    return _again(mine, f"its job ended as {job.state}{where} before its worker reached the server", nodes)


def _again(mine: Submission, why: str, nodes: Sequence[SlurmNode]) -> Decision:
    if mine.tries >= MOST_TRIES:
        return Decision("fail", f"{why}, {mine.tries} times{_because(nodes)}", mine)
    following = replace(mine, fence=mine.fence + 1, tries=mine.tries + 1, running_since_s=None)
    return Decision("submit", f"{why}; it is submitted again", following)


def _because(nodes: Sequence[SlurmNode]) -> str:
    """The nodes that take no jobs, with Slurm's reasons."""
    down = [f"{node.name} is {node.state.lower()}: {node.reason}" for node in nodes if node.is_down and node.reason]
    return f" ({'; '.join(down[:4])})" if down else ""
