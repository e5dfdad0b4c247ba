"""All users of a server and what each may have, for an admin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.results.server import QuotaState, RunningJob, UserState, WaitingJob

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempts import Attempts
    from amdkernel_mcp.jobs.quotas import Quotas
    from amdkernel_mcp.jobs.store import JobStore
    from amdkernel_mcp.leases.gpu_leases import GpuLeases
    from amdkernel_mcp.results.access import UserList

_PREFIX = "user:"


def users_of(
    known: UserList,
    leases: GpuLeases,
    attempts: Attempts,
    jobs: JobStore,
    running: Sequence[RunningJob],
    waiting: Sequence[WaitingJob],
) -> list[UserState]:
    """Those with a token, and those of an identity provider who have jobs now. Raises DatabaseError."""
    runs, waits = (Counter(job.owner for job in some) for some in (running, waiting))
    of = {f"{_PREFIX}{each.name}": each for each in known.users}
    states = []
    for owner in sorted({*of, *runs, *waits}):
        user = of.get(owner)
        states.append(
            UserState(
                name=owner.removeprefix(_PREFIX),
                scopes=user.scopes if user else [],
                valid_tokens=user.valid_tokens + user.in_tokens_file if user else 0,
                last_used=user.last_used if user else None,
                last_seen=_later(user.last_used if user else None, _last_attempt(attempts, owner)),
                running=runs[owner],
                waiting=waits[owner],
                gpu_seconds=round(leases.used_s(owner)[0], 1),
                emulator_seconds=round(jobs.emulated_s(owner), 1),
            )
        )
    return states


def _last_attempt(attempts: Attempts, owner: str) -> str | None:
    """When their newest attempt was made; None also where the history cannot be read."""
    try:
        newest = attempts.list(by=owner, limit=1).attempts
    except AmdkernelError:
        return None
    return newest[0].created if newest else None


def _later(*times: str | None) -> str | None:
    return max((each for each in times if each is not None), key=datetime.fromisoformat, default=None)


def quotas_of(quotas: Quotas) -> QuotaState:
    """As an answer."""
    return QuotaState(running=quotas.running, waiting=quotas.queued, gpu_seconds_a_day=quotas.gpu_seconds_a_day)
