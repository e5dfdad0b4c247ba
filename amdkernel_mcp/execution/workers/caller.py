"""The job that asks for a worker: whether it has begun there, and where it says that it waits.

The job is in a context variable, as its cancellation is, so that no function in between has to pass it on.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

from amdkernel_mcp.progress import Progress


class Caller:
    """One job. `say`: shows its user a sentence; may raise CancelledWorkError."""

    def __init__(self, say: Progress) -> None:
        self.say = say


_current: contextvars.ContextVar[Caller | None] = contextvars.ContextVar("caller", default=None)


def caller() -> Caller | None:
    """The job that this thread works for; None where there is none."""
    return _current.get()


@contextmanager
def called_by(job: Caller) -> Iterator[None]:
    """The block is the work of `job`."""
    before = _current.set(job)
    try:
        yield
    finally:
        _current.reset(before)
