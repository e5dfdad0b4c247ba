"""Straight runs as code of the host: random ones leave what the interpreter leaves, to the bit."""

import random

import pytest
from values import prepared
from waves import Frame, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

BLOCKS, LENGTH = 24, 90

# v, w: a register and a pair; x: register, scalar or inline constant; a: those or a literal; s: a scalar; m: a mask;
# n: a small count. What follows a semicolon belongs together: carries that random values seldom make.
SHARED = """
v_mov_b32 v, a
v_not_b32 v, a
v_and_b32 v, a, v
v_or_b32 v, a, v
v_xor_b32 v, a, v
v_lshlrev_b32 v, a, v
v_lshrrev_b32 v, a, v
v_ashrrev_i32 v, a, v
v_min_i32 v, a, v
v_max_i32 v, a, v
v_min_u32 v, a, v
v_max_u32 v, a, v
v_mul_u32_u24 v, a, v
v_mul_i32_i24 v, a, v
v_mul_lo_u32 v, x, v
v_mul_hi_u32 v, x, v
v_add_f32 v, a, v
v_sub_f32 v, a, v
v_subrev_f32 v, a, v
v_mul_f32 v, a, v
v_fmac_f32 v, a, v
v_fma_f32 v, x, v, v
v_fma_f32 v, v, v, x
v_cvt_f32_i32 v, a
v_cvt_f32_u32 v, a
v_lshl_add_u32 v, v, n, x
v_lshl_add_u32 v, v, v, v
v_add_lshl_u32 v, v, x, n
v_lshl_or_b32 v, x, n, v
v_add3_u32 v, x, v, v
v_xad_u32 v, v, x, v
v_and_or_b32 v, v, v, x
v_or3_b32 v, v, x, v
v_bfi_b32 v, x, v, v
v_bfe_u32 v, v, n, n
v_mad_u32_u24 v, v, x, v
v_mad_i32_i24 v, v, v, x
v_lshl_add_u32 v, x, v, n
v_cmp_gt_i32_e32 vcc, a, v
v_cmp_ge_u32_e32 vcc, a, v
v_cmp_eq_i32_e64 m, v, n
v_cmp_lg_f32_e32 vcc, a, v
v_cndmask_b32_e64 v, v, v, m
v_cndmask_b32_e32 v, n, v, vcc
v_mad_u64_u32 w, m, v, v, w
v_mad_u64_u32 w, m, v, v, 0
v_mad_u64_u32 v[4:5], m, v3, v2, 0 ; v_not_b32 v4, v4 ; v_not_b32 v5, v5 ; v_or_b32 v4, 1, v4 ; v_mad_u64_u32 w, m, v3, v2, v[4:5]
v_max_f32 v, a, v
v_med3_f32 v, v, v, v
v_exp_f32 v, v
v_bfrev_b32 v, v
v_cmp_class_f32_e64 m, v, v
v_add_f32_e64 v, -v, |v|
s_add_u32 s, s, s
s_xor_b32 s, s, s
v_readfirstlane_b32 s, v
s_nop 0
s_cmp_lt_u32 s, s
"""
CDNA = """
v_add_u32 v, a, v
v_sub_u32 v, a, v
v_subrev_u32 v, a, v
v_add_u32 v, v, v clamp
v_add_co_u32_e64 v, m, v, v
v_addc_co_u32_e64 v, m, v, v, m
v_addc_co_u32_e32 v, vcc, v, v, vcc
v_sub_co_u32_e64 v, m, x, v
v_subrev_co_u32_e64 v, m, v, x
v_subb_co_u32_e64 v, m, v, v, m
v_subbrev_co_u32_e64 v, m, v, v, m
v_not_b32 v4, v5 ; v_addc_co_u32_e64 v, m, v4, v5, m
v_mov_b32 v4, v5 ; v_subb_co_u32_e64 v, m, v4, v5, m
v_lshlrev_b64 w, n, w
v_pk_fma_f32 w, w, w, w op_sel_hi:[0,1,1]
v_pk_fma_f32 w, w, w, w op_sel:[1,0,0]
v_pk_fma_f32 w, w, w, w op_sel:[0,1,1] op_sel_hi:[1,0,0]
v_pk_mul_f32 w, w, w op_sel_hi:[1,0]
v_pk_add_f32 w, w, w
v_accvgpr_write_b32 a1, v
v_accvgpr_read_b32 v, a1
s_and_b64 m, m, m
"""
CDNA2 = "v_accvgpr_mov_b32 a1, a0 ; v_accvgpr_write_b32 a0, v"
CDNA3 = """
v_fmaak_f32 v, v, v, 0x40490fdb
v_fmamk_f32 v, v, 0xc0490fdb, v
v_lshl_add_u64 w, w, 3, w
v_lshl_add_u64 w, m, 0, w
v_mov_b64 w, w
"""
RDNA = """
v_fmaak_f32 v, v, v, 0x40490fdb
v_fmamk_f32 v, v, 0xc0490fdb, v
v_add_nc_u32 v, a, v
v_sub_nc_u32 v, a, v
v_add_co_ci_u32_e64 v, m, v, v, m
v_xor3_b32 v, v, x, v
v_lshlrev_b64 w, n, w
"""
# The second half reads what the first writes, the other way round, both, neither; a mask next to its register as a scalar.
DUAL = """
v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v0
v_dual_mov_b32 v2, v3 :: v_dual_mul_f32 v3, v4, v1
v_dual_sub_f32 v2, v3, v1 :: v_dual_add_nc_u32 v3, v4, v2
v_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5
v_dual_fmac_f32 v4, v4, v2 :: v_dual_and_b32 v5, s9, v4
v_dual_mov_b32 v4, s5 :: v_dual_lshlrev_b32 v1, s5, v3
v_dual_fmaak_f32 v2, v3, v4, 0x40490fdb :: v_dual_fmamk_f32 v1, v0, 0x40490fdb, v5
v_dual_cndmask_b32 v4, v1, v2 :: v_dual_cndmask_b32 v5, v2, v4
v_dual_cndmask_b32 v4, v1, v2 :: v_dual_mov_b32 v5, vcc_lo
v_dual_max_f32 v4, v1, v2 :: v_dual_subrev_f32 v5, 1.0, v4
"""
COMPARES = "".join(
    f"v_cmp_{relation}_{kind}_e64 m, {sources}\n"
    for kind, relations in {
        "i32": "lt eq le gt ne ge", "u32": "lt eq le gt ne ge",
        "f32": "lt eq le gt lg ge o u nge nlg ngt nle neq nlt",
    }.items()
    for relation in relations.split()
    for sources in ("v, x", "x, v")
)  # fmt: skip
FORMS = {
    "gfx90a": SHARED + CDNA + CDNA2, "gfx942": SHARED + CDNA + CDNA3, "gfx1100": SHARED + RDNA + DUAL,
    "gfx1100/64": SHARED + RDNA,
}  # fmt: skip


