"""Uses of a result that come before a CDNA GPU has it are found on every path; with the wait states, nothing is."""

import pytest

from amdkernel_mcp.compiler.wait_states import first_missing, instructions


def found(*texts: str, arch: str = "gfx942") -> list[str]:
    """The sentences about instructions of four bytes that follow each other; a branch counts words."""
    lines = "".join(f"\t{text} // {0x100 + 4 * at:012X}: 00000000\n" for at, text in enumerate(texts))
    return [sentence for sentence, _ in first_missing(instructions(lines), arch)]


XDL_8 = "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[0:15]"
XDL_4 = "v_mfma_f32_16x16x16_bf16 a[0:3], v[20:21], v[22:23], 0"
SGEMM_8 = "v_mfma_f32_16x16x4_f32 v[0:3], v20, v22, 0"
DOUBLE = "v_mfma_f64_16x16x4_f64 v[0:7], v[20:21], v[22:23], 0"


@pytest.mark.parametrize(
    ("maker", "user", "needed"),
    [
        pytest.param(XDL_8, "v_max3_f32 v40, v3, v4, v5", 11, id="a vector instruction reads a matrix"),
        pytest.param(XDL_8, "v_mov_b32_e32 v15, 0", 11, id="or writes to it"),
        pytest.param(XDL_8, "ds_write_b128 v50, v[8:11]", 11, id="LDS stores it"),
        pytest.param(XDL_4, "v_accvgpr_read_b32 v9, a2", 7, id="four passes"),
        pytest.param(XDL_4, "global_store_dwordx4 v[40:41], a[0:3], off", 7, id="memory stores it"),
        pytest.param(SGEMM_8, "v_add_f32_e32 v9, v1, v9", 10, id="f32 operands"),
        pytest.param(SGEMM_8, "v_mfma_f32_16x16x4_f32 v[40:43], v3, v22, 0", 10, id="an operand of the next one"),
        pytest.param(DOUBLE, "v_add_f64 v[8:9], v[6:7], v[8:9]", 11, id="doubles"),
        pytest.param(DOUBLE, "global_store_dwordx2 v[40:41], v[6:7], off", 18, id="doubles to memory"),
        pytest.param("v_mov_b32_e32 v20, v1", XDL_8, 2, id="an operand is made"),
        pytest.param("v_add_f32_e32 v1, v2, v3", "v_add_f32_dpp v4, v1, v5 row_shr:1 row_mask:0xf", 2, id="DPP"),
        pytest.param("v_cmpx_eq_u32_e32 v1, v2", "v_mov_b32_dpp v4, v1 quad_perm:[1,0,3,2]", 5, id="EXEC and DPP"),
        pytest.param("v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]", 5, id="an address is scalar"),
        pytest.param("v_readfirstlane_b32 s4, v0", "v_readlane_b32 s6, v1, s4", 4, id="a lane is chosen"),
        pytest.param("v_div_scale_f32 v1, vcc, v2, v3, v2", "v_div_fmas_f32 v4, v5, v6, v7", 4, id="a division"),
        pytest.param("v_cmp_gt_f32_e32 vcc, v1, v2", "v_cndmask_b32_e32 v3, v4, v5, vcc", 2, id="a choice"),
        pytest.param("v_exp_f32_e32 v1, v2", "v_add_f32_e32 v3, v1, v3", 1, id="an exponential"),
    ],
)
def test_one_wait_state_too_few_is_found_and_enough_are_not(maker: str, user: str, needed: int) -> None:
    (sentence,) = found(maker, *["s_nop 0"] * (needed - 1), user)
    assert f"after {needed - 1} of {needed} wait states" in sentence
    assert "Put `s_nop 0` in between" in sentence
    assert not found(maker, f"s_nop {min(needed, 16) - 1}", *["s_nop 0"] * (needed - 16), user)
    assert f"after 0 of {needed} wait" in found(maker, user)[0]


@pytest.mark.parametrize(
    ("arch", "needed"), [("gfx90a", 19), ("gfx942", 11), ("gfx950", 12), ("gfx1100", None), ("gfx1201", None)]
)
def test_each_architecture_has_its_own_figures(arch: str, needed: int | None) -> None:
    from amdkernel_mcp.compiler.wait_states import ARCHS

    assert (arch in ARCHS) == (needed is not None)
    if needed is not None:
        assert f"of {needed} wait states" in found(XDL_8, "v_add_f32_e32 v40, v3, v4", arch=arch)[0]


def test_a_matrix_instruction_does_not_read_what_it_only_writes() -> None:
    made = "v_mov_b32_e32 v2, v1"
    assert not found(made, SGEMM_8), "as Triton 3.9 compiles attention"
    assert found(made, SGEMM_8.replace("22, 0", "22, v[0:3]")), "the sum that it adds to"
    assert found(made, "v_smfmac_f32_16x16x32_f16 v[0:3], v[20:21], v[24:27], v30"), "its result is its sum"


def test_sums_of_matrix_instructions_and_other_registers_need_nothing() -> None:
    assert not found(XDL_8, XDL_8, XDL_8)
    assert not found(XDL_8, "v_add_f32_e32 v40, v41, v42", "ds_write_b32 v43, v44", "s_mov_b32 s0, 3")
    assert not found(XDL_4, "v_add_f32_e32 v2, v1, v9"), "v2 and a2 are two registers"


def test_matrix_instructions_in_between_count_as_long_as_the_pipe_is_busy() -> None:
    other = XDL_8.replace("v[0:15]", "v[60:75]")
    assert not found(XDL_8, other, other, "v_add_f32_e32 v40, v3, v4")
    assert found(XDL_8, other, "v_add_f32_e32 v40, v3, v4")


def test_all_paths_are_followed_and_what_cannot_follow_is_not() -> None:
    use = "v_add_f32_e32 v40, v3, v4"
    around = ["s_nop 15", "s_cbranch_scc1 65533"]  # back to the use
    assert found("s_branch 1", use, XDL_8, "s_cbranch_scc1 65533", *["s_nop 15"] * 2)
    assert not found(XDL_8, "s_branch 1", use, "s_nop 15", use)
    assert not found(XDL_8, "s_endpgm", use)
    assert not found("s_branch 1", use, XDL_8, *around)
