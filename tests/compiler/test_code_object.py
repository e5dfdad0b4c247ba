"""Kernels read off code objects, honest and hostile."""

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amdkernel_mcp.compiler.code_object import MAX_BYTES, read_functions, read_kernels
from amdkernel_mcp.compiler.compile import Compiled
from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.compiler.kernels import LOOKUP, REVERSE, SAXPY

# The same facts as LLVM's own reader prints them.
FIELDS = {
    ".vgpr_count": "vgprs",
    ".agpr_count": "agprs",
    ".sgpr_count": "sgprs",
    ".group_segment_fixed_size": "lds_bytes",
    ".private_segment_fixed_size": "scratch_bytes",
    ".vgpr_spill_count": "vgpr_spills",
    ".sgpr_spill_count": "sgpr_spills",
    ".wavefront_size": "wave_size",
    ".max_flat_workgroup_size": "max_workgroup_size",
}
READ_NOTES = '. /opt/amdkernel/compile/tools; "${objdump%objdump}readelf" --notes k.co > "$OUT/notes"'


def survive(code: bytes) -> None:
    """Read all that the product reads; only our own error may come."""
    for read in (read_kernels, read_functions, lambda code: LineTable(code).line_of(0x1600)):
        try:
            read(code)
        except ToolchainError:
            continue


@pytest.fixture(scope="module")
def code_object(compile_ok: Callable[..., Compiled]) -> bytes:
    code = compile_ok(REVERSE).code_object
    assert code is not None
    return code


@pytest.mark.sandbox
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("source", [SAXPY, REVERSE, LOOKUP], ids=["saxpy", "reverse", "lookup"])
def test_resources_are_those_that_llvm_readelf_prints(
    compile_ok: Callable[..., Compiled], sandbox: Sandbox, source: str, arch: str
) -> None:
    code = compile_ok(source, arch).code_object
    assert code is not None
    notes = sandbox.run("compile", ["sh", "-c", READ_NOTES], {"k.co": code}, timeout_s=300).files["notes"].decode()
    [kernel] = read_kernels(code)
    printed = {name: int(value) for name, value in re.findall(r"(\.\w+): +(\d+)$", notes, re.M)}
    expected = {field: printed[key] for key, field in FIELDS.items() if key in printed}
    assert len(expected) >= 8
    assert {field: getattr(kernel, field) for field in expected} == expected


@pytest.mark.sandbox
def test_functions_cover_the_code(code_object: bytes) -> None:
    [function] = read_functions(code_object)
    assert function.name == "reverse"
    assert function.end > function.start


@pytest.mark.parametrize(
    "code", [b"", b"\x7fELF", b"\x7fELF" + b"\xff" * 100, b"__CLANG_OFFLOAD_BUNDLE__" + b"\0" * 64]
)
def test_what_is_no_code_object_is_a_toolchain_error(code: bytes) -> None:
    with pytest.raises(ToolchainError, match="code object"):
        read_kernels(code)


def test_a_giant_is_refused_unread() -> None:
    with pytest.raises(ToolchainError, match="more than"):
        read_kernels(bytes(MAX_BYTES + 1))


@pytest.mark.sandbox
@settings(max_examples=150, deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_code_object_raises_nothing_but_ours_and_ends(code_object: bytes, data: st.DataObject) -> None:
    damaged = bytearray(code_object)
    for _ in range(data.draw(st.integers(1, 8))):
        position = data.draw(st.integers(0, len(damaged) - 4))
        damaged[position : position + 4] = data.draw(st.binary(min_size=4, max_size=4))
    survive(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


@pytest.mark.sandbox
@settings(max_examples=100, deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_whole_code_object_with_wild_headers_raises_nothing_but_ours(code_object: bytes, data: st.DataObject) -> None:
    table = int.from_bytes(code_object[40:48], "little")  # e_shoff
    damaged = bytearray(code_object)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(table, len(damaged) - 8) | st.integers(16, 56))
        value = data.draw(st.sampled_from([0, 1, 0xFF, 0x800, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1]))
        damaged[position : position + 8] = value.to_bytes(8, "little")
    survive(bytes(damaged))


@settings(max_examples=200, deadline=5000)
@given(st.binary(max_size=400))
def test_random_bytes_raise_nothing_but_ours(rubbish: bytes) -> None:
    survive(rubbish)
    survive(b"\x7fELF\x02\x01\x01\x40" + rubbish)
