"""What RDNA3 and RDNA4 have and CDNA has not: dual instructions, halves of registers, row permutes, new arithmetic."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from lanes import Case, Lines, table
from values import POISON, both_masks, prepared, same
from waves import SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import check_all

pytestmark = pytest.mark.sandbox

Array = np.ndarray
BOTH = ("gfx1100", "gfx1201")
LANE = np.arange(64)
ROW, AT, EIGHT = LANE // 16 * 16, LANE % 16, LANE // 8 * 8
MOVE = "v_mov_b32 v20, v11\nv_mov_b32_dpp v20, v10 "
KEEP = (POISON >> 16) << 16


def from_lane(source: Array, *, fetch: bool = False) -> Callable[[State], Array]:
    """v10 of the lane that is read; v11 where that lane is inactive."""
    return lambda s: np.where(s.active()[source] | fetch, s.u32(10)[source], s.u32(11))


def low(value: Callable[[State], Array]) -> Callable[[State], Array]:
    """A result of 16 bits in the lower half of v20, whose upper half stays."""
    return lambda s: value(s).astype(np.uint32) & 0xFFFF | KEEP


def high(value: Callable[[State], Array]) -> Callable[[State], Array]:
    return lambda s: value(s).astype(np.uint32) << 16 | POISON & 0xFFFF


def signed(x: Array, bits: int, part: int) -> Array:
    field = (x.astype(np.int64) >> bits * part) & ((1 << bits) - 1)
    return field - ((field >> bits - 1) << bits)


def dot(s: State, bits: int, *, a_signed: bool, b_signed: bool) -> Array:
    total = s.i32(12).astype(np.int64)
    for part in range(32 // bits):
        a, b = signed(s.u32(10), bits, part), signed(s.u32(11), bits, part)
        total += (a if a_signed else a & ((1 << bits) - 1)) * (b if b_signed else b & ((1 << bits) - 1))
    return total.astype(np.uint32)


def number(s: State, a: int, b: int, pick: Callable[[Array, Array], Array]) -> Array:
    """The one that is a number, else the pick of both."""
    x, y = s.f32(a), s.f32(b)
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, pick(x, y))).astype(np.float32)


def least(x: Array, y: Array) -> Array:
    """-0 is below +0."""
    return np.where((x < y) | ((x == y) & np.signbit(x)), x, y)


def most(x: Array, y: Array) -> Array:
    return np.where((x > y) | ((x == y) & ~np.signbit(x)), x, y)


def or_nan(s: State, pick: Callable[[Array, Array], Array], a: int = 0, b: int = 1) -> Array:
    """Any NaN, else the pick of both."""
    x, y = s.f32(a), s.f32(b)
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), pick(x, y)).astype(np.float32)


SELECT = 0x0123456789ABCDEF
SELECTED = np.array([SELECT >> 4 * n & 15 for n in range(16)])[AT]
PERMUTE = f"s_mov_b32 s10, {SELECT & 0xFFFFFFFF:#x}\ns_mov_b32 s11, {SELECT >> 32:#x}\nv_mov_b32 v20, v11\n"
SWAPPED_ROW = ROW ^ 16

COMMON = [
    *table("u32", [
        (f"{MOVE}row_share:5 row_mask:0xf bank_mask:0xf", from_lane(ROW + 5)),
        (f"{MOVE}row_xmask:6 row_mask:0xf bank_mask:0xf", from_lane(ROW + (AT ^ 6))),
        (f"{MOVE}row_xmask:6 row_mask:0xf bank_mask:0xf fi:1", from_lane(ROW + (AT ^ 6), fetch=True)),
        ("v_mov_b32 v20, v11\nv_mov_b32_dpp v20, v10 dpp8:[7,6,5,4,3,2,1,0] fi:1", from_lane(EIGHT + 7 - LANE % 8, fetch=True)),
        ("v_mov_b32 v20, v11\nv_mov_b32_dpp v20, v10 dpp8:[1,1,3,3,0,2,7,5]",
         lambda s: np.where(s.active()[(src := EIGHT + np.array([1, 1, 3, 3, 0, 2, 7, 5])[LANE % 8])], s.u32(10)[src], 0)),
        (f"{PERMUTE}v_permlane16_b32 v20, v10, s10, s11", from_lane(ROW + SELECTED)),
        (f"{PERMUTE}v_permlane16_b32 v20, v10, s10, s11 op_sel:[1,0]", from_lane(ROW + SELECTED, fetch=True)),
        (f"{PERMUTE}v_permlanex16_b32 v20, v10, s10, s11", from_lane(SWAPPED_ROW + SELECTED)),
        ("v_dual_mov_b32 v22, v10 :: v_dual_and_b32 v21, v11, v12\nv_xor3_b32 v20, v22, v21, v12",
         lambda s: s.u32(10) ^ (s.u32(11) & s.u32(12)) ^ s.u32(12)),
        ("v_dual_mov_b32 v21, v11 :: v_dual_add_nc_u32 v20, v10, v12", lambda s: s.u32(10) + s.u32(12)),
        # One half reads what the other writes.
        ("v_mov_b32 v21, v10\nv_dual_mov_b32 v21, v11 :: v_dual_mov_b32 v20, v21", lambda s: s.u32(10)),
        ("v_mov_b32 v20, v10\nv_dual_mov_b32 v21, v20 :: v_dual_mov_b32 v20, v11\nv_mov_b32 v20, v21", lambda s: s.u32(10)),
        # Each half reads what the other writes: v20 and v21 change places.
        ("v_mov_b32 v20, v10\nv_mov_b32 v21, v11\nv_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20", lambda s: s.u32(11)),
        ("v_mov_b32 v22, v10\nv_mov_b32 v23, v11\nv_dual_mov_b32 v22, v23 :: v_dual_mov_b32 v23, v22\nv_mov_b32 v20, v23",
         lambda s: s.u32(10)),
        ("v_dual_cndmask_b32 v20, v10, v11 :: v_dual_mov_b32 v21, v12", lambda s: np.where(s.carry(), s.u32(11), s.u32(10))),
        ("v_dot4_i32_iu8 v20, v10, v11, v12 neg_lo:[1,1,0]", lambda s: dot(s, 8, a_signed=True, b_signed=True)),
        ("v_dot4_i32_iu8 v20, v10, v11, v12 neg_lo:[0,1,0]", lambda s: dot(s, 8, a_signed=False, b_signed=True)),
        ("v_dot8_i32_iu4 v20, v10, v11, v12 neg_lo:[1,0,0]", lambda s: dot(s, 4, a_signed=True, b_signed=False)),
        ("v_maxmin_u32 v20, v10, v11, v12", lambda s: np.minimum(np.maximum(s.u32(10), s.u32(11)), s.u32(12))),
        ("v_minmax_u32 v20, v10, v11, v12", lambda s: np.maximum(np.minimum(s.u32(10), s.u32(11)), s.u32(12))),
        ("v_add_co_u32 v22, vcc_lo, v10, v11\nv_add_co_ci_u32 v20, vcc_lo, v12, v12, vcc_lo",
         lambda s: s.u32(12) + s.u32(12) + ((s.u64_of(10) + s.u64_of(11)) >> np.uint64(32)).astype(np.uint32)),
        ("v_mov_b32 v20, v11\nds_bpermute_b32 v20, v12, v10",
         lambda s: np.where(s.active()[(src := LANE // 32 * 32 + s.u32(12) // 4 % 32)], s.u32(10)[src], 0)),
        ("s_mov_b32 m0, 2\nv_movrels_b32 v20, v10", lambda s: s.u32(12)),
        ("v_readlane_b32 s10, v10, 33\nv_mov_b32 v20, s10", lambda s: s.u32(10)[LANE // 32 * 32 + 1]),
        # True 16-bit operands: any half in, any half out, the other half of the result stays.
        ("v_add_nc_u16 v20.l, v10.l, v11.h", low(lambda s: s.u16(10) + s.u16(11, 1))),
        ("v_add_nc_u16 v20.h, v10.h, v11.l", high(lambda s: s.u16(10, 1) + s.u16(11))),
        ("v_mov_b16 v20.h, v10.l", high(lambda s: s.u16(10))),
        ("v_and_b16 v20.l, v10.l, v10.h", low(lambda s: s.u16(10) & s.u16(10, 1))),
        ("v_cndmask_b16 v20.h, v10.l, v11.l, vcc_lo", high(lambda s: np.where(s.carry(), s.u16(11), s.u16(10)))),
        ("v_cvt_u32_u16 v20, v10.h", lambda s: s.u16(10, 1).astype(np.uint32)),
        ("v_mov_b32 v20, v10\nv_mov_b32 v21, v11\nv_swap_b16 v20.l, v21.h",
         lambda s: s.u32(10) & np.uint32(0xFFFF0000) | s.u16(11, 1)),
    ]),
    *table("f32", [
        ("v_dual_fmac_f32 v20, v0, v1 :: v_dual_mul_f32 v21, v1, v2\nv_mul_f32 v20, 1.0, v21", lambda s: s.f32(1) * s.f32(2)),
        ("v_mul_dx9_zero_f32 v20, v0, v1", lambda s: np.where((s.f32(0) == 0) | (s.f32(1) == 0), np.float32(0), s.f32(0) * s.f32(1))),
        ("v_cvt_f32_f16 v20, v13.h", lambda s: s.f16(13, 1).astype(np.float32)),
    ]),
]  # fmt: skip
RDNA4 = [
    *table("f32", [
        ("v_min_num_f32 v20, v0, v1", lambda s: number(s, 0, 1, least)),
        ("v_max_num_f32 v20, v0, v1", lambda s: number(s, 0, 1, most)),
        ("v_minimum_f32 v20, v0, v1", lambda s: or_nan(s, least)),
        ("v_maximum_f32 v20, v0, v1", lambda s: or_nan(s, most)),
        ("v_maximumminimum_f32 v20, v0, v1, v2", lambda s: np.minimum(np.maximum(s.f32(0), s.f32(1)), s.f32(2))),
        ("s_mul_f32 s10, s7, 3.0\ns_fmac_f32 s10, s7, s7\nv_mov_b32 v20, s10", lambda s: np.full(64, 13.75, np.float32)),
        ("s_cvt_f32_u32 s10, 7\ns_min_num_f32 s10, s10, s7\nv_mov_b32 v20, s10", lambda s: np.full(64, 2.5, np.float32)),
        ("v_s_sqrt_f32 s10, 4.0\nv_mov_b32 v20, s10", lambda s: np.full(64, 2, np.float32)),
    ]),
    *table("u32", [
        ("s_add_nc_u64 s[10:11], -1, s[8:9]\nv_mov_b32 v20, s10", lambda s: np.full(64, int(s.s[4]) - 1 & 0xFFFFFFFF, np.uint32)),
        ("v_permlane16_var_b32 v20, v10, v12 op_sel:[1,0]", lambda s: s.u32(10)[ROW + s.u32(12) % 16]),
        ("v_permlanex16_var_b32 v20, v10, v12 op_sel:[1,0]", lambda s: s.u32(10)[SWAPPED_ROW + s.u32(12) % 16]),
        ("ds_bpermute_fi_b32 v20, v12, v10", lambda s: s.u32(10)[LANE // 32 * 32 + s.u32(12) // 4 % 32]),
        ("s_barrier_signal -1\ns_barrier_wait -1\nv_mov_b32 v20, v10", lambda s: s.u32(10)),
    ]),
]  # fmt: skip
CASES = {"gfx1100": COMMON, "gfx1201": [*COMMON, *RDNA4]}


@pytest.mark.parametrize("arch", BOTH)
def test_a_line_computes_what_the_manual_says(sandbox: Sandbox, arch: str) -> None:
    lines = Lines(sandbox, CASES[arch], arch)
    check_all((case.line, partial(check, lines, case)) for case in CASES[arch])


def check(lines: Lines, case: Case) -> None:
    for before, after in lines.results[case.line]:
        assert not after.fault, after.fault
        with np.errstate(all="ignore"):
            expected = case.expected(before)
        active, got = before.active(), getattr(after, case.kind)(20)
        wrong = np.flatnonzero(active & ~same(got, expected))
        assert not len(wrong), f"lanes {wrong[:4]}: {got[wrong[:4]]} instead of {expected[wrong[:4]]}"
        assert (after.u32(20)[~active] == POISON).all(), "writes inactive lanes"


@pytest.mark.parametrize("arch", BOTH)
def test_masks_take_one_register_for_each_wave(sandbox: Sandbox, arch: str) -> None:
    line = (
        "s_mov_b32 s10, exec_lo\nv_cmp_gt_u32 vcc_lo, v10, v11\nv_cmpx_le_u32 v10, v12\ns_and_saveexec_b32 s11, vcc_lo"
    )
    states = both_masks()
    for before, after in zip(states, run_waves(sandbox, [(line, s) for s in states], arch), strict=True):
        assert not after.fault, after.fault
        above, below = before.u32(10) > before.u32(11), before.u32(10) <= before.u32(12)
        assert after.vcc == sum(1 << int(n) for n in np.flatnonzero(above & before.active()))
        assert after.exec == sum(1 << int(n) for n in np.flatnonzero(above & below & before.active()))


@pytest.mark.parametrize("arch", BOTH)
@pytest.mark.parametrize("line", ["s_mov_b32 s10, exec_hi", "s_and_saveexec_b64 s[10:11], s[8:9]"])
def test_the_upper_half_of_exec_is_not_known_in_waves_of_32(sandbox: Sandbox, arch: str, line: str) -> None:
    (after,) = run_waves(sandbox, [(line, prepared(exec_mask=SOME))], arch)
    assert after.fault.startswith("not_emulated: "), after.fault


@pytest.mark.parametrize("arch", BOTH)
def test_the_whole_of_exec_has_zeros_above_the_lanes_of_a_wave_of_32(sandbox: Sandbox, arch: str) -> None:
    (after,) = run_waves(sandbox, [("s_mov_b64 s[10:11], exec", prepared(exec_mask=SOME))], arch)
    assert not after.fault, after.fault
    assert int(after.s[6]) | int(after.s[7]) << 32 == SOME & 0xFFFFFFFF


@pytest.mark.parametrize("arch", BOTH)
def test_writes_to_the_upper_half_of_exec_wake_no_lane_in_waves_of_32(sandbox: Sandbox, arch: str) -> None:
    line = "s_mov_b32 exec_hi, -1\nv_mov_b32 v20, v10\ns_mov_b64 exec, -1\nv_mov_b32 v21, v10"
    before = prepared(exec_mask=SOME)
    (after,) = run_waves(sandbox, [(line, before)], arch)
    assert not after.fault, after.fault
    assert (after.u32(20) == np.where(before.active(), before.u32(10), POISON)).all()
    assert (after.u32(21) == before.u32(10)).all()
    assert after.exec == (1 << 64) - 1


def test_the_wave_number_in_the_workgroup_is_in_ttmp8_on_rdna4(sandbox: Sandbox) -> None:
    """Bits 25 to 29. The kernel's 64 lanes are two waves. LLVM, SIISelLowering, lowerWaveID()."""
    lines = "s_bfe_u32 s10, ttmp8, 0x50019\nv_mov_b32 v20, s10\ns_bfe_u32 s10, ttmp8, 0x1001a\nv_mov_b32 v21, s10"
    (after,) = run_waves(sandbox, [(lines, prepared())], "gfx1201")
    assert not after.fault, after.fault
    assert after.u32(20).tolist() == [0] * 32 + [1] * 32
    assert not after.u32(21).any()


