"""How much of the packages has come while another program downloads them, and when the rest may be there."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from amdkernel_mcp.progress import Progress

EVERY_S = 3.0
_RATE_OF = 10
"""Looks over which the rate is taken."""
_ARCHIVES = ("*/var/cache/apt/archives/*.deb", "*/var/cache/apt/archives/partial/*")


class Downloaded:
    """What is said at each look. `total`: about how many bytes there will be."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._looks: deque[tuple[float, int]] = deque(maxlen=_RATE_OF)

    def says(self, now_s: float, there: int) -> str | None:
        """None where nothing has come since the look before, or nothing at all."""
        before = self._looks[-1][1] if self._looks else 0
        self._looks.append((now_s, there))
        begun_s, begun = self._looks[0]
        if there <= before or now_s <= begun_s:
            return None
        rate = (there - begun) / (now_s - begun_s)
        left_s = max(self._total - there, 0) / rate
        whole = max(self._total, there)
        return f"downloaded {there / 1e6:.0f} of about {whole / 1e6:.0f} MB, {rate / 1e6:.1f} MB/s, {left_s:.0f} s left"


def bytes_there(scratch: Path) -> int:
    """The size of the packages below a folder in which a system is made; 0 where it may not be looked into."""
    there = 0
    for pattern in _ARCHIVES:
        with suppress(OSError):
            for file in scratch.glob(pattern):
                with suppress(OSError):  # it was moved meanwhile
                    there += file.stat().st_size
    return there


@contextmanager
def watched(scratch: Path, total: int, progress: Progress) -> Iterator[None]:
    """A block during which it is said every three seconds how much has come."""
    ended = threading.Event()

    def watch() -> None:
        seen = Downloaded(total)
        while not ended.wait(EVERY_S):
            if said := seen.says(time.monotonic(), bytes_there(scratch)):
                progress(said)

    watcher = threading.Thread(target=watch, name="downloaded", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
