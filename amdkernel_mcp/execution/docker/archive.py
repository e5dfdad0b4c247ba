"""Tar, both ways. What comes out of a sandbox is hostile: it is never unpacked; only regular files, all bounded.

By hand, because Python's reader follows links, GNU sparse maps and PAX headers, and each of these can claim what is not
there. Source of the format: POSIX pax, "ustar Interchange Format", and GNU tar's manual, "Basic Tar Format".
"""

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass

from amdkernel_mcp.execution.sandbox import MAX_DEPTH, MAX_MEMBERS

BLOCK = 512
MAX_NAME_BYTES = 512

_REGULAR = (b"0", b"\0")
_LONG_NAME = b"L"


@dataclass(frozen=True)
class Contents:
    """The regular files of an archive by relative path. `complete`: its end was reached and nothing was left out."""

    files: Mapping[str, bytes]
    complete: bool


def pack(files: Mapping[str, bytes]) -> bytes:
    """An uncompressed tar of these files (relative path to content), readable by all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def unpack(data: bytes | bytearray) -> Contents:
    """The regular files of an uncompressed tar from a sandbox. Links, devices, FIFOs and odd names are left out."""
    view, files = memoryview(data), dict[str, bytes]()
    position, members, long_name, complete = 0, 0, None, True
    while position + BLOCK <= len(view):
        header = bytes(view[position : position + BLOCK])
        if header == bytes(BLOCK):
            return Contents(files, complete)
        size = _number(header[124:136])
        members += 1
        start = position + BLOCK
        if size is None or start + size > len(view) or members > MAX_MEMBERS or not _checksum_is_right(header):
            return Contents(files, complete=False)
        position = start + (size + BLOCK - 1) // BLOCK * BLOCK
        kind = header[156:157]
        if kind == _LONG_NAME and size <= 2 * MAX_NAME_BYTES:
            long_name = bytes(view[start : start + size]).rstrip(b"\0")
            continue
        name = _safe_name(long_name if long_name is not None else header[:100].split(b"\0")[0])
        long_name = None
        if kind in _REGULAR and name is not None:
            files[name] = bytes(view[start : start + size])
        elif kind != b"5":  # a folder is nothing to report; anything else is
            complete = False
    return Contents(files, complete=False)


def _number(field: bytes) -> int | None:
    text = field.strip(b"\0 ")
    if not text.isdigit():  # also GNU's base-256 sizes, which begin at 8 GiB
        return None
    try:
        return int(text, 8)
    except ValueError:
        return None


def _checksum_is_right(header: bytes) -> bool:
    return _number(header[148:156]) == sum(header[:148]) + 8 * ord(" ") + sum(header[156:])


def _safe_name(raw: bytes) -> str | None:
    """The relative path without `./`; None for one that is absolute, climbs, is too deep, long or unprintable."""
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    plain = name.isprintable() and not name.startswith("/") and ".." not in parts
    return "/".join(parts) if plain and 0 < len(parts) <= MAX_DEPTH and len(raw) <= MAX_NAME_BYTES else None
