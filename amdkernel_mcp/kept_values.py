"""Values of one type that were worked out before, in a folder, by a digest of all that they depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from amdkernel_mcp import __version__
from amdkernel_mcp.cache_folder import CacheFolder, seal, unseal

_T = TypeVar("_T")


class KeptValues(Generic[_T]):
    """A folder of values, bounded in size. An entry that was cut or changed is removed. Thread-safe."""

    def __init__(self, folder: Path, kind: TypeAdapter[_T], *, max_total_bytes: int) -> None:
        self._folder = CacheFolder(folder, max_total_bytes=max_total_bytes)
        self._kind = kind

    def get(self, name: str) -> _T | None:
        """The value, or None where there is none."""
        sealed = self._folder.read(name)
        if sealed is None:
            return None
        content = unseal(sealed)
        try:
            return self._kind.validate_json(content or b"")
        except ValidationError:
            self._folder.remove(name)
            return None

    def put(self, name: str, value: _T) -> str | None:
        """Keep a value. Returns why it could not be kept, None where it was."""
        return self._folder.write(name, seal(self._kind.dump_json(value)))


def name_of(*depends_on: object) -> str:
    """The name of an entry: a digest of this version and of everything given, data classes by all of their fields."""
    digest = hashlib.sha256()
    for part in _parts((__version__, *depends_on)):
        digest.update(part)
    name = digest.hexdigest()
    return f"{name[:2]}/{name}"


def _parts(value: Any) -> Iterator[bytes]:
    """The value as bytes that no other value has: each part begins with its kind and its length."""
    if isinstance(value, bytes):
        yield f"b{len(value)}:".encode()
        yield value
    elif is_dataclass(value):
        yield f"d{type(value).__name__}{len(fields(value))}:".encode()
        for field in fields(value):
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield f"m{len(value)}:".encode()
        for key in sorted(value):
            yield from _parts(key)
            yield from _parts(value[key])
    elif isinstance(value, (tuple, list)):
        yield f"t{len(value)}:".encode()
        for each in value:
            yield from _parts(each)
    else:
        text = repr(value).encode()
        yield f"{type(value).__name__}{len(text)}:".encode()
        yield text
