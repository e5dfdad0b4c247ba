"""Which loads take their address from loaded data, from code that is written down here."""

import pytest

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.profiling.dependences import dependences

COMPARES = ["global_load_dword v5, v[2:3], off", "v_cmp_gt_f32_e32 vcc, 0, v5", "v_cndmask_b32_e32 v6, v5, v7, vcc"]
COUNTS_UP = ["v_add_co_u32_e32 v2, vcc, 4, v2", "v_addc_co_u32_e32 v3, vcc, 0, v3, vcc"]
FOLLOWS = ["global_load_dword v2, v[2:3], off", "v_lshlrev_b32_e32 v2, 2, v2"]
STARTS = ["v_mov_b32_e32 v2, s0", "v_mov_b32_e32 v3, s1"]


def loop(body: list[str]) -> list[str]:
    """The body, and the branch back to its start: as a word of 16 bits, as the disassembler prints it."""
    return [*body, f"s_cbranch_scc1 {(1 << 16) - len(body) - 1}"]


@pytest.mark.parametrize(
    ("code", "share"),
    [
        pytest.param(loop([*COMPARES, *COUNTS_UP]), 0.0, id="counts up, its carry shares a register with a comparison"),
        pytest.param([*loop([*COMPARES, *COUNTS_UP]), *STARTS, *loop(FOLLOWS)], 0.5, id="a second loop does"),
        pytest.param([*STARTS, *loop([*COMPARES, *COUNTS_UP]), "v_mul_f32_e32 v2, v5, v5"], 0.0, id="used up later"),
        pytest.param(loop(FOLLOWS), 1.0, id="follows pointers"),
        pytest.param(loop([*STARTS, *loop(FOLLOWS)]), 1.0, id="follows pointers in the inner loop"),
        pytest.param(FOLLOWS, 0.0, id="no loop"),
    ],
)
def test_a_load_is_dependent_where_loaded_data_reach_its_address(code: list[str], share: float) -> None:
    instructions = [Instruction(4 * n, text) for n, text in enumerate(code)]
    executions = {each.address: 10 for each in instructions}
    assert dependences(instructions, executions).dependent_loads == share
