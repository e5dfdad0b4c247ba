"""The instructions that only pass time, and for how many clocks; none that the emulator knows is forgotten."""

import re
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.compiler.sleeps import INVALIDATE_CLOCKS, WRITE_BACK_CLOCKS, passing_clocks, sleep_clocks

ISA = Path(__file__).parents[2] / "sandbox" / "emulator" / "isa"
AT_ONCE = {
    "s_nop": "slots of the wave, which the simulation issues",
    "s_setprio": "", "s_wakeup": "", "s_incperflevel": "", "s_decperflevel": "", "s_ttracedata": "",
    "s_ttracedata_imm": "", "s_inst_prefetch": "", "s_set_inst_prefetch_distance": "", "s_set_valu_coexec_mode": "",
    "s_clause": "", "s_code_end": "", "s_version": "", "s_round_mode": "", "s_denorm_mode": "",
    "s_set_gpr_idx_mode": "", "s_set_gpr_idx_off": "", "s_setvskip": "",
    "buffer_inv": "of the CU's own cache; others are named by sc1", "buffer_gl0_inv": "of the CU's own cache",
    "global_inv": "of the CU's own cache; others are named by their scope",
}  # fmt: skip
"""Over at once, or for what another term of the model has; nothing waits for a prefetch."""
WAITS = re.compile(
    r"s_wait\w*|s_(?:buffer_)?prefetch_\w+|s_delay_alu|s_barrier\w*|s_get_barrier_state|s_endpgm\w*|s_trap|s_sethalt"
    r"|s_cbranch\w*|s_atc_probe\w*"
)


def test_the_operand_counts_64_clocks_and_a_register_the_most() -> None:
    code = ["s_sleep 1", "s_sleep 0x7f", "s_sleep 0", "s_sleep_var s3", "s_nop 7", "v_add_f32_e32 v0, v1, v2"]
    found = sleep_clocks(Instruction(4 * place, text) for place, text in enumerate(code))
    assert found == {0: 64, 4: 127 * 64, 8: 64, 12: 127 * 64}


@pytest.mark.parametrize(
    ("text", "clocks"),
    [
        ("buffer_wbl2 sc0 sc1", WRITE_BACK_CLOCKS),
        ("buffer_inv sc0 sc1", INVALIDATE_CLOCKS),
        ("buffer_inv sc0", 0),
        ("buffer_wbinvl1_vol", WRITE_BACK_CLOCKS),
        ("global_wb scope:SCOPE_SYS", WRITE_BACK_CLOCKS),
        ("global_inv scope:SCOPE_DEV", INVALIDATE_CLOCKS),
        ("global_inv scope:SCOPE_SE", 0),
        ("buffer_gl0_inv", 0),
        ("buffer_gl1_inv", INVALIDATE_CLOCKS),
        ("s_icache_inv", INVALIDATE_CLOCKS),
        ("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", 0),
        ("global_load_dword v1, v2, s[4:5] sc1", 0),
    ],
)
def test_whole_caches_cost_more_the_further_they_are(text: str, clocks: int) -> None:
    assert passing_clocks(text) == clocks


def test_every_instruction_without_a_unit_has_a_cost_or_a_reason_for_none() -> None:
    rows = "".join(path.read_text() for path in ISA.glob("*.c"))
    names = set(re.findall(r"\b(?:MISC|CACHE)\((\w+)\)", rows))
    names |= set(re.findall(r'SIMPLE\("(\w+)", "[^"]*", control_no_effect\)', rows))
    names |= set(re.findall(r'\.mnemonic = "(\w+)"[^}]*FAMILY_MISC', rows))
    names.remove("name")  # the macros themselves
    assert len(names) > 40
    unpriced = {each for each in names if not (passing_clocks(each) or passing_clocks(f"{each} x"))}
    assert {each for each in unpriced if not WAITS.fullmatch(each)} - AT_ONCE.keys() == set()
    assert AT_ONCE.keys() <= {*unpriced, "s_setvskip"}, "an exception that excepts nothing"
