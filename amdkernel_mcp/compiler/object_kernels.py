"""The kernels of a code object that anyone may have made: what its metadata say, and what its descriptors allocate.

Source: LLVM AMDGPUUsage, "Code Object V3 and later Metadata". A value that neither says is None, never 0. The bytes are
untrusted: the answer is a value or InputError, in time bounded by their number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from amdkernel_mcp.compiler.elf_file import ElfFile, Symbol
from amdkernel_mcp.compiler.kernel_descriptor import BYTES, SUFFIX, Descriptor, read_descriptor
from amdkernel_mcp.compiler.object_target import ObjectTarget
from amdkernel_mcp.errors import InputError

MAX_KERNELS = 5000
MAX_SECTIONS = 1024
_MAX_METADATA_BYTES = 8 << 20
_NAME_CHARS = 2048  # Tensile names kernels by all their parameters: 600 and more
_METADATA_NOTE, _OWNER = 32, b"AMDGPU"
_WAVE_SIZES = (32, 64)
_LARGEST_GRANULE = 8


@dataclass(frozen=True)
class ObjectKernel:
    """One kernel. `vgprs`: of the unified file where there is one, so AGPRs included."""

    name: str
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    wave_size: int | None
    kernarg_bytes: int | None
    max_workgroup_size: int | None
    required_workgroup_size: tuple[int, ...] | None
    dynamic_stack: bool | None
    cu_mode: bool
    from_descriptor: tuple[str, ...]  # the fields above that the metadata lack
    descriptor: Descriptor | None


def read_object_kernels(elf: ElfFile, target: ObjectTarget) -> tuple[list[ObjectKernel], list[str]]:
    """The kernels in the order of the metadata, then those that have a descriptor alone; and what is odd.

    Raises InputError for a damaged file, and for one with too many kernels.
    """
    if not elf.sections:
        raise InputError("the code object has no section headers, from which its kernels are read")
    if len(elf.sections) > MAX_SECTIONS:
        raise InputError(f"the code object has {len(elf.sections)} sections, more than {MAX_SECTIONS}")
    entries, odd = _metadata(elf)
    symbols = list(elf.symbols())
    descriptors = _descriptors(elf, symbols, target) if elf.is_linked else {}
    kernels = [_kernel(entry, descriptors.pop(_descriptor_name(entry), None), target) for entry in entries]
    kernels += [_kernel({".name": name.removesuffix(SUFFIX)}, found, target) for name, found in descriptors.items()]
    _check_number(len(kernels))
    return kernels, odd


def _check_number(kernels: int) -> None:
    if kernels > MAX_KERNELS:
        raise InputError(f"the code object has more than {MAX_KERNELS} kernels")


@dataclass(frozen=True)
class CodeRange:
    """Virtual addresses [start, end); `named`: a symbol says where the code ends."""

    start: int
    end: int
    named: bool


def code_ranges(elf: ElfFile, kernels: Sequence[ObjectKernel]) -> list[CodeRange | None]:
    """Where the code of each kernel is, None where no descriptor says it.

    Hand-written code often has symbols without a size: it goes on to the next function or to the section's end.
    """
    functions = {symbol.address: symbol.size for symbol in elf.symbols() if symbol.is_function}
    starts = sorted({*functions, *(kernel.descriptor.entry for kernel in kernels if kernel.descriptor)})
    next_start = dict(pairwise(starts))
    sections = [section for section in elf.sections if section.has_code]
    found: list[CodeRange | None] = []
    for kernel in kernels:
        start = kernel.descriptor.entry if kernel.descriptor else -1
        section = next((section for section in sections if section.holds(start)), None)
        if section is None:
            found.append(None)
            continue
        section_end = section.address + section.size
        size = functions.get(start, 0)
        end = start + size if size else next_start.get(start, section_end)
        found.append(CodeRange(start, min(end, section_end), bool(size)))
    return found


def _metadata(elf: ElfFile) -> tuple[list[dict[str, object]], list[str]]:
    """The entries of the kernels, of all notes: a linker joins those of several files."""
    import msgpack

    entries: list[dict[str, object]] = []
    notes = [content for owner, kind, content in elf.notes() if (owner, kind) == (_OWNER, _METADATA_NOTE)]
    if not notes:
        return [], ["there are no AMDGPU metadata"]
    odd = []
    for content in notes:
        if len(content) > _MAX_METADATA_BYTES:
            raise InputError(
                f"the metadata of the code object have {len(content)} bytes, more than {_MAX_METADATA_BYTES}"
            )
        try:
            metadata = msgpack.unpackb(content, raw=False, strict_map_key=False)
        except (msgpack.exceptions.UnpackException, ValueError, TypeError):  # TypeError: a key that is a list
            odd.append("the metadata are malformed")
            continue
        listed = metadata.get("amdhsa.kernels") if isinstance(metadata, dict) else None
        if not isinstance(listed, list):
            odd.append("the metadata have no list of kernels")
            continue
        named = [entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get(".name"), str)]
        if len(named) < len(listed):
            odd.append(f"the metadata have {len(listed) - len(named)} kernels without a name")
        entries += named
        _check_number(len(entries))
    return entries, odd


def _descriptor_name(entry: Mapping[str, object]) -> str:
    symbol = entry.get(".symbol")
    return (symbol if isinstance(symbol, str) else f"{entry['.name']}{SUFFIX}")[:_NAME_CHARS]


def _descriptors(elf: ElfFile, symbols: Iterable[Symbol], target: ObjectTarget) -> dict[str, Descriptor]:
    found: dict[str, Descriptor] = {}
    for symbol in symbols:
        if not symbol.name.endswith(SUFFIX) or symbol.size != BYTES or symbol.name in found:
            continue
        raw = elf.at(symbol.address, BYTES)
        if raw is not None:
            found[symbol.name] = read_descriptor(raw, address=symbol.address, target=target)
            _check_number(len(found))
    return found


_NUMBERS = {
    "vgprs": ".vgpr_count",
    "agprs": ".agpr_count",
    "sgprs": ".sgpr_count",
    "lds_bytes": ".group_segment_fixed_size",
    "scratch_bytes": ".private_segment_fixed_size",
    "vgpr_spills": ".vgpr_spill_count",
    "sgpr_spills": ".sgpr_spill_count",
    "wave_size": ".wavefront_size",
    "kernarg_bytes": ".kernarg_segment_size",
    "max_workgroup_size": ".max_flat_workgroup_size",
}


def _kernel(entry: Mapping[str, object], descriptor: Descriptor | None, target: ObjectTarget) -> ObjectKernel:
    values = {field: _number(entry.get(key)) for field, key in _NUMBERS.items()}
    if values["wave_size"] not in _WAVE_SIZES:
        values["wave_size"] = None
    if not target.has_agprs and values["agprs"] is None:
        values["agprs"] = 0
    taken = [field for field, value in values.items() if value is None and hasattr(descriptor, field)]
    values |= {field: getattr(descriptor, field) for field in taken}
    stack = entry.get(".uses_dynamic_stack")
    if not isinstance(stack, bool):
        stack = descriptor.dynamic_stack if descriptor else None
        taken += ["dynamic_stack"] if descriptor else []
    workgroup_processor = entry.get(".workgroup_processor_mode", True)
    return ObjectKernel(
        name=str(entry[".name"])[:_NAME_CHARS],
        **values,
        required_workgroup_size=_sizes(entry.get(".reqd_workgroup_size")),
        dynamic_stack=stack,
        cu_mode=descriptor.cu_mode if descriptor else not workgroup_processor,
        from_descriptor=tuple(field for field in taken if field == "dynamic_stack" or values[field] is not None),
        descriptor=descriptor,
    )


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 40 else None


def _sizes(value: object) -> tuple[int, ...] | None:
    """Three sizes with a workgroup of at most 1024; None for anything else."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    sizes = tuple(size for size in map(_number, value) if size)
    return sizes if len(sizes) == 3 and prod(sizes) <= 1024 else None


def contradictions(kernel: ObjectKernel) -> list[str]:
    """Where the metadata say other than the descriptor, from which the hardware takes it."""
    descriptor = kernel.descriptor
    if descriptor is None:
        return []
    said = []
    claimed, allocated = kernel.vgprs, descriptor.vgprs
    if claimed is not None and allocated is not None and not 0 <= allocated - claimed < _LARGEST_GRANULE:
        said.append(f"the metadata say {claimed} VGPRs, the kernel descriptor allocates {allocated}")
    for label, claimed, allocated in (
        ("bytes of LDS", kernel.lds_bytes, descriptor.lds_bytes),
        ("bytes of scratch", kernel.scratch_bytes, descriptor.scratch_bytes),
        ("lanes in a wave", kernel.wave_size, descriptor.wave_size),
    ):
        if claimed is not None and claimed != allocated:
            said.append(f"the metadata say {claimed} {label}, the kernel descriptor {allocated}")
    return said