def test_a_scalar_load_takes_the_workgroups_number_as_its_offset_on_rdna4(sandbox: Sandbox) -> None:
    lines = "s_load_b32 s10, s[20:21], ttmp9 offset:0x8\ns_wait_kmcnt 0x0\nv_mov_b32 v20, s10"
    plain = lines.replace("ttmp9 offset:0x8", "0x8")
    one, other = run_waves(sandbox, [(lines, prepared()), (plain, prepared())], "gfx1201")
    assert not one.fault, one.fault
    assert one.u32(20).tolist() == other.u32(20).tolist()


def test_m0_is_kept_in_ttmp2_as_after_a_trap(sandbox: Sandbox) -> None:
    lines = "s_mov_b32 m0, 7\ns_mov_b32 ttmp2, m0\ns_mov_b32 m0, 9\ns_mov_b32 m0, ttmp2\nv_mov_b32 v20, m0"
    (after,) = run_waves(sandbox, [(lines, prepared())], "gfx1100")
    assert not after.fault, after.fault
    assert set(after.u32(20).tolist()) == {7}


UNKNOWN_REGISTERS = [
    ("gfx1201", "s_mov_b32 s10, ttmp8"),
    ("gfx1201", "s_bfe_u32 s10, ttmp8, 0x60019"),
    ("gfx1201", "s_bfe_u32 s10, ttmp8, 0x50018"),
    ("gfx1201", "s_mov_b32 s10, ttmp6"),
    ("gfx1201", "s_mov_b64 s[10:11], ttmp[8:9]"),
    ("gfx1100", "s_mov_b32 s10, ttmp9"),
    ("gfx942", "s_mov_b32 s10, ttmp11"),
    ("gfx942", "v_mov_b32 v20, ttmp4"),
    ("gfx942", "s_mov_b32 ttmp4, s10"),
]


@pytest.mark.parametrize(("target", "line"), UNKNOWN_REGISTERS)
def test_a_register_of_the_trap_handler_that_is_not_known_is_not_emulated(
    sandbox: Sandbox, target: str, line: str
) -> None:
    (after,) = run_waves(sandbox, [(line, prepared())], target)
    assert after.fault.startswith("not_emulated"), after.fault
