"""A folder of things that can be made again, bounded in size and age.

An entry is written next to its place and moved there, so that readers in other threads and processes see all of it or
none. A folder that cannot be written (full disk, read-only, not a folder) is reported and never raised: the answer that
was to be kept is still given. Only the server writes here; no sandbox sees the folder.
"""

import contextlib
import hashlib
import os
import tempfile
import threading
import time
from pathlib import Path

_PRUNE_TO = 0.9  # of the limit, so that not every new entry prunes
_DIGEST_BYTES = 32
_ANSWERS_BYTES = 256 << 20
_ANSWERS_AGE_S = 7 * 86400.0


class CacheFolder:
    """Entries by name; the least recently used are removed beyond the limit. Thread-safe."""

    def __init__(self, folder: Path, *, max_total_bytes: int, max_age_s: float | None = None) -> None:
        self._folder = folder
        self._max_total_bytes = max_total_bytes
        self._max_age_s = max_age_s
        self._pruning = threading.Lock()

    def path(self, name: str) -> Path:
        """Where the entry is, or would be."""
        return self._folder / name

    def read(self, name: str) -> bytes | None:
        """The content of an entry, which counts as used; None where there is none."""
        path = self.path(name)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # for the order of removal
        return content

    def write(self, name: str, content: bytes) -> str | None:
        """Keep an entry. Returns why it could not be kept, None where it was."""
        path = self.path(name)
        if len(content) > self._max_total_bytes:
            return f"it is larger than the cache ({self._max_total_bytes >> 20} MiB)"
        temporary = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except OSError as error:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return f"the cache folder cannot be written: {error.strerror}"
        self.prune()
        return None

    def remove(self, name: str) -> None:
        """Forget an entry."""
        with contextlib.suppress(OSError):
            self.path(name).unlink()

    def prune(self) -> int:
        """Remove what is too old, then what was used longest ago while all together are over the limit.

        Returns how many bytes were removed. Every new entry prunes as well.
        """
        removed = 0
        with self._pruning:
            entries = sorted(_entries(self._folder))
            oldest = 0 if self._max_age_s is None else time.time() - self._max_age_s
            total = sum(size for _, size, _ in entries)
            limit = self._max_total_bytes
            for used, size, path in entries:
                if used >= oldest and total <= limit:
                    break
                if total > limit:
                    limit = int(self._max_total_bytes * _PRUNE_TO)
                with contextlib.suppress(OSError):
                    path.unlink()
                    removed += size
                total -= size
        return removed


def answers_folder(folder: Path) -> CacheFolder:
    """The whole answers of tools; the caller got a part of each."""
    return CacheFolder(folder, max_total_bytes=_ANSWERS_BYTES, max_age_s=_ANSWERS_AGE_S)


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """When it was last used, its size and its path, for every entry that another process has not removed meanwhile."""
    entries = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.stat(os.path.join(parent, name))
                entries.append((status.st_mtime, status.st_size, Path(parent, name)))
    return entries


def seal(content: bytes) -> bytes:
    """The content with its digest, so that an entry that was cut or changed is noticed."""
    return hashlib.sha256(content).digest() + content


def unseal(sealed: bytes) -> bytes | None:
    """The content; None for bytes that `seal` did not make."""
    content = sealed[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == sealed[:_DIGEST_BYTES] else None
