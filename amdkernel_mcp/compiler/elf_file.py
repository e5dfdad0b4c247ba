"""The header, sections, notes and symbols of a 64-bit ELF file of unknown origin.

Source: the ELF-64 specification. Whatever the bytes are, the answer is a value or InputError, in time bounded by their
number: a name is cut, and nothing outside the file is read.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from amdkernel_mcp.errors import InputError

AMDGPU = 224
"""The machine of a code object."""
MAGIC = b"\x7fELF"
NAME_BYTES = 2048
MAX_SYMBOLS = 200_000
_READS = 16  # of all bytes of a file; a sound one is read three times
_HEADER, _SECTION, _SYMBOL, _NOTE = (
    struct.Struct(f"<{form}") for form in ("HHIQQQIHHHHHH", "IIQQQQIIQQ", "IBBHQQ", "III")
)
_HEADER_AT, _OS_ABI_AT, _ABI_AT, _MACHINE_AT = 16, 7, 8, 18
_CLASS_64, _LITTLE_ENDIAN = 2, 1
_NO_BITS, _NOTES, _SYMBOL_TABLES, _UNLINKED = 8, 7, (2, 11), 1
_LOADED = 2
_EXECUTABLE = 4
_FUNCTION = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the file; `address` is the virtual one of its first byte."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def has_code(self) -> bool:
        """Whether it holds instructions."""
        return bool(self.flags & _EXECUTABLE) and self.type != _NO_BITS

    def holds(self, address: int) -> bool:
        """Whether the file has the byte at a virtual address here."""
        return self.type != _NO_BITS and self.address <= address < self.address + self.size


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for `size` bytes at a virtual address."""

    name: str
    address: int
    size: int
    is_function: bool


def is_code_object(content: bytes) -> bool:
    """Whether these bytes begin as an ELF file for AMD's GPUs; the rest of it may be damaged."""
    return content.startswith(MAGIC) and content[_MACHINE_AT : _MACHINE_AT + 2] == AMDGPU.to_bytes(2, "little")


class ElfFile:
    """One file. Raises InputError for one that is not a 64-bit little-endian ELF file, or whose headers lie outside."""

    def __init__(self, content: bytes) -> None:
        if not content.startswith(MAGIC):
            raise InputError("this is not an ELF file")
        if len(content) < _HEADER_AT + _HEADER.size:
            raise InputError("the ELF file is cut off in its header")
        if content[4] != _CLASS_64 or content[5] != _LITTLE_ENDIAN:
            raise InputError("the ELF file is not a 64-bit little-endian one")
        self.content = content
        self._may_read = _READS * len(content)  # sections may overlap, and each read copies
        self.os_abi, self.abi_version = content[_OS_ABI_AT], content[_ABI_AT]
        header = _HEADER.unpack_from(content, _HEADER_AT)
        self.is_linked = header[0] != _UNLINKED
        self.flags = int(header[6])
        self.sections = self._read_sections(at=header[5], entry=header[10], count=header[11], names=header[12])

    def _read_sections(self, *, at: int, entry: int, count: int, names: int) -> tuple[Section, ...]:
        if count and entry != _SECTION.size:
            raise InputError(f"the ELF file is damaged: its section headers have {entry} bytes")
        if at + count * entry > len(self.content):
            raise InputError(f"the ELF file is cut off: its section headers lie behind its {len(self.content)} bytes")
        rows = [_SECTION.unpack_from(self.content, at + entry * n) for n in range(count)]
        table = self._bytes(rows[names][4], rows[names][5]) if names < count else b""
        return tuple(Section(_name_at(table, row[0]), row[1], row[2], row[3], row[4], row[5], row[6]) for row in rows)

    def bytes_of(self, section: Section) -> bytes:
        """What the file has of a section. Raises InputError where it ends before."""
        return b"" if section.type == _NO_BITS else self._bytes(section.offset, section.size)

    def at(self, address: int, size: int) -> bytes | None:
        """The bytes from a virtual address on; None where no section has all of them."""
        for section in self.sections:
            if section.holds(address) and address + size <= section.address + section.size:
                return self._bytes(section.offset + (address - section.address), size)
        return None

    def loaded(self) -> Iterator[tuple[str, int, int, bytes]]:
        """Name, address, size and content of each section that is loaded: no debug data. Raises InputError."""
        for section in self.sections:
            if section.flags & _LOADED:
                yield section.name, section.address, section.size, self.bytes_of(section)

    def notes(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Owner, type and content of each note. Raises InputError for one that is cut off."""
        for section in self.sections:
            if section.type != _NOTES:
                continue
            content, at = self.bytes_of(section), 0
            while at + _NOTE.size <= len(content):
                owner_bytes, content_bytes, kind = _NOTE.unpack_from(content, at)
                start = at + _NOTE.size + _round_up(owner_bytes)
                if start + content_bytes > len(content):
                    raise InputError("the ELF file is damaged: a note is longer than its section")
                owner = content[at + _NOTE.size : at + _NOTE.size + min(owner_bytes, NAME_BYTES)].rstrip(b"\0")
                yield owner, kind, content[start : start + content_bytes]
                at = start + _round_up(content_bytes)

    def symbols(self) -> Iterator[Symbol]:
        """The symbols that have a name and a place, of all symbol tables: one may come twice. Raises InputError."""
        left = MAX_SYMBOLS
        for section in self.sections:
            if section.type not in _SYMBOL_TABLES or section.link >= len(self.sections):
                continue
            names = self.bytes_of(self.sections[section.link])
            content = self.bytes_of(section)
            rows = content[: min(len(content) // _SYMBOL.size, left) * _SYMBOL.size]
            left -= len(rows) // _SYMBOL.size
            for name, info, _, index, value, size in _SYMBOL.iter_unpack(rows):
                if index and name:
                    yield Symbol(_name_at(names, name), value, size, info & 15 == _FUNCTION)

    def _bytes(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.content):
            raise InputError(f"the ELF file is cut off: a section ends behind its {len(self.content)} bytes")
        self._may_read -= size
        if self._may_read < 0:
            raise InputError("the ELF file is damaged: its sections overlap")
        return self.content[offset : offset + size]


def _name_at(table: bytes, offset: int) -> str:
    """The text up to the next zero byte, cut; empty where the table has none."""
    if offset >= len(table):
        return ""
    return table[offset : offset + NAME_BYTES].partition(b"\0")[0].decode("utf-8", "replace")


def _round_up(size: int) -> int:
    return -(-size // 4) * 4
