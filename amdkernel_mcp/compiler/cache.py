"""Results of compiles by content: the same source, flags, arch and toolchain give the same entry.

One file per entry, written beside its place and moved there, so that readers in other threads and processes see all
of it or none. An entry that was cut or changed is thrown away. Only the server writes here: no sandbox sees the folder.
"""

import contextlib
import hashlib
import json
import os
import struct
import tempfile
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

MAX_TOTAL_BYTES = 1 << 30
_MAGIC = b"amdkernel compile cache 1\n"
_SIZES = struct.Struct("<QQQ")
_PRUNE_TO = 0.9  # of the limit, so that not every new entry prunes


@dataclass(frozen=True)
class Entry:
    """What a compile leaves: its result as JSON, the code object if there is one, and its disassembly."""

    result: bytes
    code_object: bytes | None
    disassembly: str


def key_of(parts: dict[str, object]) -> str:
    """The sha256 of the parts as canonical JSON."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class CompileCache:
    """A folder of entries, the least recently used removed when it grows over its limit. Thread-safe."""

    def __init__(self, folder: Path, *, max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._folder = folder
        self._max_total_bytes = max_total_bytes
        self._pruning = threading.Lock()

    def get(self, key: str) -> Entry | None:
        """The entry, or None where there is none that is whole."""
        path = self._path(key)
        try:
            packed = path.read_bytes()
            os.utime(path)  # for the order of removal
        except OSError:
            return None
        entry = _unpack(packed)
        if entry is None:
            with contextlib.suppress(OSError):
                path.unlink()
        return entry

    def put(self, key: str, entry: Entry) -> None:
        """Keep the entry. A cache that cannot be written (full disk, read-only folder) is no cache, and no error."""
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_pack(entry))
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
            self._prune()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _prune(self) -> None:
        """Remove the entries used longest ago while all together are over the limit."""
        with self._pruning:
            entries = [
                (status.st_mtime_ns, status.st_size, path)
                for path in self._folder.glob("??/*")
                for status in _status_of(path)
            ]
            total = sum(size for _, size, _ in entries)
            if total <= self._max_total_bytes:
                return
            for _, size, path in sorted(entries):
                with contextlib.suppress(OSError):
                    path.unlink()
                total -= size
                if total <= self._max_total_bytes * _PRUNE_TO:
                    return


def _status_of(path: Path) -> list[os.stat_result]:
    """One status, or none for a file that another process has removed meanwhile."""
    try:
        return [path.stat()]
    except OSError:
        return []


def _pack(entry: Entry) -> bytes:
    code_object = entry.code_object or b""
    disassembly = zlib.compress(entry.disassembly.encode(), 1)
    body = _SIZES.pack(len(entry.result), len(code_object), len(disassembly)) + entry.result + code_object + disassembly
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(packed: bytes) -> Entry | None:
    """The entry; None for bytes that `_pack` did not make. The digest stands before all that is read from them."""
    start = len(_MAGIC) + 32
    body = packed[start:]
    if not packed.startswith(_MAGIC) or hashlib.sha256(body).digest() != packed[len(_MAGIC) : start]:
        return None
    sizes = _SIZES.unpack_from(body)
    result_end = _SIZES.size + sizes[0]
    code_end = result_end + sizes[1]
    return Entry(
        body[_SIZES.size : result_end],
        body[result_end:code_end] or None,
        zlib.decompress(body[code_end : code_end + sizes[2]]).decode(),
    )
