"""A lock that processes of one machine share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """In the block, no other thread or process holds the lock `file`; waits for it.

    Windows has no such lock and none is held there: no server that several processes share runs there.
    """
    file.touch(mode=0o600)
    with file.open("w") as held:
        try:
            import fcntl
        except ImportError:
            pass
        else:
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
