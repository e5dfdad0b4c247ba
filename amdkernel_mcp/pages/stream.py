"""Live updates: server-sent events with the parts of the page that changed."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence, Set
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

    from amdkernel_mcp.pages.asked import Asked
    from amdkernel_mcp.pages.leaderboard import Boards
    from amdkernel_mcp.results.server import ServerStatus, TargetState

EVERY_S = 1.0
ATTEMPTS_EVERY = 3  # turns: they change less often, and cost more to read
MOST_STREAMS = 16  # of one user, each a connection that stays open


Part = tuple[str, str, str]
"""Name, state and HTML of a part. The state leaves out durations: the page counts those itself."""
Parts = Callable[[int], Sequence[Part]]
"""What a page shows at a turn, counted from 0."""


class Streams:
    """The open streams of one server."""

    def __init__(self, sign_in: SignIn) -> None:
        self._sign_in = sign_in
        self._open: Counter[str] = Counter()

    def answer(self, request: Request, viewer: Viewer, parts: Parts) -> Response:
        """A stream that ends with the session, the connection or the server. It counts from here on: many that are
        asked for at once are not more than those that one after the other may be open."""
        if self._open[viewer.user] >= MOST_STREAMS:
            return JSONResponse({"error": {"message": f"{MOST_STREAMS} pages of this user are open"}}, status_code=429)
        self._open[viewer.user] += 1

        def over() -> None:
            self._open[viewer.user] -= 1
            self._open += Counter()  # drops users without streams

        return _Counted(over, self._events(request, viewer, parts), headers={"cache-control": "no-store"})

    async def _events(self, request: Request, viewer: Viewer, parts: Parts) -> AsyncIterator[dict[str, str]]:
        sent: dict[str, str] = {}
        for turn in itertools.count():
            if await self._sign_in.viewer(request) != viewer:
                yield {"event": "signed_out", "data": "-"}
                return
            for name, state, html in await asyncio.to_thread(parts, turn):
                if sent.get(name) != state:
                    sent[name] = state
                    yield {"event": name, "data": html}
            await asyncio.sleep(EVERY_S)


class _Counted(EventSourceResponse):
    """A stream that says once when it is over, also where it was never begun."""

    def __init__(self, over: Callable[[], None], content: AsyncIterator[dict[str, str]], **more: Any) -> None:
        super().__init__(content, **more)
        self._over = over

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


def home_parts(running: Running, viewer: Viewer, asked: Asked, boards: Boards) -> Parts:
    """The parts of the overview."""

    def parts(turn: int) -> Sequence[Part]:
        made: list[Part] = []
        try:
            status = status_of(running, viewer.user, admin=viewer.is_admin)
            now = live_values(status, viewer)
            state = _state(status)
            made += [("live", state, fragment("live.html", now)), ("users", state, fragment("users.html", now))]
            if turn % ATTEMPTS_EVERY:
                return made
            tried = attempts_of(running, viewer, asked, boards)
            for name in ("best", "attempts"):
                html = fragment(f"{name}.html", tried)
                made.append((name, html, html))
        except AmdkernelError:
            return made  # what is on the page stays until it can be read again
        return made

    return parts


def live_values(status: ServerStatus, viewer: Viewer) -> dict[str, Any]:
    """What `live.html` needs."""
    gpus = [target for target in status.targets if target.kind == "gpu"]
    wanted = {job.target for job in status.waiting}
    folded = [each for each in status.targets if _is_aside(each, wanted)]
    counted = [each for each in gpus or status.targets if each.state in ("idle", "busy")]
    waits = [job.expected_wait_s for job in status.waiting if job.expected_wait_s is not None]
    counts = {
        "running": sum(len(target.jobs) for target in status.targets) + len(status.compiling),
        "waiting": len(status.waiting),
        "gpus": bool(gpus),
        "busy": sum(target.state == "busy" for target in counted),
        "of": len(counted),
        "unusable": len(gpus or status.targets) - len(counted),
        "wait": max(waits) if waits else None if status.waiting else 0,
    }
    shown = [each for each in status.targets if each not in folded]
    return {"status": status, "viewer": viewer, "counts": counts, "shown": shown, "folded": folded}


def _is_aside(target: TargetState, wanted: Set[str | None]) -> bool:
    """Whether it is an emulated target that each server has and that no user chose or uses."""
    ours = target.name.startswith("emulator:")
    return ours and not (target.default or target.jobs or target.leases or target.name in wanted)


def _state(status: ServerStatus) -> str:
    seconds = {"__all__": {"seconds"}}
    targets = {"__all__": {"jobs": seconds, "leases": seconds}}
    users = {"__all__": {"gpu_seconds", "last_used", "last_seen"}}
    return status.model_dump_json(
        exclude={"waiting": seconds, "compiling": seconds, "targets": targets, "users": users if status.users else True}
    )
