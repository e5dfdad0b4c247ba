"""Live updates: server-sent events with the parts of the page that changed."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from sse_starlette.sse import EventSourceResponse  # before uvicorn starts: it ends streams with the server
from starlette.responses import JSONResponse, Response

from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.pages.attempts import attempts_of
from amdkernel_mcp.pages.render import fragment
from amdkernel_mcp.pages.sign_in import SignIn, Viewer
from amdkernel_mcp.pages.status import Running, status_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from amdkernel_mcp.results.server import ServerStatus

EVERY_S = 1.0
ATTEMPTS_EVERY = 3  # turns: they change less often, and cost more to read
MOST_STREAMS = 16  # of one user, each a connection that stays open


class Streams:
    """The open streams of one server."""

    def __init__(self, sign_in: SignIn) -> None:
        self._sign_in = sign_in
        self._open: Counter[str] = Counter()

    async def answer(self, request: Request, running: Running, viewer: Viewer) -> Response:
        """A stream that ends with the session, the connection or the server."""
        if self._open[viewer.user] >= MOST_STREAMS:
            return JSONResponse({"error": {"message": f"{MOST_STREAMS} pages of this user are open"}}, status_code=429)
        return EventSourceResponse(self._events(request, running, viewer), headers={"cache-control": "no-store"})

    async def _events(self, request: Request, running: Running, viewer: Viewer) -> AsyncIterator[dict[str, str]]:
        sent: dict[str, str] = {}
        self._open[viewer.user] += 1
        try:
            for turn in itertools.count():
                if await self._sign_in.viewer(request) != viewer:
                    yield {"event": "signed_out", "data": "-"}
                    return
                before = request.query_params.get("before")
                for name, state, html in await asyncio.to_thread(_parts, running, viewer, before, turn):
                    if sent.get(name) != state:
                        sent[name] = state
                        yield {"event": name, "data": html}
                await asyncio.sleep(EVERY_S)
        finally:
            self._open[viewer.user] -= 1
            self._open += Counter()  # drops users without streams


def _parts(running: Running, viewer: Viewer, before: str | None, turn: int) -> list[tuple[str, str, str]]:
    """Name, state and HTML of each part. The state leaves out durations: the page counts those itself."""
    parts = []
    try:
        status = status_of(running, viewer.user, admin=viewer.is_admin)
        parts.append(("live", _state(status), fragment("live.html", live_values(status, viewer))))
        if turn % ATTEMPTS_EVERY:
            return parts
        html = fragment("attempts.html", attempts_of(running.engine, viewer.user, before))
        parts.append(("attempts", html, html))
    except AmdkernelError:
        return parts  # what is on the page stays until it can be read again
    return parts


def live_values(status: ServerStatus, viewer: Viewer) -> dict[str, Any]:
    """What `live.html` needs."""
    gpus = [target for target in status.targets if target.kind == "gpu"]
    counted = gpus or status.targets
    waits = [job.expected_wait_s for job in status.waiting if job.expected_wait_s is not None]
    counts = {
        "running": sum(len(target.jobs) for target in status.targets) + len(status.compiling),
        "waiting": len(status.waiting),
        "gpus": bool(gpus),
        "busy": sum(target.state == "busy" for target in counted),
        "of": len(counted),
        "wait": max(waits) if waits else None if status.waiting else 0,
    }
    return {"status": status, "viewer": viewer, "counts": counts}


def _state(status: ServerStatus) -> str:
    seconds = {"__all__": {"seconds"}}
    targets = {"__all__": {"jobs": seconds, "leases": seconds}}
    users = {"__all__": {"gpu_seconds", "last_used"}}
    return status.model_dump_json(
        exclude={"waiting": seconds, "compiling": seconds, "targets": targets, "users": users if status.users else True}
    )
