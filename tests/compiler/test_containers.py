"""The code objects in files of any kind, and files that were made to harm."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.compiler.containers import BUNDLE, MAX_OBJECTS, contained
from amdkernel_mcp.compiler.elf_file import AMDGPU, MAGIC
from amdkernel_mcp.errors import InputError
from tests.foreign_objects import bundle

CODE = MAGIC + b"\2\1\1\x40\4" + bytes(7) + struct.pack("<HH", 3, AMDGPU) + bytes(44)
HOST = ("host-x86_64-unknown-linux-gnu", b"")
TRIPLE = "hipv4-amdgcn-amd-amdhsa--gfx942"


def test_a_code_object_is_itself() -> None:
    assert [one.content for one in contained(CODE)] == [CODE]


def test_a_bundle_has_its_entries_by_name() -> None:
    found = contained(bundle([HOST, (TRIPLE, CODE), ("hip-amdgcn-amd-amdhsa--gfx90a", CODE + b"x")]))
    assert [(one.triple, one.content) for one in found] == [
        (TRIPLE, CODE),
        ("hip-amdgcn-amd-amdhsa--gfx90a", CODE + b"x"),
    ]


def test_bundles_that_a_linker_joined_are_all_found() -> None:
    one = bundle([(TRIPLE, CODE)])
    assert len(contained(one + bytes(4096 - len(one)) + one)) == 2


@pytest.mark.parametrize("content", [b"", b"text", MAGIC, b"\x7fELF" + bytes(60), BUNDLE + bytes(8)])
def test_what_has_no_device_code_has_none_or_a_reason(content: bytes) -> None:
    try:
        found = contained(content)
    except InputError as error:
        found, reason = [], error.message
    else:
        reason = ""
    assert found == []
    assert ("ELF file" in reason) == content.startswith(MAGIC)


@pytest.mark.parametrize("eighth", range(1, 8))
def test_a_cut_bundle_is_wrong_input(eighth: int) -> None:
    whole = bundle([(TRIPLE, CODE * 20)])
    cut = whole[: len(whole) * eighth // 8]
    with pytest.raises(InputError, match="cut off"):
        contained(cut)


def test_a_bundle_whose_entries_are_the_same_bytes_is_refused() -> None:
    entry = struct.pack("<QQQ", 32 + 25 * 9, len(CODE) * 9, 1) + b"x"
    with pytest.raises(InputError, match="overlap"):
        contained(BUNDLE + struct.pack("<Q", 9) + entry * 9 + CODE * 9)


def test_too_many_code_objects_are_refused() -> None:
    with pytest.raises(InputError, match=f"more than {MAX_OBJECTS}"):
        contained(bundle([(TRIPLE, CODE)] * 1000) * (MAX_OBJECTS // 1000 + 1))


def test_a_bundle_that_names_endless_entries_is_refused() -> None:
    with pytest.raises(InputError, match="names 4294967295 entries"):
        contained(BUNDLE + struct.pack("<Q", 0xFFFFFFFF) + bytes(100))


@given(st.binary(max_size=400))
def test_any_bytes_give_an_answer_or_a_reason(junk: bytes) -> None:
    for head in (b"", BUNDLE, MAGIC, CODE, b"CCOB\2\0\0\0", bundle([(TRIPLE, CODE)])):
        with suppress(InputError):
            contained(head + junk)
