"""What a code object says about its kernels, read from its ELF notes and symbols.

Source: LLVM, "User Guide for AMDGPU Backend", sections "Code Object V5 Metadata" and "ELF Code Object". The bytes come
from a sandbox: whatever they hold, the answer is a value or ToolchainError, in time bounded by their number.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING

from amdkernel_mcp.compiler.launch_needs import read_launch_needs
from amdkernel_mcp.errors import InputError, ToolchainError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

MAX_BYTES = 64 << 20
MAX_SECTIONS = 256
MAX_SYMBOLS = 100_000
MAX_KERNELS = 1000
_METADATA_NOTE = 32  # NT_AMDGPU_METADATA
_COMPRESSED = 0x800  # SHF_COMPRESSED: no compiler sets it here, and a small section could unpack to any size
_NAME_CHARS = 2048  # Tensile names kernels by all their parameters: 600 and more
_MAX_ARGUMENTS, _MAX_ARGUMENT_BYTES = 1000, 1 << 20


@dataclass(frozen=True)
class Kernel:
    """One kernel's resources, in the metadata's own terms."""

    name: str
    vgprs: int  # of the unified file where there is one, so AGPRs included
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    vgpr_spills: int
    sgpr_spills: int
    wave_size: int
    max_workgroup_size: int
    cu_mode: bool


@dataclass(frozen=True)
class Function:
    """A function's code: virtual addresses [start, end)."""

    name: str
    start: int
    end: int


