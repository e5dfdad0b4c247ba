"""The work that something is done for: who asks, what cancels it, what it says meanwhile, which GPUs it holds.

It is one value. Whoever calls the engine makes it, and each step is given it, so that a signature shows who may hold a
GPU on whose behalf. A sandbox is given files and a command alone: it finds the work of its thread in `current_work`.
Threads that a step starts itself have it by `carried`.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from amdkernel_mcp import tracing
from amdkernel_mcp.cancellation import Cancellation
from amdkernel_mcp.progress import Progress, silent

LOCAL: Final = "local"
"""The owner of work where there are no users."""

_T = TypeVar("_T")


@dataclass(eq=False)
class Used:
    """Seconds for which the work has held GPUs. `waits`: for how many leases of GPUs its threads wait now; `waits_for`:
    for which GPU, and who holds it."""

    gpu_s: float = 0.0
    waits: int = 0
    waits_for: str = ""


@dataclass(eq=False)
class Served:
    """A job that a worker serves to its end, before it drains. `say`: see `Work`, whatever its part says instead."""

    say: Progress


@dataclass
class Ending:
    """How what runs under a lease went wrong, if it did."""

    why: str | None = None


@dataclass(frozen=True, eq=False)
class Work:
    """One piece of work. A part of it is a copy with other fields; `used` is that of the whole.

    say: shows the caller a sentence; may raise CancelledWorkError. parent: the attempt that it builds on; None: the
    caller's last one on the problem. trace: the span of the call. served: None where no worker is to serve it to its
    end. held: ids of the GPUs that it has alone. from_slurm: the GPU that Slurm gave to it alone. ending: of the lease
    that it is under.
    """

    owner: str = LOCAL
    cancellation: Cancellation = field(default_factory=Cancellation)
    say: Progress = silent
    parent: str | None = None
    trace: Any = field(default_factory=tracing.here)
    used: Used = field(default_factory=Used)
    served: Served | None = None
    held: frozenset[str] = frozenset()
    from_slurm: object | None = None
    ending: Ending | None = None

    def saying(self, say: Progress) -> Work:
        """A part of it that says this of itself."""
        return replace(self, say=say)


_current: contextvars.ContextVar[Work | None] = contextvars.ContextVar("work", default=None)


def current_work() -> Work:
    """What this thread works on; work of this machine's user, which nothing cancels, where that was not said."""
    return _current.get() or Work()


@contextmanager
def doing(work: Work) -> Iterator[None]:
    """What sandboxes run in the block is this work."""
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
