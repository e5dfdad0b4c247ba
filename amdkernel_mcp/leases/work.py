"""On whose behalf the present work is done, and how long it held GPUs."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Work:
    """One piece of work of a user. `gpu_s`: seconds for which it has held GPUs."""

    owner: str
    gpu_s: float = 0.0


_current: contextvars.ContextVar[Work | None] = contextvars.ContextVar("work", default=None)


@contextmanager
def on_behalf_of(work: Work) -> Iterator[None]:
    """What the block does is part of `work`."""
    token = _current.set(work)
    try:
        yield
    finally:
        _current.reset(token)


def current_work() -> Work:
    """What this thread works on; the user of this machine's where no server called it."""
    return _current.get() or Work("local")