@contextmanager
def open_code_object(code: bytes) -> Iterator["ELFFile"]:
    """The ELF file, for reading inside the `with`: whatever its bytes make the reader raise becomes ToolchainError."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile

    if len(code) > MAX_BYTES:
        raise ToolchainError(f"the code object has {len(code)} bytes, more than {MAX_BYTES}")
    try:
        elf = ELFFile(BytesIO(code))
        if elf.num_sections() > MAX_SECTIONS:
            raise ToolchainError(f"the code object has {elf.num_sections()} sections, more than {MAX_SECTIONS}")
        if any(section["sh_flags"] & _COMPRESSED for section in elf.iter_sections()):
            raise ToolchainError("the code object has a compressed section")
        yield elf
    except (ELFError, DWARFError, ConstructError, struct.error, ArithmeticError, LookupError) as error:
        raise _damaged(error) from error
    except (AssertionError, AttributeError, EOFError, OSError, TypeError, ValueError) as error:
        raise _damaged(error) from error  # the readers' asserts, and their arithmetic on None
    except (MemoryError, NotImplementedError, RecursionError) as error:
        raise _damaged(error) from error


def read_kernels(code: bytes) -> list[Kernel]:
    """The kernels in the order of the metadata. Raises ToolchainError for bytes that are not a code object."""
    with open_code_object(code) as elf:
        return [_kernel(entry) for entry in _metadata_kernels(elf)]


def read_functions(code: bytes) -> list[Function]:
    """The functions with code, by address. Raises ToolchainError."""
    from elftools.elf.sections import SymbolTableSection

    functions = set()
    with open_code_object(code) as elf:
        for section in elf.iter_sections():
            if not isinstance(section, SymbolTableSection):
                continue
            for symbol in islice(section.iter_symbols(), MAX_SYMBOLS):
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"] > 0:
                    start = int(symbol["st_value"])
                    functions.add((start, start + int(symbol["st_size"]), str(symbol.name)[:_NAME_CHARS]))
    return [Function(name, start, end) for start, end, name in sorted(functions)]


def read_kernel_code(code: bytes) -> dict[str, Function]:
    """The functions by name; a kernel whose symbol has no size, as hand-written ones, by its descriptor.

    Raises ToolchainError.
    """
    from amdkernel_mcp.compiler.elf_file import ElfFile
    from amdkernel_mcp.compiler.object_kernels import code_ranges, read_object_kernels
    from amdkernel_mcp.compiler.object_target import read_target

    found = {function.name: function for function in read_functions(code)}
    try:
        elf = ElfFile(code)
        kernels, _ = read_object_kernels(elf, read_target(elf))
        places = zip(kernels, code_ranges(elf, kernels), strict=True)
        unnamed = {kernel.name: place for kernel, place in places if place and kernel.name not in found}
    except InputError:
        return found
    return found | {name: Function(name, place.start, place.end) for name, place in unnamed.items()}


def _metadata_kernels(elf: "ELFFile") -> list[dict[str, object]]:
    import msgpack
    from elftools.elf.sections import NoteSection

    kernels: list[dict[str, object]] = []  # a file that was linked from several objects has a note of each
    found = False
    for section in elf.iter_sections():
        if not isinstance(section, NoteSection):
            continue
        for note in islice(section.iter_notes(), MAX_KERNELS):
            if note["n_name"] != "AMDGPU" or note["n_type"] not in (_METADATA_NOTE, "NT_AMDGPU_METADATA"):
                continue
            try:
                metadata = msgpack.unpackb(note["n_descdata"], raw=False, strict_map_key=False)
            except (msgpack.exceptions.UnpackException, ValueError) as error:
                raise _damaged(error) from error
            kernels += _kernel_entries(metadata)
            found = True
            if len(kernels) > MAX_KERNELS:
                raise ToolchainError(f"the code object has more than {MAX_KERNELS} kernels")
    if not found:
        raise ToolchainError("the code object has no AMDGPU metadata")
    return kernels


def _kernel_entries(metadata: object) -> list[dict[str, object]]:
    entries = metadata.get("amdhsa.kernels") if isinstance(metadata, dict) else None
    if not isinstance(entries, list) or len(entries) > MAX_KERNELS or not all(isinstance(e, dict) for e in entries):
        raise ToolchainError("the metadata of the code object has no list of kernels")
    return entries


def _kernel(entry: dict[str, object]) -> Kernel:
    needs = read_launch_needs(entry)
    _check_arguments(entry)
    return Kernel(
        name=_text(entry, ".name"),
        vgprs=_number(entry, ".vgpr_count"),
        agprs=_number(entry, ".agpr_count", 0),
        sgprs=_number(entry, ".sgpr_count"),
        lds_bytes=_number(entry, ".group_segment_fixed_size") + (needs.lds if needs else 0),
        scratch_bytes=_number(entry, ".private_segment_fixed_size"),
        vgpr_spills=_number(entry, ".vgpr_spill_count", 0),
        sgpr_spills=_number(entry, ".sgpr_spill_count", 0),
        wave_size=_wave_size(entry),
        max_workgroup_size=_number(entry, ".max_flat_workgroup_size", 1024),
        cu_mode=not entry.get(".workgroup_processor_mode", True),
    )


def _check_arguments(entry: dict[str, object]) -> None:
    arguments = entry.get(".args", [])
    if not isinstance(arguments, list) or len(arguments) > _MAX_ARGUMENTS:
        raise ToolchainError("a kernel of the code object has no usable .args")
    for each in arguments:
        size = each.get(".size") if isinstance(each, dict) else None
        if (
            not isinstance(size, int)
            or not 0 <= size <= _MAX_ARGUMENT_BYTES
            or not isinstance(each.get(".value_kind"), str)
        ):
            raise ToolchainError("a kernel of the code object has an argument without a size or a kind")


def _text(entry: dict[str, object], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.isprintable():
        raise ToolchainError(f"a kernel of the code object has no {key} that can be shown")
    return value[:_NAME_CHARS]


def _number(entry: dict[str, object], key: str, default: int | None = None) -> int:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise ToolchainError(f"a kernel of the code object has no usable {key}")
    return value


def _wave_size(entry: dict[str, object]) -> int:
    size = _number(entry, ".wavefront_size", 64)
    if size not in (32, 64):
        raise ToolchainError(f"a kernel of the code object has waves of {size} lanes")
    return size


def _damaged(error: Exception) -> ToolchainError:
    return ToolchainError(f"the code object cannot be read: {type(error).__name__}: {str(error)[:200]}")
