"""The code objects in a file: the file itself, an offload bundle, or a program with device code.

Source: clang documentation, "Clang Offload Bundler": the layout of a bundle and of a compressed one. The bytes are
untrusted: the answer is a value or InputError, in time bounded by their number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from amdkernel_mcp.compiler.elf_file import MAGIC, ElfFile, is_code_object
from amdkernel_mcp.errors import InputError

BUNDLE, COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
MAX_OBJECTS = 4096  # rocBLAS has hundreds in one library: one for each source file and GPU
_MAX_ENTRIES = 1024
_TRIPLE_BYTES = 256
_FAT_BINARY = ".hip_fatbin"
_SIZE_BYTES = {2: 4, 3: 8}  # of the size in the header of a compressed bundle, by its version


@dataclass(frozen=True)
class Contained:
    """A code object, or a compressed bundle of some; `triple`: what the bundle calls it."""

    content: bytes
    triple: str | None = None

    @property
    def is_compressed(self) -> bool:
        """Whether the sandbox must unpack it first."""
        return self.content.startswith(COMPRESSED)


def contained(file: bytes) -> list[Contained]:
    """What is in a file, in its order; empty where there is no device code. Raises InputError for a damaged one."""
    if not file.startswith(MAGIC):
        found = _bundled(file) if file.startswith((BUNDLE, COMPRESSED)) else iter(())
    elif is_code_object(file):
        found = iter([Contained(file)])
    else:
        found = _in_program(ElfFile(file))
    kept: list[Contained] = []
    left = len(file)
    for one in found:
        left -= len(one.content)
        if len(kept) == MAX_OBJECTS:
            raise InputError(f"the file has more than {MAX_OBJECTS} code objects")
        if left < 0:
            raise InputError("the offload bundle is damaged: its entries overlap")
        kept.append(one)
    return kept


def _in_program(elf: ElfFile) -> Iterator[Contained]:
    for section in elf.sections:
        if section.name.startswith(_FAT_BINARY):
            yield from _bundled(elf.bytes_of(section))


def _bundled(content: bytes) -> Iterator[Contained]:
    """Bundles lie one after the other, with padding between them: the linker joins those of all object files."""
    at = 0
    for found in re.finditer(re.escape(BUNDLE) + b"|" + COMPRESSED, content):
        start = found.start()
        if start < at:
            continue  # inside the one before
        if content.startswith(COMPRESSED, start):
            size = _compressed_size(content, start)
            if size:
                yield Contained(content[start : start + size])
            at = start + size
            continue
        entries, at = _entries(content, start)
        for entry in entries:
            at = max(at, entry.end)
            if entry.end - entry.start > len(MAGIC) and content.startswith(MAGIC, entry.start):
                code = content[entry.start : entry.end]
                if is_code_object(code):
                    yield Contained(code, entry.triple)


@dataclass(frozen=True)
class _Entry:
    start: int
    end: int
    triple: str


def _entries(content: bytes, start: int) -> tuple[list[_Entry], int]:
    """The entries of the bundle at `start`, and where their list ends."""
    at = start + len(BUNDLE) + 8
    count = _number(content, at - 8)
    if count > _MAX_ENTRIES:
        raise InputError(f"the offload bundle is damaged: it names {count} entries")
    entries = []
    for _ in range(count):
        offset, size, length = (_number(content, at + 8 * n) for n in range(3))
        triple = content[at + 24 : at + 24 + min(length, _TRIPLE_BYTES)].decode("utf-8", "replace")
        at += 24 + length
        if at > len(content) or start + offset + size > len(content):
            raise InputError(f"the offload bundle is cut off: an entry ends behind its {len(content)} bytes")
        entries.append(_Entry(start + offset, start + offset + size, triple))
    return entries, at


def _number(content: bytes, at: int) -> int:
    if at + 8 > len(content):
        raise InputError(f"the offload bundle is cut off after {len(content)} bytes")
    return int.from_bytes(content[at : at + 8], "little")


def _compressed_size(content: bytes, start: int) -> int:
    """Bytes of a compressed bundle by its header; all that is left in version 1, 0 where this is not a header."""
    if start + 16 > len(content):
        return 0
    left = len(content) - start
    version = int.from_bytes(content[start + 4 : start + 6], "little")
    width = _SIZE_BYTES.get(version)
    if width is None:
        return left if version == 1 else 0
    return min(int.from_bytes(content[start + 8 : start + 8 + width], "little"), left)
