"""A step whose result is of no use any more is ended, and a cancellation ends both."""

import threading

import pytest

from amdkernel_mcp.cancellation import CancelledWorkError
from amdkernel_mcp.engine.side_by_side import side_by_side
from amdkernel_mcp.work import Work, current_work

LIMIT_S = 60


def long_run(work: Work) -> str:
    """Ends when its work is ended, as a container does."""
    assert current_work().cancellation is work.cancellation, "a sandbox finds it in its thread"
    over = threading.Event()
    with work.cancellation.ending_with(over.set):
        assert over.wait(LIMIT_S), "nothing ended it"
    return "whole"


@pytest.mark.parametrize("at_once", [True, False])
def test_what_goes_wrong_ends_the_other(at_once):
    found = side_by_side(lambda _: "wrong", long_run, Work(), went_wrong=lambda each: each == "wrong", at_once=at_once)
    assert found == ("wrong", None)


def test_an_error_of_the_first_ends_the_other():
    def fails(_: Work) -> str:
        raise ValueError("the sandbox is gone")

    with pytest.raises(ValueError, match="the sandbox is gone"):
        side_by_side(fails, long_run, Work(), went_wrong=bool, at_once=True)


def test_both_run_where_nothing_is_wrong():
    found = side_by_side(lambda _: 1, lambda _: 2, Work(), went_wrong=lambda _: False, at_once=True)
    assert found == (1, 2)


def test_a_cancellation_ends_both():
    work, begun = Work(), threading.Event()

    def begins(own: Work) -> str:
        begun.set()
        return long_run(own)

    def cancel() -> None:
        assert begun.wait(LIMIT_S)
        work.cancellation.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(CancelledWorkError):
        side_by_side(long_run_of, begins, work, went_wrong=lambda _: False, at_once=True)
    canceller.join()


def long_run_of(work: Work) -> str:
    over = threading.Event()
    with work.cancellation.ending_with(over.set):
        assert over.wait(LIMIT_S), "nothing ended it"
    return "whole"
