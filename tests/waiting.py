"""Waiting for what must happen: until it does, however busy the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

AT_MOST_S = 500.0
"""Against hanging alone. Below pytest's own limit of 600 s, which does not say what was waited for."""

_T = TypeVar("_T")


def wait_until(holds: Callable[[], _T], what: str, *, pause_s: float = 0.1, at_most_s: float = AT_MOST_S) -> _T:
    """The first value of `holds` that is true. Raises AssertionError with `what` and the last value."""
    until = time.monotonic() + at_most_s
    while not (found := holds()):
        assert time.monotonic() < until, f"not within {at_most_s:.0f} s: {what}; last: {found!r}"
        time.sleep(pause_s)
    return found
