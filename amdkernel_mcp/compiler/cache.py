"""Results of compiles by content: the same source, flags, arch and toolchain give the same entry.

By hand, because ccache hashes what a compiler on this host would read, and ours runs in a container per job.
"""

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.cache_folder import CacheFolder, seal, unseal

MAX_TOTAL_BYTES = 1 << 30
_MAGIC = b"amdkernel compile cache 1\n"
_SIZES = struct.Struct("<QQQ")


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
        self._cache = CacheFolder(folder, max_total_bytes=max_total_bytes)

    def get(self, key: str) -> Entry | None:
        """The entry, or None where there is none that is whole. One that was cut or changed is removed."""
        packed = self._cache.read(_name(key))
        entry = _unpack(packed) if packed is not None else None
        if packed is not None and entry is None:
            self._cache.remove(_name(key))
        return entry

    def put(self, key: str, entry: Entry) -> str | None:
        """Keep the entry. Returns why it could not be kept, None where it was."""
        return self._cache.write(_name(key), _pack(entry))


def _name(key: str) -> str:
    return f"{key[:2]}/{key}"


def _pack(entry: Entry) -> bytes:
    code_object = entry.code_object or b""
    disassembly = zlib.compress(entry.disassembly.encode(), 1)
    body = _SIZES.pack(len(entry.result), len(code_object), len(disassembly)) + entry.result + code_object + disassembly
    return _MAGIC + seal(body)


def _unpack(packed: bytes) -> Entry | None:
    """The entry; None for bytes that `_pack` did not make. The digest is checked before anything else is read."""
    body = unseal(packed[len(_MAGIC) :]) if packed.startswith(_MAGIC) else None
    if body is None:
        return None
    sizes = _SIZES.unpack_from(body)
    result_end = _SIZES.size + sizes[0]
    code_end = result_end + sizes[1]
    return Entry(
        body[_SIZES.size : result_end],
        body[result_end:code_end] or None,
        zlib.decompress(body[code_end : code_end + sizes[2]]).decode(),
    )
