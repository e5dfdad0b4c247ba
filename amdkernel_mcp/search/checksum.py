"""Whether a database file is as it was written: a checksum of all its bytes, kept in a field that SQLite leaves to us.

SQLite notices damage in the structure of a file only, and only where it reads; a changed byte of a text or a posting
list would give wrong answers or an error far from its cause. Our files are written once and replaced as a whole, so one
pass when a file is opened (some 10 ms for 26 MB) finds every change.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amdkernel_mcp.errors import DocumentationError

DAMAGED_HINT = "`amdkernel docs build` rebuilds it"
_MAGIC = b"SQLite format 3\0"
_FIELD = slice(60, 64)  # `PRAGMA user_version`
_CHUNK_BYTES = 1 << 20


def write_checksum(path: Path) -> None:
    """Puts the checksum into a database that is closed and complete."""
    with path.open("r+b") as file:
        file.seek(_FIELD.start)
        file.write(_checksum(path))


def checksum_holds(path: Path) -> bool:
    """Whether the file is a database with its checksum. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        header = file.read(_FIELD.stop)
    return header.startswith(_MAGIC) and header[_FIELD] == _checksum(path)


def _checksum(path: Path) -> bytes:
    """CRC-32 of the file without the field; never zero, which is what a file without a checksum has there."""
    with path.open("rb") as file:
        header = bytearray(file.read(_FIELD.stop))
        header[_FIELD] = bytes(4)
        value = zlib.crc32(header)
        while chunk := file.read(_CHUNK_BYTES):
            value = zlib.crc32(chunk, value)
    return (value or 1).to_bytes(4, "big")


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection to a file that is never written to. Raises sqlite3.Error."""
    # immutable: the file is only ever replaced as a whole, so no lock and no -wal file is needed.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """Raises DocumentationError where a file is found damaged after it was opened."""
    try:
        yield
    except (sqlite3.Error, zlib.error) as error:
        raise DocumentationError(f"the documentation index {path} is damaged: {error}", hint=DAMAGED_HINT) from None
