"""Where problems are examined that callers create: in threads of their own.

A caller's reference may run for minutes. So it takes no thread of other calls, a user has one examination at a time,
and a call that is cancelled ends its containers and leaves its place to the next.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from amdkernel_mcp.cancellation import Cancellation
from amdkernel_mcp.counted import counted
from amdkernel_mcp.jobs.quotas import QuotaError
from amdkernel_mcp.work import Work

_T = TypeVar("_T")


@dataclass
class _User:
    calls: int = 0  # waiting and running
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Examinations:
    """All examinations of this process. Its methods are called in the loop of the server, `close` anywhere."""

    def __init__(self, at_a_time: int, queued: int) -> None:
        """`at_a_time`: of all users. `queued`: of one user, besides the one that runs."""
        self._places = asyncio.Semaphore(at_a_time)
        self._queued = queued
        self._users: defaultdict[str, _User] = defaultdict(_User)
        self._running: set[Cancellation] = set()
        self._closed = False

    async def run(self, owner: str, step: Callable[[Work], _T]) -> _T:
        """The result of `work` in a thread, once it is the turn of its owner.

        Raises QuotaError when too many of the owner's wait, CancelledWorkError once closed, and what the work raises.
        """
        if self._users[owner].calls > self._queued:
            raise QuotaError(
                f"quota of problems: {counted(self._queued, 'call')} of yours wait to be examined, and no more may",
                hint="wait until one of them is answered, or cancel one",
            )
        user = self._users[owner]
        user.calls += 1
        try:
            await user.turn.acquire()
        except BaseException:
            self._left(owner)
            raise
        try:
            await self._places.acquire()
        except BaseException:
            user.turn.release()
            self._left(owner)
            raise
        return await self._begin(owner, step)

    async def _begin(self, owner: str, step: Callable[[Work], _T]) -> _T:
        """The place is free again when the thread has ended, not when the caller has gone."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_T] = loop.create_future()
        cancellation = Cancellation()
        self._running.add(cancellation)
        if self._closed:
            cancellation.cancel()

        def leave(settle: Callable[[], None]) -> None:
            self._running.discard(cancellation)
            self._places.release()
            self._users[owner].turn.release()
            self._left(owner)
            if not answer.done():
                settle()

        def do() -> None:
            settle: Callable[[], None]
            try:
                cancellation.check()
                result = step(Work(owner, cancellation))
            except BaseException as error:  # not swallowed: the caller raises it
                failure = error
                settle = lambda: answer.set_exception(failure)  # noqa: E731
            else:
                settle = lambda: answer.set_result(result)  # noqa: E731
            if not loop.is_closed():
                loop.call_soon_threadsafe(leave, settle)

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(do,), name="examination", daemon=True).start()
        try:
            return await answer
        except asyncio.CancelledError:
            threading.Thread(target=cancellation.cancel, name="end of examination", daemon=True).start()
            raise

    def _left(self, owner: str) -> None:
        self._users[owner].calls -= 1
        if self._users[owner].calls == 0:
            del self._users[owner]

    def close(self) -> None:
        """End what runs without waiting for it; what waits is refused."""
        self._closed = True
        for cancellation in [*self._running]:
            cancellation.cancel()
