"""Ends the work of a cancelled call within a second: containers that it waits for are ended.

Each work has one: `work.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from amdkernel_mcp.errors import JobError


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
