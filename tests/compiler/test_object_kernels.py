"""Kernels of code objects that others may have made: with fewer metadata, with none, with lies, and damaged."""

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amdkernel_mcp.compiler.compile import Compiled
from amdkernel_mcp.compiler.elf_file import AMDGPU, MAGIC, ElfFile
from amdkernel_mcp.compiler.object_kernels import (
    ObjectKernel,
    code_ranges,
    contradictions,
    read_object_kernels,
)
from amdkernel_mcp.compiler.object_target import _MACHINES, read_target
from amdkernel_mcp.errors import InputError
from tests.compiler.kernels import LOOKUP, REVERSE
from tests.foreign_objects import Metadata, with_header, with_metadata

ARCHES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
TARGET_C = Path(__file__).resolve().parents[2] / "sandbox/emulator/hip/code/target.c"
IN_AGPRS = """
extern "C" __global__ void sums(float* x) {
  typedef float f4 __attribute__((ext_vector_type(4)));
  f4 a = {x[0], x[1], x[2], x[3]};
  for (int i = 0; i < 9; i++) a = __builtin_amdgcn_mfma_f32_4x4x1f32(x[i], x[i + 9], a, 0, 0, 0);
  asm volatile("; uses %0" :: "a"(a));
  x[threadIdx.x] = a[0];
}
"""


def kernels_of(code: bytes) -> list[ObjectKernel]:
    elf = ElfFile(code)
    kernels, _ = read_object_kernels(elf, read_target(elf))
    return kernels


def survive(code: bytes) -> None:
    """Read all that the product reads; only our own error may come, with a sentence."""
    reason = None
    try:
        elf = ElfFile(code)
        kernels, _ = read_object_kernels(elf, read_target(elf))
        code_ranges(elf, kernels)
        for kernel in kernels:
            contradictions(kernel)
    except InputError as error:
        reason = error.message
    assert reason is None or len(reason) > 10


def only_the_name(metadata: Metadata) -> None:
    for kernel in metadata["amdhsa.kernels"]:
        for key in set(kernel) - {".name", ".symbol"}:
            del kernel[key]


def no_kernels(metadata: Metadata) -> None:
    metadata["amdhsa.kernels"] = []


def code_of(compiled: Compiled) -> bytes:
    assert compiled.code_object is not None
    return compiled.code_object


@pytest.fixture(scope="module")
def code_object(compile_ok: Callable[..., Compiled]) -> bytes:
    return code_of(compile_ok(REVERSE))


def test_the_names_of_architectures_are_those_of_the_emulator() -> None:
    pairs = re.findall(r'\{(0x[0-9a-f]{2}), "(gfx[^"]+)"\}', TARGET_C.read_text(encoding="utf-8"))
    assert {int(machine, 16): name for machine, name in pairs} == _MACHINES


@pytest.mark.sandbox
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("source", [REVERSE, LOOKUP], ids=["reverse", "lookup"])
def test_what_the_metadata_lack_is_what_the_descriptor_allocates(
    compile_ok: Callable[..., Compiled], source: str, arch: str
) -> None:
    code = code_of(compile_ok(source, arch))
    [told], [found] = kernels_of(code), kernels_of(with_metadata(code, only_the_name))
    assert contradictions(told) == []
    for exact in ("lds_bytes", "scratch_bytes", "kernarg_bytes", "wave_size", "dynamic_stack", "cu_mode"):
        assert getattr(found, exact) == getattr(told, exact), exact
    assert found.vgprs is not None
    assert 0 <= found.vgprs - (told.vgprs or 0) < 8
    assert (found.sgprs is None) == arch.startswith("gfx1")
    assert found.sgprs is None or 0 <= found.sgprs - (told.sgprs or 0) < 16
    assert (found.vgpr_spills, found.sgpr_spills, found.max_workgroup_size) == (None, None, None)
    assert {"vgprs", "lds_bytes", "scratch_bytes", "wave_size"} <= {*found.from_descriptor}
    assert "lds_bytes" not in told.from_descriptor


