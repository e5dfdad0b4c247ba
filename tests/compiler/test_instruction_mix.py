"""Instructions and their families."""

import pytest

from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.compiler.instruction_mix import FAMILIES, family_of, instruction_mix

TEXT = """
0000000000001600 <k>:
\ts_load_dwordx2 s[0:1], s[0:1], 0x0                         // 000000001600: C0060000 00000000
\tv_mov_b32_e32 v0, 0                                        // 000000001608: 7E000280
\ts_cbranch_scc1 485                                         // 00000000160C: BF8501E5 <k+0x7b8>
\tv_dual_mov_b32 v0, 0 :: v_dual_mov_b32 v1, 1               // 000000001610: CA100080 00000081
"""


@pytest.mark.parametrize(
    ("mnemonic", "family"),
    [
        ("v_add_f32_e32", "valu"), ("v_dual_mul_f32", "valu"), ("v_readfirstlane_b32", "valu"),
        ("v_accvgpr_read_b32", "valu"),
        ("v_mfma_f32_32x32x8_f16", "mfma"), ("v_smfmac_f32_16x16x32_f16", "mfma"),
        ("v_wmma_f32_16x16x16_f16", "wmma"), ("v_swmmac_f32_16x16x32_f16", "wmma"),
        ("s_add_u32", "salu"), ("s_and_saveexec_b64", "salu"), ("s_getpc_b64", "salu"),
        ("s_load_b128", "smem"), ("s_buffer_load_dword", "smem"), ("s_memtime", "smem"),
        ("global_load_dwordx4", "vmem"), ("buffer_atomic_add_f32", "vmem"), ("global_atomic_add_f32", "vmem"),
        ("flat_load_dword", "flat"), ("scratch_store_dwordx2", "scratch"), ("ds_read_b128", "lds"),
        ("ds_bpermute_b32", "lds"),
        ("s_branch", "branch"), ("s_cbranch_execz", "branch"), ("s_setpc_b64", "branch"), ("s_swappc_b64", "branch"),
        ("s_waitcnt", "wait"), ("s_wait_loadcnt", "wait"), ("s_delay_alu", "wait"),
        ("s_barrier", "other"), ("s_nop", "other"), ("s_endpgm", "other"), ("s_sendmsg", "other"), ("s_clause",
        "other"),
        ("buffer_gl0_inv", "other"), ("buffer_wbl2", "other"), ("global_inv", "other"),
    ],
)  # fmt: skip
def test_a_mnemonic_has_its_family(mnemonic: str, family: str) -> None:
    assert family_of(mnemonic) == family


def test_instructions_keep_address_and_branch_goal() -> None:
    instructions = list(parse_disassembly(TEXT))
    assert [i.address for i in instructions] == [0x1600, 0x1608, 0x160C, 0x1610]
    assert instructions[2].text == "s_cbranch_scc1 485 <k+0x7b8>"


def test_the_counts_add_up_and_every_family_is_there() -> None:
    mix = instruction_mix(parse_disassembly(TEXT))
    assert tuple(mix) == FAMILIES
    assert sum(mix.values()) == 4
    assert mix["valu"] == 2, "a dual-issue pair is one instruction"
