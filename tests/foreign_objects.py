"""Code objects as other compilers write them: ours with another header, and with other metadata."""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

METADATA_NOTE, PT_NOTE, SHT_NOTE = 32, 4, 7
OS_ABI, ABI_VERSION, FLAGS = 7, 8, 48  # offsets in the ELF header
Metadata = dict[str, Any]


def with_header(code: bytes, *, os_abi: int | None = None, abi: int | None = None, flags: int | None = None) -> bytes:
    """The ELF file with other values in its header. abi: 1 is code object version 3, 4 is version 6."""
    out = bytearray(code)
    if os_abi is not None:
        out[OS_ABI] = os_abi
    if abi is not None:
        out[ABI_VERSION] = abi
    if flags is not None:
        struct.pack_into("<I", out, FLAGS, flags)
    return bytes(out)


def metadata_of(code: bytes) -> Metadata:
    """What the note of the compiler says."""
    offset, _ = _note_place(code)
    name_bytes, bytes_, _ = struct.unpack_from("<III", code, offset)
    start = offset + 12 + (name_bytes + 3) // 4 * 4
    unpacked: Metadata = msgpack.unpackb(code[start : start + bytes_], strict_map_key=False)
    return unpacked


def with_metadata(code: bytes, change: Callable[[Metadata], None]) -> bytes:
    """The ELF file whose note says what `change` makes of it: a new note at the file's end."""
    metadata = metadata_of(code)
    change(metadata)
    packed: bytes = msgpack.packb(metadata)
    note = struct.pack("<III", 7, len(packed), METADATA_NOTE) + b"AMDGPU\0\0" + packed
    out = bytearray(code + bytes(-len(code) % 4))
    offset = len(out)
    for header, at, size_at in _headers(code):
        struct.pack_into("<Q", out, header + at, offset)
        struct.pack_into("<Q", out, header + size_at, len(note))
    return bytes(out) + note + bytes(-len(note) % 4)


def bundle(entries: Sequence[tuple[str, bytes]]) -> bytes:
    """An offload bundle of files by their triples. Source: clang documentation, "Clang Offload Bundler"."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    at = len(head) + sum(24 + len(triple) for triple, _ in entries)
    for triple, code in entries:
        head += struct.pack("<QQQ", at, len(code), len(triple)) + triple.encode()
        at += len(code)
    return head + b"".join(code for _, code in entries)


def _note_place(code: bytes) -> tuple[int, int]:
    header, at, size_at = _headers(code)[0]
    return struct.unpack_from("<Q", code, header + at)[0], struct.unpack_from("<Q", code, header + size_at)[0]


def _headers(code: bytes) -> list[tuple[int, int, int]]:
    """The program and section headers of notes: where each is, and in it the fields of file offset and size."""
    programs, sections = struct.unpack_from("<QQ", code, 32)
    _, program_count, _, section_count = struct.unpack_from("<HHHH", code, 54)
    found = [(programs + 56 * n, 8, 32) for n in range(program_count)]
    found = [place for place in found if struct.unpack_from("<I", code, place[0])[0] == PT_NOTE]
    for n in range(section_count):
        if struct.unpack_from("<I", code, sections + 64 * n + 4)[0] == SHT_NOTE:
            found.append((sections + 64 * n, 24, 32))
    return found