class Writer:
    """Random instructions of a form. Few registers, so that they depend on each other; or many, so that they do not fit."""

    def __init__(self, chosen: random.Random, target: str, registers: int) -> None:
        self.chosen, self.registers, self.lanes = chosen, registers, Frame.of(target).lanes
        self.vcc = "vcc_lo" if self.lanes == 32 else "vcc"

    def word(self, word: str) -> str:
        register = f"v{self.chosen.randrange(self.registers)}"
        first, scalar = 2 * self.chosen.randrange(self.registers // 2), f"s{self.chosen.randrange(4, 20)}"
        pair = 2 * self.chosen.randrange(2, 10)
        inline = self.chosen.choice(["0", "1", "-1", "-16", "64", "31", "0.5", "-4.0"])
        match word:
            case "v":
                return register
            case "w":
                return f"v[{first}:{first + 1}]"
            case "s":
                return scalar
            case "x":
                return self.chosen.choice([register, scalar, inline])
            case "a":
                return self.chosen.choice([register, register, scalar, inline, hex(self.chosen.getrandbits(32))])
            case "n":
                return str(self.chosen.randrange(32))
            case "m":
                return f"s{pair}" if self.lanes == 32 else f"s[{pair}:{pair + 1}]"
            case "vcc":
                return self.vcc
            case "-v" | "|v|":
                return word.replace("v", register)
        return word

    def line(self, form: str) -> str:
        name, _, operands = form.partition(" ")
        parts = [part.partition(" ") for part in operands.split(", ")]
        return f"  {name} {', '.join(f'{self.word(word)}{space}{rest}' for word, space, rest in parts)}"


def block(target: str, seed: int) -> str:
    """Straight code, a branch over some of it that is taken or not, and a loop of three rounds."""
    chosen = random.Random(f"{target} {seed}")
    writer = Writer(chosen, target, chosen.choice([6, 16, 64]))
    forms = [line for line in FORMS[target].splitlines() if line] + chosen.sample(COMPARES.splitlines(), 12)
    lines = ["\n".join(map(writer.line, chosen.choice(forms).split(" ; "))) for _ in range(LENGTH)]
    over = "  s_cmp_lt_u32 s4, s5\n  s_cbranch_scc1 1f\n" + "\n".join(lines[:20]) + "\n1:"
    loop = "  s_mov_b32 s52, 3\n2:\n" + "\n".join(lines[20:60]) + "\n  s_sub_u32 s52, s52, 1\n  s_cmp_lg_u32 s52, 0"
    return "\n".join([over, loop, "  s_cbranch_scc1 2b", *lines[60:]])


@pytest.mark.parametrize("target", FORMS)
def test_a_compiled_run_leaves_what_the_interpreter_leaves(sandbox: Sandbox, target: str) -> None:
    cases = [(block(target, seed), prepared(seed=seed)) for seed in range(BLOCKS)]
    states = run_waves(sandbox, cases, target)  # which says where the two ways differ
    assert not [state.fault for state in states if state.fault]
    assert len({state.v.tobytes() for state in states}) == BLOCKS, "the blocks did nothing of their own"


def test_a_host_that_refuses_to_run_what_was_written_interprets(sandbox: Sandbox) -> None:
    cases = [(block("gfx942", seed), prepared(seed=seed)) for seed in range(4)]
    refused, allowed = (run_waves(sandbox, cases, refuse_code=refuse) for refuse in (True, False))
    assert [state.v.tobytes() for state in refused] == [state.v.tobytes() for state in allowed]
