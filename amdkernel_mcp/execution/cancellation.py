"""Ends the work of a cancelled call within a second: containers that it waits for are ended.

The token of the current work is in a context variable, so that no function in between has to pass it on. Threads that a
step starts itself get the context by `carried`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from amdkernel_mcp.errors import JobError

_T = TypeVar("_T")


class CancelledWorkError(JobError):
    """The work was cancelled."""

    def __init__(self) -> None:
        super().__init__("the job was cancelled")


class Cancellation:
    """Whether one piece of work is to end, and what it waits for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._enders: dict[object, Callable[[], None]] = {}

    @property
    def asked(self) -> bool:
        """Whether `cancel` was called."""
        return self._asked.is_set()

    def cancel(self) -> None:
        """End what the work waits for; the work itself raises CancelledWorkError at its next step."""
        with self._lock:
            self._asked.set()
            enders = [*self._enders.values()]
        for end in enders:
            end()

    def check(self) -> None:
        """Raises CancelledWorkError if the work is to end."""
        if self.asked:
            raise CancelledWorkError

    @contextmanager
    def ending_with(self, end: Callable[[], None]) -> Iterator[None]:
        """While the block runs, a cancellation calls `end`, from any thread. Raises CancelledWorkError afterwards."""
        key = object()
        with self._lock:
            self._enders[key] = end
        try:
            self.check()
            yield
            self.check()
        except CancelledWorkError:
            raise
        except Exception:
            self.check()  # an error that the cancellation caused is not the kernel's
            raise
        finally:
            with self._lock:
                del self._enders[key]


_current: contextvars.ContextVar[Cancellation | None] = contextvars.ContextVar("cancellation", default=None)
_NEVER = Cancellation()


def current() -> Cancellation:
    """The token of the work that this thread does; one that is never cancelled where there is none."""
    return _current.get() or _NEVER


@contextmanager
def cancelled_by(token: Cancellation) -> Iterator[None]:
    """The block is the work of `token`."""
    before = _current.set(token)
    try:
        yield
    finally:
        _current.reset(before)


def carried(work: Callable[..., _T]) -> Callable[..., _T]:
    """`work` for another thread, as a part of the work that this one does."""
    context = contextvars.copy_context()

    def run(*given: Any, **named: Any) -> _T:
        return context.copy().run(work, *given, **named)  # a context is entered by one thread at a time

    return run
