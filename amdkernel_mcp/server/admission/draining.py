"""SIGTERM ends a server in order: what runs may finish, and what is left goes back to the journal."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from amdkernel_mcp.jobs.store import JobStore


def exit_in_order() -> None:
    """SIGTERM ends this process with 0. The HTTP server sends it to itself again once it has closed everything."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


class DrainOnSigterm:
    """Installs the handler when uvicorn, which has one of its own, has installed that."""

    def __init__(self, app: ASGIApp, *, jobs: Sequence[JobStore], grace_s: float) -> None:
        """`jobs`: of the server, once it has started."""
        self._app = app
        self._jobs = jobs
        self._grace_s = grace_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application's life is one call, inside which are all others."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        with _drained_on_sigterm(self._jobs[-1], self._grace_s):
            await self._app(scope, receive, send)


@contextmanager
def _drained_on_sigterm(jobs: JobStore, grace_s: float) -> Iterator[None]:
    """In the block, SIGTERM calls the earlier handler once nothing runs, or after `grace_s`.

    A second SIGTERM calls it at once. To be entered in the main thread.
    """
    before = signal.getsignal(signal.SIGTERM)
    assert callable(before)

    def drain() -> None:
        jobs.drain(grace_s)
        before(signal.SIGTERM, None)

    def begin(_: int, __: object) -> None:
        signal.signal(signal.SIGTERM, before)
        # In a thread: the one that the signal interrupts may hold the lock of the jobs.
        threading.Thread(target=drain, name="drain", daemon=True).start()

    signal.signal(signal.SIGTERM, begin)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
