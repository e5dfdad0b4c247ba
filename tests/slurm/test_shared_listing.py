"""Many sessions look at Slurm's queue: how often it is asked, and no answer is older than the question."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from amdkernel_mcp.slurm.commands import Comment, NoAnswerError, SlurmJob
from amdkernel_mcp.slurm.listing import FRESH_S, SharedListing


class Queue:
    """Lists one job more each time it is asked. `now_s` is the clock."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.asked = 0
        self.away = False

    def jobs(self) -> list[SlurmJob]:
        self.asked += 1
        self.now_s += 0.1
        if self.away:
            raise NoAnswerError("squeue: unable to contact slurm controller")
        return [SlurmJob(str(each), "PENDING", "", "", Comment("0" * 16, 1, "me")) for each in range(self.asked)]

    def shared(self) -> SharedListing:
        return SharedListing(self.jobs, lambda: self.now_s)


def test_sessions_share_a_listing_while_it_is_fresh() -> None:
    queue = Queue()
    shared = queue.shared()
    first, second = shared.since(50.0), shared.since(50.0)
    assert (first.is_new, second.is_new, queue.asked) == (True, False, 1)
    assert second.jobs == first.jobs
    queue.now_s += FRESH_S + 0.1
    assert len(shared.since(50.0).jobs) == 2


def test_what_a_session_did_after_a_listing_began_makes_it_ask_again() -> None:
    queue = Queue()
    shared = queue.shared()
    submitted_s = shared.since(50.0).begun_s
    assert shared.since(submitted_s).is_new, "submitted at the moment when the other was asked: it may be missing there"
    assert not shared.since(submitted_s).is_new


def test_a_listing_that_began_before_is_waited_for_and_not_taken() -> None:
    clock, begun, go_on = itertools.count(100.0, 0.001), threading.Event(), threading.Event()
    answers = iter(range(2))

    def jobs() -> list[SlurmJob]:
        number = next(answers)
        begun.set()
        assert go_on.wait(30)
        return [SlurmJob(str(number), "PENDING", "", "", Comment("0" * 16, 1, "me"))]

    shared = SharedListing(jobs, lambda: next(clock))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shared.since, 50.0)
        assert begun.wait(30)
        second = pool.submit(shared.since, next(clock))
        go_on.set()
        assert [first.result().jobs[0].id, second.result().jobs[0].id] == ["0", "1"]


def test_an_answer_that_does_not_come_is_shared_and_then_asked_for_again() -> None:
    queue = Queue()
    shared = queue.shared()
    queue.away = True
    for _ in range(3):
        with pytest.raises(NoAnswerError):
            shared.since(50.0)
    assert queue.asked == 1
    queue.away, queue.now_s = False, queue.now_s + FRESH_S + 0.1
    assert shared.since(50.0).is_new
