"""`/healthz`, `/readyz` and `/metrics`: for this machine without a token, for others with one."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, PlainTextResponse, Response

from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.pages.sign_in import SignIn
from amdkernel_mcp.pages.status import Running
from amdkernel_mcp.server.metrics import Counts, exposition

if TYPE_CHECKING:
    from starlette.requests import Request

    from amdkernel_mcp.leases.gpu_health import KnownGpu
    from amdkernel_mcp.pages.routes import Route

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


class Health:
    """The handlers of one server. `running`: None before the start and after the end."""

    def __init__(self, sign_in: SignIn, running: Callable[[], Running | None], counts: Counts) -> None:
        self._sign_in = sign_in
        self._running = running
        self._counts = counts

    def routes(self) -> list[Route]:
        """Path, methods and handler of each route."""
        guarded = self._guarded
        return [
            ("/healthz", ["GET"], guarded(self._alive)),
            ("/readyz", ["GET"], guarded(self._ready)),
            ("/metrics", ["GET"], guarded(self._metrics)),
        ]

    async def _alive(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, _: Request) -> Response:
        running = self._running()
        parts = await asyncio.to_thread(_parts, running) if running else {"server": "starting or ending"}
        ready = all(state == "ok" for state in parts.values())
        return JSONResponse({"ready": ready, "parts": parts}, status_code=200 if ready else 503)

    async def _metrics(self, _: Request) -> Response:
        running = self._running()
        if running is None:
            return PlainTextResponse("the server is starting or ending\n", status_code=503)
        gpus, held = await asyncio.to_thread(_gpus, running)
        await asyncio.to_thread(self._counts.save)  # first: a restart takes nothing back
        text, kind = await asyncio.to_thread(exposition, self._counts, running.jobs.overview(), gpus, held)
        return Response(text, headers={"content-type": kind})

    async def _may_see(self, request: Request) -> bool:
        viewer = await self._sign_in.viewer(request)
        return viewer is not None and viewer.may_see

    def _guarded(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        @wraps(handler)
        async def answer(request: Request) -> Response:
            if not from_this_machine(request) and not await self._may_see(request):
                refused = PlainTextResponse("a known token is needed\n", status_code=401)
                refused.headers["www-authenticate"] = "Bearer"
                return refused
            return await handler(request)

        return answer


def from_this_machine(request: Request) -> bool:
    """Whether a program of this machine asks for itself. A proxy of this machine asks for others, and says so."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def _gpus(running: Running) -> tuple[Sequence[KnownGpu], frozenset[str]]:
    """The GPUs that jobs used, and which are held; none where the database cannot be read: `/readyz` says that."""
    try:
        return running.leases.health.list(), frozenset(each.gpu for each in running.leases.held())
    except AmdkernelError:
        return (), frozenset()


def _parts(running: Running) -> dict[str, str]:
    """What the server needs: `ok`, or why not, without a path of this server."""
    try:
        running.engine.attempts.list(limit=1)
        database = "ok"
    except AmdkernelError:
        database = "the history cannot be read"
    return {
        "database": database,
        "sandbox": "no kernel can run: see `amdkernel doctor`" if running.engine.machine.why_not_ready() else "ok",
        "queue": "draining" if running.jobs.overview().draining else "ok",
    }
