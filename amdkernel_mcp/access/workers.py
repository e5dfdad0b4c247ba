"""What `amdkernel doctor` says of workers, on the machine of a server: from its tokens, its audit log and its GPUs.

Who is connected only the server's process knows. But it looks at the token of each connected worker every few seconds,
and a token notes its use each minute; so a worker whose token was not used for SILENT_S is not connected any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.access.tokens import USED_EVERY_S
from amdkernel_mcp.results.machine import DoctorCheck

if TYPE_CHECKING:
    from amdkernel_mcp.access.audit import Event
    from amdkernel_mcp.access.tokens import StoredToken
    from amdkernel_mcp.results.access import ListedGpu

SILENT_S = 2 * USED_EVERY_S
KEPT_S = 86400.0
"""For which a worker that has left, or was refused, is shown."""
_START = "on the GPU host: amdkernel worker --url ADDRESS --token-file FILE --name {name}"


def worker_checks(
    tokens: Sequence[StoredToken],
    last: Mapping[str, Event],
    refused: Sequence[Event],
    gpus: Sequence[ListedGpu],
) -> Iterator[DoctorCheck]:
    """A line for each worker, and one where none is connected; nothing where no token is for a worker.

    last: of each worker, see `AuditLog.workers`. refused: the last line of a token's user, where it is a refusal.
    """
    theirs = {token.id: token for token in tokens if token.valid and "worker" in token.scopes}
    if not theirs:
        return
    now_s = time.time()
    shown = {name: event for name, event in sorted(last.items()) if event.token in theirs or now_s - event.at < KEPT_S}
    checks = [_worker(name, event, theirs.get(event.token or ""), gpus, now_s) for name, event in shown.items()]
    if all(check.status != "ok" for check in checks):
        users = ", ".join(sorted({token.user for token in theirs.values()}))
        found = f"none is connected; the valid tokens with the scope `worker` are those of {users}"
        yield DoctorCheck(name="workers", status="warning", found=found, remedy=_START.format(name="NAME"))
    yield from checks
    for event in refused:
        if now_s - event.at < KEPT_S:
            found = f"refused {_ago(now_s - event.at)} ago, from {event.address}: {event.reason}"
            remedy = "install the server's version there, then `amdkernel setup`, and start the worker again"
            is_version = "version" in (event.reason or "")
            yield DoctorCheck(
                name=f"worker of {event.user}", status="warning", found=found, remedy=remedy if is_version else None
            )


def _worker(name: str, event: Event, token: StoredToken | None, gpus: Sequence[ListedGpu], now_s: float) -> DoctorCheck:
    theirs = [f"{each.target} {each.state}" for each in gpus if each.target.startswith(f"{name}:")]
    known = f"; {', '.join(theirs)}" if theirs else ""
    used_s = None if token is None or token.last_used_s is None else token.now_s - token.last_used_s
    left = event.action.endswith(" left")
    if not left and used_s is not None and used_s < SILENT_S:
        found = f"connected for {_ago(now_s - event.at)}, seen {_ago(used_s)} ago{known}"
        held = [each for each in gpus if each.target.startswith(f"{name}:") and each.state == "quarantined"]
        if not held:
            return DoctorCheck(name=f"worker {name}", status="ok", found=found)
        remedy = f"`amdkernel admin gpus` says why, and `amdkernel admin gpus release {held[0].id}` ends it"
        return DoctorCheck(name=f"worker {name}", status="warning", found=found, remedy=remedy)
    since_s = now_s - event.at if left else used_s
    when = f"left {_ago(since_s)} ago" if since_s is not None else "gone"
    why = f": {event.reason}" if left and event.reason else ""
    if not left:
        when += ", without a word" if since_s is not None else ""
    found = f"{when}{why}{known}"
    return DoctorCheck(name=f"worker {name}", status="warning", found=found, remedy=_START.format(name=name))


def _ago(seconds: float) -> str:
    """Such as `3 min`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
