"""Problems are examined apart from other calls: one of a user at a time, and none holds up another user."""

import asyncio
import threading

import pytest

from amdkernel_mcp.cancellation import CancelledWorkError
from amdkernel_mcp.jobs.quotas import QuotaError
from amdkernel_mcp.server.examinations import Examinations
from amdkernel_mcp.work import Work

pytestmark = pytest.mark.anyio


class Endless:
    """Work that ends only when it is cancelled, as a container does."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()

    def __call__(self, work: Work) -> None:
        stop = threading.Event()
        try:
            with work.cancellation.ending_with(stop.set):
                self.begun.set()
                stop.wait(60)
        finally:
            self.ended.set()


async def begun(work: Endless) -> None:
    assert await asyncio.to_thread(work.begun.wait, 30)


async def test_examinations_that_never_end_leave_the_threads_of_other_calls_free() -> None:
    examinations = Examinations(at_a_time=2, queued=100)
    endless = [Endless() for _ in range(90)]
    calls = [asyncio.create_task(examinations.run("user:mallory", work)) for work in endless]
    await begun(endless[0])
    assert await asyncio.to_thread(lambda: "answered") == "answered"
    assert await examinations.run("user:ann", lambda _: "examined") == "examined"
    assert not endless[1].begun.is_set()
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_the_next_one_begins_once_a_cancelled_one_has_ended() -> None:
    examinations = Examinations(at_a_time=1, queued=5)
    first, dropped, last = Endless(), Endless(), Endless()
    calls = [asyncio.create_task(examinations.run("user:ann", work)) for work in (first, dropped, last)]
    await begun(first)
    calls[1].cancel()
    calls[0].cancel()
    await begun(last)
    assert first.ended.is_set()
    assert not dropped.begun.is_set()
    examinations.close()
    with pytest.raises(CancelledWorkError):
        await calls[2]


async def test_a_user_has_only_so_many_that_wait_and_others_are_not_refused() -> None:
    examinations = Examinations(at_a_time=2, queued=2)
    work = Endless()
    calls = [asyncio.create_task(examinations.run("user:ann", each)) for each in (work, Endless(), Endless())]
    await begun(work)
    with pytest.raises(QuotaError, match="2 calls of yours wait"):
        await examinations.run("user:ann", lambda _: None)
    assert await examinations.run("user:bob", lambda _: 7) == 7
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await examinations.run("user:ann", lambda _: 8) == 8


async def test_what_the_work_raises_reaches_the_caller() -> None:
    examinations = Examinations(at_a_time=1, queued=0)

    def fails(_: Work) -> None:
        raise ValueError("no problem")

    with pytest.raises(ValueError, match="no problem"):
        await examinations.run("user:ann", fails)
    assert await examinations.run("user:ann", lambda _: 1) == 1


async def test_nothing_begins_once_it_is_closed() -> None:
    examinations = Examinations(at_a_time=1, queued=0)
    examinations.close()
    with pytest.raises(CancelledWorkError):
        await examinations.run("user:ann", lambda _: 1)
