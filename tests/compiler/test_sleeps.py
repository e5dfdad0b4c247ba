"""The instructions that put a wave to sleep, and for how many clocks."""

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.compiler.sleeps import sleep_clocks


def test_the_operand_counts_64_clocks_and_a_register_the_most() -> None:
    code = ["s_sleep 1", "s_sleep 0x7f", "s_sleep 0", "s_sleep_var s3", "s_nop 7", "v_add_f32_e32 v0, v1, v2"]
    found = sleep_clocks(Instruction(4 * place, text) for place, text in enumerate(code))
    assert found == {0: 64, 4: 127 * 64, 8: 64, 12: 127 * 64}
