"""The work that a thread does: for whom, what cancels it, and which GPUs it holds.

It is one value in a context variable, so that no function in between has to pass it on. Threads that a step starts
itself get it by `carried`.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from amdkernel_mcp.execution.cancellation import Cancellation
from amdkernel_mcp.progress import Progress

_T = TypeVar("_T")


@dataclass(eq=False)
class Used:
    """Seconds for which the work has held GPUs."""

    gpu_s: float = 0.0


@dataclass(eq=False)
class Caller:
    """The job that asks for a worker, which serves it to its end. `say`: shows its user a sentence; may raise
    CancelledWorkError."""

    say: Progress


@dataclass
class Ending:
    """How what runs under a lease went wrong, if it did."""

    why: str | None = None


@dataclass(frozen=True, eq=False)
class Work:
    """One piece of work. A part of it is a copy with other fields; `used` is that of the whole.

    owner: the user of this machine where no server was called. held: ids of the GPUs that it has alone. ending: of the
    lease that it is under.
    """

    owner: str = "local"
    cancellation: Cancellation = field(default_factory=Cancellation)
    used: Used = field(default_factory=Used)
    caller: Caller | None = None
    held: frozenset[str] = frozenset()
    ending: Ending | None = None


_current: contextvars.ContextVar[Work | None] = contextvars.ContextVar("work", default=None)


def current_work() -> Work:
    """What this thread works on; work of this machine's user, which nothing cancels, where that was not said."""
    return _current.get() or Work()


@contextmanager
def doing(work: Work) -> Iterator[None]:
    """What the block does is this work."""
    token = _current.set(work)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def cancelled_by(cancellation: Cancellation) -> Iterator[None]:
    """The block is the present work, with another cancellation."""
    with doing(replace(current_work(), cancellation=cancellation)):
        yield


def carried(step: Callable[..., _T]) -> Callable[..., _T]:
    """`step` for another thread, as a part of the work that this one does."""
    context = contextvars.copy_context()

    def run(*given: Any, **named: Any) -> _T:
        return context.copy().run(step, *given, **named)  # a context is entered by one thread at a time

    return run
