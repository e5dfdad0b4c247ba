"""One tunnel for each URL in this process: what asks one machine several times opens ssh once.

A tunnel stays open for a moment after its last use, since the next question to the same machine is near. One
whose daemon does not answer is not used again: a new session of ssh has the groups that the user has now.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field

from amdkernel_mcp.execution.docker.tunnel import Tunnel, open_tunnel

LINGER_S = 2.0
_Key = tuple[str, str | None]


@dataclass
class _Shared:
    tunnel: Future[Tunnel] = field(default_factory=Future)
    users: int = 0
    timer: threading.Timer | None = None

    def is_usable(self) -> bool:
        """Whether it is being opened or is open."""
        return not self.tunnel.done() or (self.tunnel.exception() is None and self.tunnel.result().is_open())


_lock = threading.Lock()
_opened: dict[_Key, _Shared] = {}


class SharedTunnel:
    """A use of a tunnel; `url` is what a Docker client connects to. `was_open`: whether ssh was not started for it."""

    def __init__(self, key: _Key, shared: _Shared, *, was_open: bool) -> None:
        self._key = key
        self._shared = shared
        self._tunnel = shared.tunnel.result()
        self._ended = False
        self.url = self._tunnel.url
        self.was_open = was_open

    def is_open(self) -> bool:
        """Whether ssh still runs."""
        return self._tunnel.is_open()

    def close(self) -> None:
        """End this use; ssh ends a moment after the last one."""
        with _lock:
            if self._ended:
                return
            self._ended = True
            self._shared.users -= 1
            last = self._shared.users == 0
            if last and _opened.get(self._key) is self._shared and _closes_later(self._key, self._shared):
                return
        if last:
            _close_unused(self._key, self._shared)

    def discard(self) -> None:
        """End this use, and let no other one begin."""
        with _lock:
            if _opened.get(self._key) is self._shared:
                del _opened[self._key]
        self.close()
        _close_unused(self._key, self._shared)


def shared_tunnel(url: str) -> SharedTunnel:
    """A tunnel to a daemon, of those that are open. Raises SandboxError with ssh's own message."""
    key = (url, shutil.which("ssh"))
    with _lock:
        shared = _opened.get(key)
        is_mine = shared is None or not shared.is_usable()
        if shared is None or is_mine:
            shared = _opened[key] = _Shared()
        shared.users += 1
        if shared.timer is not None:
            shared.timer.cancel()
            shared.timer = None
    try:
        if is_mine:
            try:
                shared.tunnel.set_result(open_tunnel(url))
            except BaseException as error:
                shared.tunnel.set_exception(error)
        return SharedTunnel(key, shared, was_open=not is_mine)
    except BaseException:
        with _lock:
            shared.users -= 1
            if _opened.get(key) is shared:
                del _opened[key]
        raise


def _closes_later(key: _Key, shared: _Shared) -> bool:
    """Under the lock: whether a thread could be started that closes the tunnel; none can when the process ends."""
    shared.timer = threading.Timer(LINGER_S, _close_unused, (key, shared))
    shared.timer.daemon = True
    try:
        shared.timer.start()
    except RuntimeError:
        return False
    return True


def _close_unused(key: _Key, shared: _Shared) -> None:
    with _lock:
        if shared.users:
            return
        if _opened.get(key) is shared:
            del _opened[key]
    shared.tunnel.result().close()


@atexit.register
def close_unused() -> None:
    """End the tunnels without a user, without the wait."""
    with _lock:
        unused = [(key, shared) for key, shared in _opened.items() if not shared.users]
    for key, shared in unused:
        with contextlib.suppress(Exception):
            _close_unused(key, shared)