@pytest.mark.sandbox
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_accumulation_registers_are_those_behind_the_first_one(compile_ok: Callable[..., Compiled], arch: str) -> None:
    code = code_of(compile_ok(IN_AGPRS, arch))
    [told], [found] = kernels_of(code), kernels_of(with_metadata(code, only_the_name))
    assert told.agprs
    assert found.agprs is not None
    assert 0 <= found.agprs - told.agprs < 8


@pytest.mark.sandbox
def test_waves_of_64_on_rdna_are_read_off_the_descriptor(compile_ok: Callable[..., Compiled]) -> None:
    code = code_of(compile_ok(REVERSE, "gfx1100", ("-mwavefrontsize64",)))
    [told], [found] = kernels_of(code), kernels_of(with_metadata(code, only_the_name))
    assert (told.wave_size, found.wave_size) == (64, 64)
    assert 0 <= (found.vgprs or 0) - (told.vgprs or 0) < 4


@pytest.mark.sandbox
def test_a_kernel_that_no_metadata_name_is_found_by_its_descriptor(code_object: bytes) -> None:
    [kernel] = kernels_of(with_metadata(code_object, no_kernels))
    assert (kernel.name, kernel.lds_bytes, kernel.max_workgroup_size) == ("reverse", 4000, None)


@pytest.mark.sandbox
def test_a_kernel_with_a_name_as_long_as_tensiles_has_its_descriptor_and_code(
    compile_ok: Callable[..., Compiled],
) -> None:
    """rocBLAS's are named by all their parameters, and differ in the end alone."""
    name = "Cijk_" + "PGR1_" * 150
    both = "".join(f'extern "C" __global__ void {name}{end}(int* x) {{ *x = {end}; }}\n' for end in (1, 2))
    code = compile_ok(both).code_object or b""
    kernels = kernels_of(code)
    assert {kernel.name for kernel in kernels} == {f"{name}1", f"{name}2"}
    assert all(kernel.descriptor for kernel in kernels)
    assert len({place.start for place in code_ranges(ElfFile(code), kernels) if place}) == 2


@pytest.mark.sandbox
def test_values_that_are_no_numbers_are_not_believed(code_object: bytes) -> None:
    def lie(metadata: Metadata) -> None:
        metadata["amdhsa.kernels"][0] |= {
            ".vgpr_count": -1, ".sgpr_count": "many", ".wavefront_size": 7, ".vgpr_spill_count": True,
            ".max_flat_workgroup_size": 1 << 60, ".reqd_workgroup_size": [0, 1, []],
        }  # fmt: skip

    [kernel] = kernels_of(with_metadata(code_object, lie))
    assert (kernel.wave_size, kernel.vgpr_spills, kernel.max_workgroup_size) == (64, None, None)
    assert kernel.required_workgroup_size is None
    assert {"vgprs", "sgprs", "wave_size"} <= {*kernel.from_descriptor}


@pytest.mark.sandbox
def test_metadata_that_contradict_the_descriptor_are_named(code_object: bytes) -> None:
    def lie(metadata: Metadata) -> None:
        metadata["amdhsa.kernels"][0] |= {".vgpr_count": 300, ".group_segment_fixed_size": 8}

    [kernel] = kernels_of(with_metadata(code_object, lie))
    assert contradictions(kernel) == [
        f"the metadata say 300 VGPRs, the kernel descriptor allocates {kernel.descriptor.vgprs}",
        "the metadata say 8 bytes of LDS, the kernel descriptor 4000",
    ]


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("header", "name", "refused"),
    [
        ({"flags": 0xE4C, "abi": 3}, "gfx942:sramecc+:xnack-", None),
        ({"flags": 0x14C, "abi": 1}, "gfx942:sramecc-:xnack+", None),
        ({"flags": 0x5F, "abi": 4}, "gfx9-4-generic", None),
        ({"flags": 0x4C, "abi": 0}, "gfx942", "version 2, and only 3 to 6"),
        ({"flags": 0xFF}, None, "machine is 0xff"),
        ({"os_abi": 0}, None, "OS ABI 0"),
    ],
)
def test_the_header_says_for_which_gpu_it_is(
    code_object: bytes, header: dict[str, int], name: str | None, refused: str | None
) -> None:
    code = with_header(code_object, **header)
    target = read_target(ElfFile(code))
    assert target.name == name
    assert refused is None or refused in (target.refused or "")
    assert (target.refused is None) == (refused is None)
    survive(code)


