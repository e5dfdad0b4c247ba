"""What is in a file of code objects: kernels, resources, occupancy, instructions, and what the emulator lacks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from amdkernel_mcp.compiler.containers import Contained, contained
from amdkernel_mcp.compiler.disassemble import disassemble
from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.hazards import hazards
from amdkernel_mcp.compiler.instruction_mix import instruction_mix
from amdkernel_mcp.compiler.isa import instructions_between
from amdkernel_mcp.compiler.jumps import Astray, astray_in
from amdkernel_mcp.compiler.object_kernels import (
    CodeRange,
    ObjectKernel,
    code_ranges,
    contradictions,
    read_object_kernels,
)
from amdkernel_mcp.compiler.object_target import ObjectTarget, read_target
from amdkernel_mcp.compiler.unpack_bundles import unpack_bundles
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.runner.coverage import NO_DEVICE_CODE, coverage_of_files, read_files
from amdkernel_mcp.hardware.occupancy import SIMDS, Occupancy, occupancy
from amdkernel_mcp.launch.kernel_symbols import symbols_called
from amdkernel_mcp.results.inspection import InspectedKernel, InspectedObject, InspectResult
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.results.machine import ImageCoverage, MissingInstruction

_BATCH_BYTES = 4 << 20  # of code objects whose disassembly fits into one answer of the sandbox
_MOST_LOOKED_AT = 400_000  # instructions of an object whose hazards are looked for: seconds
_HINT_CHARS = 600
_PADDING = ("s_nop", "s_code_end")  # behind the last function of a section
_FIELDS = {"vgprs": "vgpr", "agprs": "agpr", "sgprs": "sgpr", "wave_size": "wavefront_size"}


@dataclass(frozen=True)
class _Read:
    """One code object: what its bytes say without the sandbox."""

    given: Contained
    elf: ElfFile | None
    target: ObjectTarget
    kernels: list[ObjectKernel] = field(default_factory=list)
    ranges: list[CodeRange | None] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    left_out: int = 0  # kernels that were not asked for
    damaged: str | None = None


@dataclass(frozen=True)
class _Decoded:
    """What the sandbox said about one code object; None: nothing."""

    coverage: ImageCoverage | None
    instructions: Sequence[Instruction] | None
    names: Mapping[str, str]


def inspect_file(sandbox: Sandbox, path: Path, *, kernel: str | None = None, work: Work) -> InspectResult:
    """The code objects of a file; with `kernel`, of that kernel alone. The file is decoded in the sandbox.

    Raises InputError for a file that cannot be read, has no device code or is damaged throughout, and for a kernel that
    is not in it; SandboxError.
    """
    name = str(path)
    [content] = read_files([path]).values()
    try:
        objects = [_read(one) for one in _all_objects(sandbox, contained(content))]
        if not objects:
            hint = "name a code object, an offload bundle or a program that hipcc linked"
            raise InputError(NO_DEVICE_CODE, hint=hint)
        if all(one.damaged for one in objects):
            raise InputError(objects[0].damaged or "")
        if kernel is not None:
            objects = _only(objects, kernel)
        work.say("decoding")
        decoded = _decode(sandbox, objects)
    except InputError as error:
        raise InputError(error.message, file=name, hint=error.hint) from None
    return InspectResult(file=name, objects=[_shown(*both) for both in zip(objects, decoded, strict=True)])


def _all_objects(sandbox: Sandbox, found: Sequence[Contained]) -> list[Contained]:
    packed = [one for one in found if one.is_compressed]
    unpacked = iter(unpack_bundles(sandbox, packed) if packed else [])
    return [one for given in found for one in (next(unpacked) if given.is_compressed else [given])]


def _read(given: Contained) -> _Read:
    nothing = ObjectTarget(None, None, None, None)
    try:
        elf = ElfFile(given.content)
        target = read_target(elf)
        kernels, odd = read_object_kernels(elf, target)
        ranges = code_ranges(elf, kernels)
    except InputError as error:
        return _Read(given, None, nothing, damaged=error.message)
    if target.refused:
        odd.insert(0, f"AMD's runtime does not load it: {target.refused}")
    if not elf.is_linked:
        odd.append("it is not linked: what its kernels need is not final, and their code has no place yet")
    return _Read(given, elf, target, kernels, ranges, odd)


def _only(objects: Sequence[_Read], kernel: str) -> list[_Read]:
    """The objects with the kernels of this name, and of them these alone. Raises InputError where there is none."""
    try:
        called = {*symbols_called(kernel, [found.name for one in objects for found in one.kernels])}
    except InputError as error:  # a library has thousands
        raise InputError(error.message, hint=shorten(error.hint or "", _HINT_CHARS, placeholder=" …")) from None
    kept = []
    for one in objects:
        chosen = [n for n, found in enumerate(one.kernels) if found.name in called]
        if chosen:
            kernels, ranges = [one.kernels[n] for n in chosen], [one.ranges[n] for n in chosen]
            kept.append(replace(one, kernels=kernels, ranges=ranges, left_out=len(one.kernels) - len(kernels)))
    return kept


def _decode(sandbox: Sandbox, objects: Sequence[_Read]) -> list[_Decoded]:
    intact = {str(n): one.given.content for n, one in enumerate(objects) if not one.damaged}
    coverage = {file.file: file.images[0] for file in coverage_of_files(sandbox, intact).files if file.images}
    texts: dict[str, str] = {}
    names: dict[str, str] = {}
    for arch, batch in _batches(objects):
        symbols = sorted({kernel.name for name in batch for kernel in objects[int(name)].kernels})
        files = {f"{name}.co": objects[int(name)].given.content for name in batch}
        found, shown = disassemble(sandbox, arch, files, symbols)
        texts |= {name.removesuffix(".co"): text for name, text in found.items()}
        names |= shown
    return [
        _Decoded(coverage.get(name), list(parse_disassembly(texts[name])) or None if name in texts else None, names)
        for name in map(str, range(len(objects)))
    ]


def _batches(objects: Sequence[_Read]) -> list[tuple[str, list[str]]]:
    """The numbers of the objects that are disassembled together, with their architecture."""
    batches: list[tuple[str, list[str]]] = []
    room: dict[str, int] = {}
    for n, one in enumerate(objects):
        arch, size = one.target.arch, len(one.given.content)
        if arch is None or one.elf is None or not one.elf.is_linked:
            continue
        if size > room.get(arch, 0):
            batches.append((arch, []))
            room[arch] = _BATCH_BYTES
        next(numbers for of, numbers in reversed(batches) if of == arch).append(str(n))
        room[arch] -= size
    return batches


def _shown(one: _Read, decoded: _Decoded) -> InspectedObject:
    coverage = decoded.coverage
    notes = [*one.odd, *([coverage.note] if coverage and coverage.note else [])]
    if decoded.instructions is None and not one.damaged and one.elf and one.elf.is_linked and one.kernels:
        notes.append("it could not be disassembled, or its disassembly is too long")
    pairs = zip(one.kernels, one.ranges, strict=True)
    code = decoded.instructions
    astray = list(astray_in(code)) if code and len(code) <= _MOST_LOOKED_AT else None
    return InspectedObject(
        code_object=f"sha256:{hashlib.sha256(one.given.content).hexdigest()}",
        bytes=len(one.given.content),
        bundle_entry=one.given.triple,
        arch=one.target.arch,
        target=one.target.name,
        code_object_version=one.target.version,
        kernels=[_shown_kernel(kernel, place, one, decoded, astray) for kernel, place in pairs],
        not_emulated=_missing_of(one, coverage) if coverage else [],
        notes=notes,
        damaged=one.damaged,
    )


def _shown_kernel(
    kernel: ObjectKernel, place: CodeRange | None, one: _Read, decoded: _Decoded, astray: Sequence[Astray] | None
) -> InspectedKernel:
    fits = _occupancy(kernel, one.target.arch)
    source_name = decoded.names.get(kernel.name)
    code = _code_at(place, decoded.instructions) if decoded.instructions and place else []
    return InspectedKernel(
        name=kernel.name,
        source_name=source_name if source_name != kernel.name else None,
        vgpr=kernel.vgprs,
        agpr=kernel.agprs,
        sgpr=kernel.sgprs,
        lds_bytes=kernel.lds_bytes,
        scratch_bytes=kernel.scratch_bytes,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        wavefront_size=kernel.wave_size,
        kernarg_bytes=kernel.kernarg_bytes,
        max_workgroup_size=kernel.max_workgroup_size,
        required_workgroup_size=list(kernel.required_workgroup_size) if kernel.required_workgroup_size else None,
        dynamic_stack=kernel.dynamic_stack,
        occupancy_waves_per_simd=fits.waves_per_simd if fits else None,
        occupancy_limit=fits.limit if fits else None,
        instructions=instruction_mix(code) if code else None,
        not_emulated=_missing_in(place, one, decoded.coverage),
        hazards=_hazards(kernel, code, astray, one.target.arch) if code else None,
        from_descriptor=[_FIELDS.get(name, name) for name in kernel.from_descriptor],
        notes=contradictions(kernel),
    )


def _hazards(
    kernel: ObjectKernel, code: Sequence[Instruction], astray: Sequence[Astray] | None, arch: str | None
) -> list[str] | None:
    if astray is None or arch is None:
        return None
    return [f"{address:#x}: {sentence}" for address, sentence in hazards(kernel, code, astray, arch)]


def _code_at(place: CodeRange, instructions: Sequence[Instruction]) -> list[Instruction]:
    code = instructions_between(instructions, place.start, place.end)
    while not place.named and code and code[-1].mnemonic in _PADDING:
        code.pop()
    return code


def _occupancy(kernel: ObjectKernel, arch: str | None) -> Occupancy | None:
    """By what the descriptor allocates, as that is what the hardware takes; None where a part is not known."""
    there = kernel.descriptor
    vgprs = there.vgprs if there and there.vgprs is not None else kernel.vgprs
    sgprs = there.sgprs if there and there.sgprs is not None else kernel.sgprs
    wave_size = there.wave_size if there else kernel.wave_size
    lds_bytes = there.lds_bytes if there else kernel.lds_bytes
    workgroup = kernel.max_workgroup_size or prod(kernel.required_workgroup_size or [0])
    if arch not in SIMDS or vgprs is None or wave_size is None or lds_bytes is None or not workgroup:
        return None
    if sgprs is None:
        if SIMDS[arch].sgprs is not None:
            return None
        sgprs = 0
    return occupancy(
        arch,
        vgprs=vgprs,
        sgprs=sgprs,
        lds_bytes=lds_bytes,
        workgroup_size=workgroup,
        wave_size=wave_size,
        cu_mode=kernel.cu_mode,
    )


def _missing_of(one: _Read, coverage: ImageCoverage) -> list[MissingInstruction]:
    """Of all the code, or of the kernels that were asked for and of code without a symbol."""
    places = [place for place in one.ranges if place]
    return [
        missing
        for missing in coverage.missing
        if not one.left_out or missing.function is None or any(_is_in(missing, place) for place in places)
    ]


def _missing_in(place: CodeRange | None, one: _Read, coverage: ImageCoverage | None) -> list[str] | None:
    """What the emulator lacks of a kernel's own code; None where it is not known."""
    if coverage is None or coverage.note or place is None:
        return None
    if (
        not place.named
        and len(one.kernels) + one.left_out > 1
        and any(missing.function is None for missing in coverage.missing)
    ):
        return None  # counted for all code without a symbol together
    return sorted({missing.mnemonic for missing in coverage.missing if _is_in(missing, place)})


def _is_in(missing: MissingInstruction, place: CodeRange) -> bool:
    return place.start <= missing.offset < place.end
