"""Scalar instructions: results, SCC, EXEC."""

from dataclasses import dataclass

import pytest
from values import prepared
from waves import ALL, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

MASK = (1 << 32) - 1
A, B = 0x80000001, 0x0000FFFF  # s4, s5; as a pair 0x0000FFFF80000001
PAIR = B << 32 | A
OTHER = 111 << 32 | 110  # s[14:15], counting up
NO_CHANGE = -1


@dataclass(frozen=True)
class Case:
    line: str
    result: int  # s[10:11] of the low 32 or all 64 bits
    scc: int = NO_CHANGE
    before_scc: int = 0
    wide: bool = False


WIDE = (1 << 64) - 1
DESCRIPTOR = "s_mov_b64 s[24:25], s[20:21]\ns_and_b32 s25, s25, 0xffff\ns_movk_i32 s26, 0x40\ns_mov_b32 s27, 0x27000\n"  # of 64 bytes


def word_at(offset: int) -> int:
    return int.from_bytes(bytes((offset + n) % 256 for n in range(4)), "little")


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


CASES = [
    Case("s_mov_b32 s10, s4", A), Case("s_mov_b64 s[10:11], s[4:5]", PAIR, wide=True),
    Case("s_mov_b64 s[10:11], -1", 2**64 - 1, wide=True), Case("s_movk_i32 s10, 0x8000", 0xFFFF8000),
    Case("s_mov_b64 s[10:11], 0x80000000", 0x80000000, wide=True),
    Case("s_not_b32 s10, s4", ~A & MASK, 1), Case("s_not_b64 s[10:11], -1", 0, 0, wide=True),
    Case("s_brev_b32 s10, s4", A), Case("s_brev_b64 s[10:11], s[4:5]", int(f"{PAIR:064b}"[::-1], 2), wide=True),
    Case("s_bcnt1_i32_b32 s10, s4", 2, 1), Case("s_bcnt1_i32_b64 s10, s[4:5]", 18, 1),
    Case("s_bcnt0_i32_b32 s10, s4", 30, 1), Case("s_bcnt0_i32_b64 s10, s[4:5]", 46, 1),
    Case("s_ff0_i32_b32 s10, s4", 1), Case("s_ff1_i32_b32 s10, s4", 0), Case("s_ff1_i32_b64 s10, s[4:5]", 0),
    Case("s_ff1_i32_b32 s10, 0", MASK), Case("s_ff0_i32_b64 s10, -1", MASK),
    Case("s_flbit_i32_b32 s10, s5", 16), Case("s_flbit_i32_b64 s10, s[4:5]", 16), Case("s_flbit_i32 s10, s4", 1),
    Case("s_flbit_i32 s10, -1", MASK), Case("s_flbit_i32 s10, s5", 16), Case("s_flbit_i32_i64 s10, s[4:5]", 16),
    Case("s_sext_i32_i8 s10, s5", MASK), Case("s_sext_i32_i16 s10, s5", MASK),
    Case("s_abs_i32 s10, s4", 0x7FFFFFFF, 1), Case("s_abs_i32 s10, 0", 0, 0),
    Case("s_wqm_b32 s10, s4", 0xF000000F, 1), Case("s_quadmask_b32 s10, s4", 0x81, 1),
    Case("s_bitreplicate_b64_b32 s[10:11], s5", 0xFFFFFFFF, wide=True),
    Case("s_mov_b32 s10, 0\ns_bitset1_b32 s10, s6", 1 << 5),
    Case("s_mov_b32 s10, -1\ns_bitset0_b32 s10, s6", ~(1 << 5) & MASK),
    Case("s_mov_b32 s10, 7\ns_cmov_b32 s10, s4", 7, 0, 0), Case("s_mov_b32 s10, 7\ns_cmov_b32 s10, s4", A, 1, 1),
    Case("s_add_u32 s10, s4, s4", 2, 1), Case("s_add_u32 s10, s4, s5", A + B, 0),
    Case("s_add_u32 s10, s4, lit(0x0)", A, 0), Case("s_addc_u32 s10, s4, lit(0xffffffff)", A, 1, 1),
    Case("s_addc_u32 s10, s4, s5", A + B + 1, 0, 1), Case("s_addc_u32 s10, -1, 0", 0, 1, 1),
    Case("s_sub_u32 s10, s5, s4", B - A & MASK, 1), Case("s_subb_u32 s10, s5, s5", MASK, 1, 1),
    Case("s_add_i32 s10, s4, s4", 2, 1), Case("s_add_i32 s10, s5, s5", 2 * B, 0),
    Case("s_sub_i32 s10, s4, s5", A - B, 1), Case("s_sub_i32 s10, s5, s6", B - 5, 0),
    Case("s_min_i32 s10, s4, s5", A, 1), Case("s_min_u32 s10, s4, s5", B, 0),
    Case("s_max_i32 s10, s4, s5", B, 0), Case("s_max_u32 s10, s4, s5", A, 1),
    Case("s_cselect_b32 s10, s4, s5", A, 1, 1), Case("s_cselect_b32 s10, s4, s5", B, 0, 0),
    Case("s_cselect_b64 s[10:11], s[4:5], 0", PAIR, 1, 1, wide=True),
    Case("s_and_b32 s10, s4, s5", A & B, 1), Case("s_and_b32 s10, s4, 2", 0, 0), Case("s_or_b32 s10, s4, s5", A | B, 1),
    Case("s_xor_b32 s10, s4, s4", 0, 0), Case("s_andn2_b32 s10, s4, s5", A & ~B, 1),
    Case("s_orn2_b32 s10, s4, s5", (A | ~B) & MASK, 1), Case("s_nand_b32 s10, s4, s5", ~(A & B) & MASK, 1),
    Case("s_nor_b32 s10, s4, s5", ~(A | B) & MASK, 1), Case("s_xnor_b32 s10, s4, s5", ~(A ^ B) & MASK, 1),
    Case("s_and_b64 s[10:11], s[4:5], s[14:15]", PAIR & OTHER, 1, wide=True),
    Case("s_andn2_b64 s[10:11], s[4:5], s[14:15]", PAIR & ~OTHER, 1, wide=True),
    Case("s_xor_b64 s[10:11], s[4:5], s[14:15]", PAIR ^ OTHER, 1, wide=True),
    Case("s_lshl_b32 s10, s4, s6", A << 5 & MASK, 1), Case("s_lshr_b32 s10, s4, s6", A >> 5, 1),
    Case("s_ashr_i32 s10, s4, s6", signed(A) >> 5 & MASK, 1),
    Case("s_lshl_b64 s[10:11], s[4:5], s6", PAIR << 5 & (1 << 64) - 1, 1, wide=True),
    Case("s_lshr_b64 s[10:11], s[4:5], 40", PAIR >> 40, 1, wide=True),
    Case("s_ashr_i64 s[10:11], s[4:5], s6", PAIR >> 5, 1, wide=True),
    Case("s_bfm_b32 s10, s6, 4", 31 << 4), Case("s_bfm_b64 s[10:11], 40, 4", ((1 << 40) - 1) << 4, wide=True),
    Case("s_mul_i32 s10, s4, s5", A * B & MASK), Case("s_mul_hi_u32 s10, s4, s5", A * B >> 32),
    Case("s_mul_hi_i32 s10, s4, s5", signed(A) * B >> 32 & MASK),
    Case("s_bfe_u32 s10, s5, 0x80004", 0xFF, 1), Case("s_bfe_i32 s10, s4, 0x8001c", 0xFFFFFFF8, 1),
    Case("s_bfe_u64 s[10:11], s[4:5], 0x10001f", PAIR >> 31 & 0xFFFF, 1, wide=True),
    Case("s_bfe_i64 s[10:11], s[4:5], 0x10001f", (1 << 64) - 1, 1, wide=True),
    Case("s_absdiff_i32 s10, s6, 9", 4, 1), Case("s_lshl1_add_u32 s10, s4, s5", 2 + B, 1),
    Case("s_lshl4_add_u32 s10, s6, s5", 80 + B, 0), Case("s_pack_ll_b32_b16 s10, s4, s5", 0xFFFF0001),
    Case("s_pack_lh_b32_b16 s10, s5, s4", 0x8000FFFF), Case("s_pack_hh_b32_b16 s10, s4, s4", 0x80008000),
    Case("s_mov_b32 s10, 5\ns_addk_i32 s10, -6", MASK, 0), Case("s_mov_b32 s10, 5\ns_mulk_i32 s10, -2", MASK - 9),
    Case("s_cmp_lt_i32 s4, s5", 106, 1), Case("s_cmp_lt_u32 s4, s5", 106, 0), Case("s_cmp_eq_u64 s[4:5], s[4:5]", 106, 1),
    Case("s_cmp_lg_u64 s[4:5], s[4:5]", 106, 0), Case("s_bitcmp1_b32 s4, 31", 106, 1), Case("s_bitcmp0_b32 s4, 31", 106, 0),
    Case("s_cmpk_lt_i32 s4, 0x7fff", 106, 1), Case("s_cmpk_gt_u32 s5, 0xfffe", 106, 1), Case("s_cmpk_eq_i32 s6, 5", 106, 1),
    Case("s_cmp_ge_i32 s5, s5", 106, 1), Case("s_cmp_le_u32 s4, s5", 106, 0), Case("s_cmp_gt_i32 s5, s4", 106, 1),
    Case("s_cmp_lg_u32 s5, s4", 106, 1), Case("s_cmp_lg_i32 s5, s5", 106, 0), Case("s_cmp_eq_i32 0xffff, s5", 106, 1),
    Case("s_lshl2_add_u32 s10, s4, s5", 4 + B, 1), Case("s_lshl3_add_u32 s10, s6, s5", 40 + B, 0),
    Case("s_or_b64 s[10:11], s[4:5], s[14:15]", PAIR | OTHER, 1, wide=True),
    Case("s_orn2_b64 s[10:11], s[4:5], s[14:15]", (PAIR | ~OTHER) & WIDE, 1, wide=True),
    Case("s_nand_b64 s[10:11], s[4:5], s[14:15]", ~(PAIR & OTHER) & WIDE, 1, wide=True),
    Case("s_nor_b64 s[10:11], s[4:5], s[14:15]", ~(PAIR | OTHER) & WIDE, 1, wide=True),
    Case("s_xnor_b64 s[10:11], s[4:5], s[14:15]", ~(PAIR ^ OTHER) & WIDE, 1, wide=True),
    Case("s_wqm_b64 s[10:11], s[4:5]", 0x0000FFFFF000000F, 1, wide=True), Case("s_quadmask_b64 s[10:11], s[4:5]", 0xF81, 1, wide=True),
    Case("s_mov_b64 s[10:11], 0\ns_bitset1_b64 s[10:11], 40", 1 << 40, wide=True),
    Case("s_mov_b64 s[10:11], -1\ns_bitset0_b64 s[10:11], 40", WIDE & ~(1 << 40), wide=True),
    Case("s_bitcmp1_b64 s[4:5], 47", 106, 1), Case("s_bitcmp0_b64 s[4:5], 47", 106, 0),
    Case("s_mov_b64 s[10:11], 7\ns_cmov_b64 s[10:11], s[4:5]", PAIR, 1, 1, wide=True),
    Case("s_mov_b64 s[10:11], 7\ns_cmov_b64 s[10:11], s[4:5]", 7, 0, 0, wide=True),
    Case("s_mov_b32 s10, 7\ns_cmovk_i32 s10, -3", MASK - 2, 1, 1), Case("s_mov_b32 s10, 7\ns_cmovk_i32 s10, -3", 7, 0, 0),
    Case("s_cmp_ge_u32 s4, s5", 106, 1), Case("s_cmp_gt_u32 s5, s4", 106, 0), Case("s_cmp_le_i32 s4, s5", 106, 1),
    Case("s_cmpk_lg_i32 s6, 5", 106, 0), Case("s_cmpk_gt_i32 s4, 0", 106, 0), Case("s_cmpk_ge_i32 s6, 5", 106, 1),
    Case("s_cmpk_le_i32 s4, -1", 106, 1), Case("s_cmpk_eq_u32 s5, 0xffff", 106, 1), Case("s_cmpk_lg_u32 s5, 0xffff", 106, 0),
    Case("s_cmpk_ge_u32 s4, 0xffff", 106, 1), Case("s_cmpk_lt_u32 s4, 0xffff", 106, 0), Case("s_cmpk_le_u32 s5, 0xffff", 106, 1),
    Case("s_mov_b32 m0, 2\ns_movrels_b32 s10, s4", 5), Case("s_mov_b32 m0, 2\ns_movreld_b32 s8, s6\ns_mov_b32 s6, 1", 5),
    Case("s_mov_b32 m0, 10\ns_movrels_b64 s[10:11], s[4:5]", OTHER, wide=True),
    Case("s_mov_b32 m0, 2\ns_movreld_b64 s[8:9], s[4:5]", PAIR, wide=True),
    Case("s_cmp_eq_u32 0, 0\ns_cbranch_scc1 1\ns_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5, 1),
    Case("s_mov_b64 vcc, 0\ns_cbranch_vccz 1\ns_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5),
    Case("s_mov_b64 vcc, 4\ns_cbranch_vccnz 1\ns_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5),
    Case("s_cbranch_execnz 1\ns_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5), Case("s_cbranch_execz 1\ns_mov_b32 s10, s6", 5),
    Case("s_call_b64 s[12:13], 1\ns_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5),
    Case("s_getpc_b64 s[12:13]\ns_add_u32 s12, s12, 16\ns_addc_u32 s13, s13, 0\ns_swappc_b64 s[16:17], s[12:13]\n"
         "s_mov_b32 s6, 0\ns_sub_u32 s10, s12, s16", 4, 0),
    *(Case(f"s_load_dwordx{n} s[4:{3 + n}], s[20:21], 0x8\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s10, s{3 + n}",
           word_at(8 + 4 * (n - 1))) for n in (4, 8, 16)),
    *(Case(f"{DESCRIPTOR}s_buffer_load_dword{'' if n == 1 else f'x{n}'} "
           f"{'s4' if n == 1 else f's[4:{3 + n}]'}, s[24:27], 0x8\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s10, s{3 + n}",
           word_at(8 + 4 * (n - 1)) if n < 16 else 0, 1) for n in (1, 2, 4, 8, 16)),
    Case("s_mov_b32 s12, 3\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s12\ns_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 8)", 0xF3),
    Case("s_memtime s[12:13]\ns_memtime s[16:17]\ns_waitcnt 0\ns_sub_u32 s10, s12, s16\ns_lshr_b32 s10, s10, 31", 1, 1),
    Case("s_memrealtime s[12:13]\ns_sleep 1\ns_memrealtime s[16:17]\ns_waitcnt 0\ns_sub_u32 s10, s12, s16\n"
         "s_lshr_b32 s10, s10, 31", 1, 1),
    Case("s_getpc_b64 s[10:11]\ns_add_u32 s10, s10, 16\ns_addc_u32 s11, s11, 0\ns_setpc_b64 s[10:11]\n"
         "s_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5),
    Case("s_branch 1\ns_mov_b32 s6, 0\ns_mov_b32 s10, s6", 5),
    Case("s_cmp_eq_u32 0, 0\ns_cbranch_scc0 1\ns_mov_b32 s10, s6", 5, 1),
    Case("s_load_dwordx2 s[10:11], s[20:21], 0x8\ns_waitcnt lgkmcnt(0)", 0x0F0E0D0C0B0A0908, wide=True),
    Case("s_movk_i32 s16, 0x10\ns_load_dword s10, s[20:21], s16\ns_waitcnt lgkmcnt(0)", 0x13121110),
    Case("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\ns_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 8)", 0xF3),
]  # fmt: skip

SAVES = {
    "and": lambda s, e: s & e, "or": lambda s, e: s | e, "xor": lambda s, e: s ^ e, "andn2": lambda s, e: s & ~e,
    "orn2": lambda s, e: s | ~e, "nand": lambda s, e: ~(s & e), "nor": lambda s, e: ~(s | e),
    "xnor": lambda s, e: ~(s ^ e), "andn1": lambda s, e: ~s & e, "orn1": lambda s, e: ~s | e,
}  # fmt: skip
SAVE_LINES = [f"s_{name}_saveexec_b64 s[10:11], s[4:5]" for name in SAVES]
WRITE_LINES = ["s_andn1_wrexec_b64 s[10:11], s[4:5]", "s_andn2_wrexec_b64 s[10:11], s[4:5]"]
# Caches, priorities, traces: nothing that a program can see.
NO_EFFECT = [
    "s_nop 3", "s_waitcnt 0", "s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb", "s_dcache_wb_vol", "s_icache_inv",
    "s_incperflevel 1", "s_decperflevel 1", "s_setprio 2", "s_sethalt 0", "s_sleep 1", "s_wakeup", "s_ttracedata",
    "s_barrier", "s_sendmsg sendmsg(MSG_INTERRUPT)", "buffer_inv sc1", "buffer_wbl2 sc1", "v_nop", "ds_nop",
    "s_atc_probe 0, s[20:21], 0x0", "s_atc_probe_buffer 0, s[4:7], 0x0",
]  # fmt: skip
NO_EFFECT_GFX90A = ["buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_invl2", "buffer_wbl2", "s_setprio 1"]


def state(case: Case) -> State:
    before = prepared(scc=case.before_scc)
    before.memory = bytes(range(256)) * 32
    return before


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> list[State]:
    saves = [(line, prepared(exec_mask=SOME)) for line in (*SAVE_LINES, *WRITE_LINES)]
    return run_waves(sandbox, [*((case.line, state(case)) for case in CASES), *saves])


@each_row("number", range(len(CASES)), ids=[case.line for case in CASES])
def test_scalar_results_and_scc(results: list[State], number: int) -> None:
    case, after = CASES[number], results[number]
    assert not after.fault, after.fault
    got = int(after.s[6]) | (int(after.s[7]) << 32 if case.wide else 0)
    assert got == case.result, f"{case.line}: {got:#x} instead of {case.result:#x}"
    assert after.scc == (case.before_scc if case.scc == NO_CHANGE else case.scc), f"{case.line}: SCC {after.scc}"


@each_row("number", range(len(SAVES)), ids=list(SAVES))
def test_saveexec_keeps_the_old_mask_and_narrows_exec(results: list[State], number: int) -> None:
    after, narrow = results[len(CASES) + number], list(SAVES.values())[number]
    assert int(after.s[6]) | int(after.s[7]) << 32 == SOME
    assert after.exec == narrow(PAIR, SOME) & ALL
    assert after.scc == (after.exec != 0)


def test_wrexec_puts_the_narrowed_mask_in_both_places(results: list[State]) -> None:
    for after, narrow in zip(results[-2:], (SAVES["andn1"], SAVES["andn2"]), strict=True):
        assert after.exec == int(after.s[6]) | int(after.s[7]) << 32 == narrow(PAIR, SOME) & ALL
        assert after.scc == (after.exec != 0)


@pytest.mark.parametrize(("target", "lines"), [("gfx942", NO_EFFECT), ("gfx90a", NO_EFFECT_GFX90A)])
def test_hints_change_no_register(sandbox: Sandbox, target: str, lines: list[str]) -> None:
    before = prepared(exec_mask=SOME, scc=1)
    for line, after in zip(lines, run_waves(sandbox, [(line, before) for line in lines], target), strict=True):
        assert not after.fault, after.fault
        assert (after.v[:32] == before.v).all(), line
        assert (after.s == before.s).all(), line
        assert (after.exec, after.vcc, after.scc, after.m0) == (SOME, before.vcc, 1, before.m0), line


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_vector_instructions_are_skipped_while_vskip_is_set(sandbox: Sandbox, target: str) -> None:
    lines = (
        "s_mov_b32 s10, 8\ns_mov_b32 s12, 5\ns_setvskip s10, 35\nv_mov_b32 v20, v10\nv_readfirstlane_b32 s12, v10\n"
        "v_mfma_f32_4x4x1f32 v[24:27], v10, v11, v[24:27]\nds_write_b32 v10, v11\n"
        "global_store_dword v10, v11, s[20:21]\ns_mov_b32 s11, 7\ns_getreg_b32 s13, hwreg(HW_REG_MODE, 28, 1)\n"
        "s_setvskip s10, 2\nv_mov_b32 v21, v10\ns_getreg_b32 s14, hwreg(HW_REG_MODE, 28, 1)\n"
        "v_mov_b32 v22, s11\nv_mov_b32 v23, s12\nv_mov_b32 v28, s13\nv_mov_b32 v29, s14"
    )
    before = prepared()
    (after,) = run_waves(sandbox, [(lines, before)], target)
    assert not after.fault, after.fault
    assert (after.u32(21) == before.u32(10)).all()
    for register in (20, 24, 25, 26, 27):
        assert (after.u32(register) == before.u32(register)).all(), register
    assert after.memory == before.memory
    assert [int(after.u32(register)[0]) for register in (22, 23, 28, 29)] == [7, 5, 1, 0]


def test_registers_are_addressed_by_m0_while_that_is_on(sandbox: Sandbox) -> None:
    lines = (
        "s_mov_b32 s10, 1\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32 v20, v10\ns_set_gpr_idx_idx s6\n"
        "v_mov_b32 v21, v10\ns_set_gpr_idx_mode gpr_idx(DST)\nv_mov_b32 v20, v10\ns_set_gpr_idx_off\nv_mov_b32 v22, v10"
    )
    before = prepared()
    (after,) = run_waves(sandbox, [(lines, before)])
    assert not after.fault, after.fault
    for register, source in ((20, 11), (21, 15), (25, 10), (22, 10)):
        assert (after.u32(register) == before.u32(source)).all(), register
