"""Files by their sha256, below `data_dir/artefacts`: sources, problems, baselines."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.attempt import sha256


class Artefacts:
    """A folder in which each file is named by what it holds. Thread-safe, also between processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, content: bytes) -> str:
        """Store `content` once. Returns its sha256. Raises OSError: a full or read-only disk."""
        name = sha256(content)
        path = self._path(name)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)  # before the look: `remove` spares what was just named
            if path.stat().st_size == len(content):
                return name
        for folder in (self._folder.parent, self._folder, path.parent):  # `parents` would ignore the mode
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(handle)
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return name

    def read(self, name: str, *, most: int | None = None) -> bytes:
        """The content. Raises HistoryError when it is missing, over `most` bytes, or no longer what its name says."""
        if not re.fullmatch(r"[0-9a-f]{64}", name):
            raise HistoryError(f"{name!r} is not the sha256 of an artefact")
        try:
            with self._path(name).open("rb") as file:
                content = file.read() if most is None else file.read(most + 1)
        except FileNotFoundError:
            hint = "files of old attempts are removed (settings keep_days, keep_mib)"
            raise HistoryError(f"the artefact {name[:12]} is not there", hint=hint) from None
        except OSError as error:
            raise HistoryError(f"the artefact {name[:12]} cannot be read: {error.strerror}") from None
        if most is not None and len(content) > most:
            raise HistoryError(f"the artefact {name[:12]} has more than {most} bytes")
        if sha256(content) != name:
            raise HistoryError(f"the artefact {name[:12]} was changed after it was stored")
        return content

    def size(self, name: str) -> int:
        """Bytes of a file; 0 where there is none."""
        with contextlib.suppress(OSError):
            return self._path(name).stat().st_size
        return 0

    def entries(self) -> Iterator[tuple[Path, int]]:
        """Every file with its size, also what a killed process left half written."""
        for path in self._folder.glob("*/*"):
            with contextlib.suppress(OSError):
                yield path, path.stat().st_size

    def remove(self, path: Path, *, older_than_s: float) -> bool:
        """Remove a file that was not named lately. Returns whether it is gone."""
        aside = path.with_name(f".old-{path.name}")
        try:
            if time.time() - path.stat().st_mtime < older_than_s:
                return False
            os.rename(path, aside)
            if time.time() - aside.stat().st_mtime < older_than_s:  # named between the look and the move
                os.rename(aside, path)
                return False
            aside.unlink()
        except OSError:
            return False
        return True

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name
