"""Branches into the middle of an instruction are found in the disassembly."""

from amdkernel_mcp.compiler.jumps import jumps_astray

CODE = """
0000000000001600 <k>:
\ts_branch {}                                                // 000000001600: BF820001 <k+0x8>
\tv_add_f32_e32 v0, 0x40490fdb, v0                           // 000000001604: 020000FF 40490FDB
\tv_mov_b32_e32 v1, v0                                       // 00000000160C: 7E020300
\ts_cbranch_scc0 65532                                       // 000000001610: BF84FFFC <k+0x4>
\ts_endpgm                                                   // 000000001614: BF810000
"""


def test_a_branch_into_a_literal_is_named_with_the_instruction_that_it_leads_into() -> None:
    (found,) = jumps_astray(CODE.format(1))
    assert found.address == 0x1600
    assert "`s_branch 1` leads 4 bytes into `v_add_f32_e32 v0, 0x40490fdb, v0`" in found.sentence


def test_branches_to_instructions_are_left_alone() -> None:
    for words in (0, 2, 3, 65535):
        assert jumps_astray(CODE.format(words)) == [], words


def test_a_branch_out_of_the_code_is_named() -> None:
    assert "to where no code is" in jumps_astray(CODE.format(400))[0].sentence
    assert "to where no code is" in jumps_astray(CODE.format(65000))[0].sentence
