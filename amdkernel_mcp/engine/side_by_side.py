"""Two steps at once, of which the second is of no use where the first went wrong: it is ended then."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.work import Work, cancelled_by, carried

_T = TypeVar("_T")


def side_by_side(
    first: Callable[[Work], _T],
    other: Callable[[Work], _T],
    work: Work,
    *,
    went_wrong: Callable[[_T], bool],
    at_once: bool,
) -> tuple[_T, _T | None]:
    """What both found; None for the other where `first` went wrong or raised and so ended it.

    at_once: else one after the other. Raises what a step raises, and CancelledWorkError where `work` is cancelled.
    """
    ended = Cancellation()

    def lead() -> _T:
        found = None
        try:
            found = first(work)
            return found
        finally:
            if found is None or went_wrong(found):
                ended.cancel()

    def follow() -> _T | None:
        with cancelled_by(ended):
            try:
                ended.check()
                return other(replace(work, cancellation=ended))
            except CancelledWorkError:
                return None

    with (
        work.cancellation.ending_with(ended.cancel),
        ThreadPoolExecutor(2 if at_once else 1, thread_name_prefix="measure") as pool,
    ):
        steps = pool.submit(carried(lead)), pool.submit(carried(follow))
        return steps[0].result(), steps[1].result()
