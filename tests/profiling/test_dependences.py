"""Which loads take their address from loaded data, from code that is written down here."""

import pytest

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.profiling.dependences import dependences

COMPARES = ["global_load_dword v5, v[2:3], off", "v_cmp_gt_f32_e32 vcc, 0, v5", "v_cndmask_b32_e32 v6, v5, v7, vcc"]
COUNTS_UP = ["v_add_co_u32_e32 v2, vcc, 4, v2", "v_addc_co_u32_e32 v3, vcc, 0, v3, vcc"]
FOLLOWS = ["global_load_dword v2, v[2:3], off", "v_lshlrev_b32_e32 v2, 2, v2"]


@pytest.mark.parametrize(("code", "share"), [([*COMPARES, *COUNTS_UP], 0.0), (FOLLOWS, 1.0)])
def test_an_address_that_is_counted_up_is_not_loaded_data_though_its_carry_shares_a_register(
    code: list[str], share: float
) -> None:
    body = ["s_mov_b32 s0, 0", *code]
    instructions = [Instruction(4 * n, text) for n, text in enumerate(body)]
    executions = {each.address: 10 if each.address else 1 for each in instructions}
    assert dependences(instructions, executions).dependent_loads == share