@pytest.mark.sandbox
def test_code_goes_to_the_end_of_its_section_where_no_symbol_has_a_size(code_object: bytes) -> None:
    elf = ElfFile(code_object)
    kernels, _ = read_object_kernels(elf, read_target(elf))
    [told] = code_ranges(elf, kernels)
    without = re.sub(re.escape((told.end - told.start).to_bytes(8, "little")), bytes(8), code_object)
    [found] = code_ranges(ElfFile(without), kernels)
    assert told
    assert found
    assert (told.named, found.named) == (True, False)
    assert found.start == told.start
    assert found.end >= told.end


@pytest.mark.sandbox
def test_every_cut_gives_a_sentence(code_object: bytes) -> None:
    for size in range(0, len(code_object), 97):
        survive(code_object[:size])


@pytest.mark.sandbox
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_raises_another_error(code_object: bytes, data: st.DataObject) -> None:
    damaged = bytearray(code_object)
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    survive(bytes(damaged))


def header(*, sections: int = 0, at: int = 64) -> bytes:
    ident = MAGIC + b"\2\1\1\x40\4" + bytes(7)
    return ident + struct.pack("<HHIQQQIHHHHHH", 3, AMDGPU, 1, 0, 0, at, 0x4C, 64, 56, 0, 64, sections, 0)


def test_sections_that_all_are_the_whole_file_are_not_read_again_and_again() -> None:
    notes = struct.pack("<IIQQQQIIQQ", 0, 7, 2, 0, 64 + 900 * 64, 60_000, 0, 0, 4, 0)
    with pytest.raises(InputError, match="overlap"):
        kernels_of(header(sections=900) + notes * 900 + bytes(60_000))


def test_a_file_without_section_headers_is_not_said_to_have_no_kernels() -> None:
    with pytest.raises(InputError, match="no section headers"):
        kernels_of(header() + bytes(500))


def test_endless_sections_are_refused() -> None:
    with pytest.raises(InputError, match="more than 1024"):
        kernels_of(header(sections=2000) + bytes(2000 * 64))


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("content", "odd"),
    [
        (b"\xc1", ["the metadata are malformed"]),
        (b"\x90", ["the metadata have no list of kernels"]),
        (b"\x81\x90\x01", ["the metadata are malformed"]),
        (b"\x91" * 3000, ["the metadata are malformed"]),
    ],
    ids=["not msgpack", "a list", "a list as a key", "nested without end"],
)
def test_metadata_of_any_shape_leave_the_descriptors(code_object: bytes, content: bytes, odd: list[str]) -> None:
    note = struct.pack("<III", 7, len(content), 32) + b"AMDGPU\0\0" + content + bytes(-len(content) % 4)
    elf = ElfFile(_with_note(code_object, note))
    kernels, found = read_object_kernels(elf, read_target(elf))
    assert found == odd
    assert [kernel.name for kernel in kernels] == ["reverse"]


def _with_note(code: bytes, note: bytes) -> bytes:
    """The file with another section of notes, at its end."""
    out = bytearray(code + bytes(-len(code) % 4))
    offset, (sections, count) = len(out), (struct.unpack_from("<Q", out, 40)[0], struct.unpack_from("<H", out, 60)[0])
    [at] = [sections + 64 * n for n in range(count) if struct.unpack_from("<I", out, sections + 64 * n + 4)[0] == 7]
    struct.pack_into("<QQ", out, at + 24, offset, len(note))
    return bytes(out) + note
