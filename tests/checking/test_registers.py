"""Registers beyond the allocation, results that are used too early, and branches astray are refused with their line."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.compiler.object_kernels import Descriptor, ObjectKernel
from amdkernel_mcp.compiler.register_limits import BeyondAllocation, first_beyond, registers_of
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]
NAIVE = (folder("examples") / "vector_add" / "kernels" / "naive.hip").read_text()
LINE = next(n for n, text in enumerate(NAIVE.splitlines(), 1) if "if (i < n)" in text)


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    made = Engine(settings)
    yield made
    made.close()


def with_assembly(text: str) -> str:
    return NAIVE.replace("    if (i < n)\n", f"    asm volatile({text});\n    if (i < n)\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("assembly", "register", "cured"),
    one_in(
        9,
        [
            ('"v_mov_b32 v200, 0"', "v200", '"v_mov_b32 v200, 0" ::: "v200"'),
            ('"v_accvgpr_write_b32 a100, 0"', "a100", '"v_accvgpr_write_b32 a100, 0" ::: "a100"'),
            ('"v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[96:99]"', "a3", ""),
            ('"ds_read_b64 v[60:61], v0\\ns_waitcnt lgkmcnt(0)"', "v61", ""),
        ],
        others=pytest.mark.thorough,
    ),
    ids=["v", "a", "mfma", "pair"],
)
def test_a_register_beyond_the_allocation_is_invalid(engine: Engine, assembly: str, register: str, cured: str) -> None:
    result = engine.do(Check(problem="vector_add", source=with_assembly(assembly)))
    assert result.verdict == "invalid"
    assert [(each.kind, each.line) for each in result.findings] == [("registers_over_limit", LINE)]
    assert f"names the {'vector' if register[0] == 'v' else 'accumulation'} register {register}" in result.reason
    if cured:
        assert engine.do(Check(problem="vector_add", source=with_assembly(cured))).verdict == "correct"


def test_vector_registers_may_lie_where_accumulation_registers_would_if_none_are_named() -> None:
    """As in AMD's hand-written attention: 160 vector registers by accum_offset, 256 in all."""
    allocated = Descriptor(
        entry=0, lds_bytes=0, scratch_bytes=0, kernarg_bytes=None, vgprs=256, agprs=96, sgprs=96, wave_size=64,
        cu_mode=False, dynamic_stack=False,
    )  # fmt: skip
    kernel = ObjectKernel(
        name="k", vgprs=256, agprs=96, sgprs=96, lds_bytes=0, scratch_bytes=0, vgpr_spills=None, sgpr_spills=None,
        wave_size=64, kernarg_bytes=None, max_workgroup_size=None, required_workgroup_size=None, dynamic_stack=False,
        cu_mode=False, from_descriptor=(), descriptor=allocated,
    )  # fmt: skip
    alone = [Instruction(0, "v_mov_b32_e32 v163, 0"), Instruction(4, "v_mov_b32_e32 v255, 0")]
    assert first_beyond(kernel, alone) is None
    beside = [*alone, Instruction(8, "v_accvgpr_write_b32 a3, 0")]
    assert first_beyond(kernel, beside) == BeyondAllocation("k", 0, "v163", 160)


def test_the_last_register_of_each_operand_is_read_and_nothing_else() -> None:
    text = "v_fma_f64 v[2:3], a[10:11], -v7, s[4:5]"
    assert list(registers_of(text)) == [("v", 3), ("a", 11), ("v", 7)]
    assert list(registers_of("s_branch 4 <v200+0x10>")) == []
    assert list(registers_of("v_mov_b32_e32 v1, 0xa3")) == [("v", 1)]


MATRIX = '"v_mfma_f32_4x4x1_16b_f32 v[20:23], v0, v0, 0\\n{}v_mov_b32 v24, v21" ::: "v20", "v21", "v22", "v23", "v24"'


def test_a_result_that_is_used_before_the_gpu_has_it_is_incorrect_and_named(engine: Engine) -> None:
    result = engine.do(Check(problem="vector_add", source=with_assembly(MATRIX.format(""))))
    assert (result.verdict, result.evidence) == ("incorrect", "static")
    assert [(each.kind, each.line) for each in result.findings] == [("missing_wait", LINE)]
    assert "uses v21 after 0 of 4 wait states" in result.reason
    assert "`s_nop 3`" in result.reason
    cured = engine.do(Check(problem="vector_add", source=with_assembly(MATRIX.format("s_nop 3\\n"))))
    assert cured.verdict == "correct", cured.reason


@pytest.mark.thorough
def test_a_branch_into_the_literal_of_an_instruction_is_invalid_and_named(engine: Engine) -> None:
    assembly = '"s_branch {}\\nv_add_f32 v4, 0x40490fdb, v0\\ns_nop 0" ::: "v4"'
    result = engine.do(Check(problem="vector_add", source=with_assembly(assembly.format(1))))
    assert result.verdict == "invalid"
    assert [(each.kind, each.line) for each in result.findings] == [("launch_error", LINE)]
    assert "`s_branch 1` leads 4 bytes into `v_add_f32" in result.reason
    assert engine.do(Check(problem="vector_add", source=with_assembly(assembly.format(2)))).verdict == "correct"
