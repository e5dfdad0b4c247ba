"""What runs and what waits, as one user may see it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amdkernel_mcp import __version__
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.overview import now_of
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.pages.users import quotas_of, users_of
from amdkernel_mcp.results.access import UserList
from amdkernel_mcp.results.machine import TargetInfo
from amdkernel_mcp.results.server import LeaseState, RunningJob, ServerStatus, State, TargetState, WaitingJob

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.jobs.request import Request
    from amdkernel_mcp.jobs.store import JobStore
    from amdkernel_mcp.leases.gpu_leases import GpuLeases

AWAY_S = 300.0
"""After which a host that its worker has left is a name, without its targets."""
TARGETS_KEPT_S = 30.0  # asking other hosts takes seconds


@dataclass(frozen=True)
class Running:
    """A server that has started."""

    engine: Engine
    jobs: JobStore
    targets: Targets
    default_target: str
    leases: GpuLeases
    users: Callable[[], UserList] = field(default=lambda: UserList(users=[]))
    quotas: Quotas = field(default_factory=Quotas)
    explain: Callable[[BaseException], str] = str
    """Why a job failed, in words that may be shown."""
    refuse: Callable[[frozenset[str], Request], None] = field(default=lambda *_: None)
    """Raises InputError unless a token with these scopes may start such a job."""


class Targets:
    """The targets, asked again when the answer is 30 s old; meanwhile the old answer stands. Thread-safe."""

    def __init__(
        self,
        ask: Callable[[], list[TargetInfo]],
        clock: Callable[[], float] = time.monotonic,
        changes: Callable[[], int] = lambda: 0,
    ) -> None:
        """`changes`: another number once an old answer is known to be wrong."""
        self._changes = changes
        self._seen_changes = 0
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._known: list[TargetInfo] | None = None
        self._asked_s = 0.0

    def get(self) -> list[TargetInfo]:
        """May take seconds. Raises what `ask` raises."""
        with self._lock:
            changes = self._changes()
            known = self._known
            fresh = self._clock() - self._asked_s < TARGETS_KEPT_S and changes == self._seen_changes
        if known is not None and (fresh or self._asking.locked()):
            return known
        with self._asking:
            found = self._ask()
        with self._lock:
            self._known, self._asked_s, self._seen_changes = found, self._clock(), changes
        return found


def status_of(server: Running, user: str, *, admin: bool = False) -> ServerStatus:
    """The server as `user` sees it; `admin`: with all users and what all jobs do.
    Raises InfrastructureError, SettingsError."""
    seen = server.jobs.overview()

    def about(job: Job, since: float | None) -> dict[str, Any]:
        asked = job.request.arguments
        mine = job.owner == user
        target = None if job.lane == "compile" else asked.get("target") or server.default_target
        target = job.lane if job.pool else target  # the GPU, once it has one
        return {
            "id": job.id if mine or admin else None,
            "owner": job.owner,
            "verb": job.request.verb,
            "target": target,
            "problem": job.request.problem if mine or admin else None,
            "seconds": max(0.0, round(seen.now_s - (seen.now_s if since is None else since), 3)),
        }

    away = {host.name for host in server.engine.workers.hosts() if (host.left_s or 0.0) > AWAY_S}
    running = [
        RunningJob(
            **about(job, job.begun_s),
            state="waits_for_gpu" if job.state == "waits_for_gpu" else "running",
            progress=now_of(job, None) if admin or job.owner == user else None,
        )
        for job in seen.running
    ]
    waiting = [
        WaitingJob(
            **about(job, job.accepted_s),
            place=place.number,
            expected_wait_s=place.wait.expected_s if place.wait else None,
            wait_range_s=[place.wait.low_s, place.wait.high_s] if place.wait else None,
            wait_evidence=place.wait.evidence if place.wait else None,
        )
        for job, place in seen.waiting
    ]
    return ServerStatus(
        user=user,
        version=__version__,
        draining=seen.draining,
        workers=seen.workers,
        targets=[each for each in states_of(server, running) if each.jobs or _host(each.name) not in away],
        away=sorted(away),
        users=users_of(server.users(), server.leases, server.engine.attempts, server.jobs, running, waiting)
        if admin
        else None,
        quotas=quotas_of(server.quotas) if admin else None,
        compiling=[job for job in running if job.target is None],
        waiting=waiting,
    )


def states_of(server: Running, running: Sequence[RunningJob] = ()) -> list[TargetState]:
    """All targets: GPUs first, then what is busy, then the others in their order. Raises DatabaseError, and what asking
    for targets raises."""
    known = server.targets.get()
    brought = {host.name: host for host in server.engine.workers.hosts()}  # now as well
    any_gpu = any(each.gpu_id for each in known)
    quarantined = server.leases.health.quarantined() if any_gpu else {}  # now: `known` is up to 30 s old
    held = server.leases.held() if any_gpu else []
    states = []
    for each in known:
        jobs = [job for job in running if job.target == each.name]
        leases = [
            LeaseState(owner=lease.owner, kind=lease.kind, seconds=round(lease.seconds, 3))
            for lease in held
            if lease.gpu == each.gpu_id
        ]
        why = quarantined.get(each.gpu_id or "")
        facts = {name: getattr(each, name) for name in ("name", "kind", "gpu", "arch", "default")}
        state: State = "quarantined" if why else "busy" if jobs or leases else "idle"
        note = why or (None if each.quarantine else each.note)
        host = brought.get(_host(each.name))
        if not why and host is not None and host.note is not None:  # also with a job, which waits or is the last one
            state, note = "draining" if host.draining else "unreachable", host.note
        elif state == "idle" and not (each.ready or each.quarantine):
            state = "unreachable"
        states.append(TargetState(**facts, note=note, state=state, jobs=jobs, leases=leases))
    return sorted(states, key=lambda one: (one.kind != "gpu", one.state != "busy", not one.default))


def _host(target: str) -> str:
    return target.partition(":")[0]
