"""A target that says what is wanted and not which card: `gfx942`, `any:MI300X`, `any`.

A job is bound to one GPU of its pool when it starts, so that all of it runs on one: baseline and candidate too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.hardware.pool import is_in_pool, no_gpu_in_pool

if TYPE_CHECKING:
    from amdkernel_mcp.results.machine import TargetInfo


KEPT_OUT_S = 45.0
"""Longer than a list of targets is kept (pages/status.py), which then says whether it is ready."""


class Pools:
    """The GPUs of each pool, as they were last seen. Thread-safe."""

    def __init__(
        self, targets: Callable[[], Sequence[TargetInfo]] = tuple, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`targets`: all targets; may take seconds, as it asks hosts."""
        self._targets = targets
        self._clock = clock
        self._left_s: dict[str, float] = {}
        self._lock = threading.Lock()
        self._members: dict[str, tuple[str, ...]] = {}

    def look(self, pool: str) -> None:
        """Ask for the GPUs of `pool` that are ready. Raises UnknownTargetError where there is none of its kind."""
        known = self._targets()
        found = [each for each in known if each.kind == "gpu" and is_in_pool(each.arch, each.gpu, pool)]
        if not found:
            raise no_gpu_in_pool(pool, [each.name for each in known])
        with self._lock:
            self._members[pool] = tuple(each.name for each in found if each.ready)

    def members(self, pool: str) -> tuple[str, ...]:
        """Names of its GPUs that were ready when `look` was last called, without those that were quarantined since."""
        with self._lock:
            back_s = self._clock() - KEPT_OUT_S
            return tuple(gpu for gpu in self._members.get(pool, ()) if self._left_s.get(gpu, back_s) <= back_s)

    def leave(self, gpu: str) -> None:
        """A job has just found it quarantined. It has no jobs, so each that waits would be sent there first, and come
        back, until the list of targets is asked for again."""
        with self._lock:
            self._left_s[gpu] = self._clock()
