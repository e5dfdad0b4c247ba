"""Values that cross lanes: DPP, SDWA, permutes, swizzles, lanes as scalars."""

from collections.abc import Callable

import numpy as np
import pytest
from lanes import Case, Lines, each_case, table
from values import POISON, both_masks, prepared
from waves import SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Array = np.ndarray
MOVE = "v_mov_b32 v20, v11\nv_mov_b32_dpp v20, v10 "
LANE = np.arange(64)
ROW, AT = LANE // 16 * 16, LANE % 16

# For each control: the lane that a lane reads, -1 for none.
DPP = {
    "quad_perm:[3,1,0,2]": LANE // 4 * 4 + np.array([3, 1, 0, 2])[LANE % 4],
    "row_shl:3": np.where(AT + 3 < 16, LANE + 3, -1),
    "row_shr:5": np.where(AT >= 5, LANE - 5, -1),
    "row_ror:4": ROW + (AT - 4) % 16,
    "wave_shl:1": np.where(LANE < 63, LANE + 1, -1),
    "wave_rol:1": (LANE + 1) % 64,
    "wave_shr:1": LANE - 1,
    "wave_ror:1": (LANE - 1) % 64,
    "row_mirror": ROW + 15 - AT,
    "row_half_mirror": LANE // 8 * 8 + 7 - LANE % 8,
    "row_bcast:15": np.where(LANE >= 16, ROW - 1, -1),
    "row_bcast:31": np.where(LANE >= 32, 31, -1),
    "row_newbcast:6": ROW + 6,
}


def moved(source: Array, masks: tuple[int, int] = (15, 15), *, zero: bool = False) -> Callable[[State], Array]:
    """v10 of the lane that is read; v11 where a mask, or a lane that cannot be read, leaves the result alone."""

    def expected(s: State) -> Array:
        readable = (source >= 0) & s.active()[source]
        enabled = ((masks[0] >> LANE // 16) & (masks[1] >> AT // 4) & 1).astype(bool)
        found = np.where(readable, s.u32(10)[source], 0)
        return np.where(enabled & (readable | zero), found, s.u32(11))

    return expected


def permuted(pattern: Array) -> Callable[[State], Array]:
    return lambda s: np.where(s.active()[pattern], s.u32(10)[pattern], 0)


def pushed(s: State) -> Array:
    out = np.zeros(64, dtype=np.uint32)
    for lane in range(64):
        if s.active()[lane]:
            out[s.u32(12)[lane] // 4 % 64] = s.u32(10)[lane]
    return out


def swizzle_masks(lane: Array, keep: int, set_: int, flip: int) -> Array:
    return lane // 32 * 32 + ((lane % 32 & keep | set_) ^ flip)


def byte(x: Array, n: int, *, sign: bool = False) -> Array:
    out = x >> 8 * n & 255
    return np.where(out >= 128, out.astype(np.int64) - 256, out) if sign else out


SDWA = "v_mov_b32 v20, v12\nv_add_u32_sdwa v20, v10, v11 "
CASES = [
    *table("u32", [
        *((f"{MOVE}{control} row_mask:0xf bank_mask:0xf", moved(source)) for control, source in DPP.items()),
        *((f"{MOVE}{control} row_mask:0xf bank_mask:0xf bound_ctrl:0", moved(source, zero=True))
          for control, source in DPP.items()),
        (f"{MOVE}row_shr:5 row_mask:0xa bank_mask:0x6", moved(DPP["row_shr:5"], (0xA, 0x6))),
        ("v_mov_b32 v20, v11\nv_add_u32_dpp v20, v10, v12 row_ror:4 row_mask:0xf bank_mask:0xf",
         lambda s: np.where(s.active()[DPP["row_ror:4"]], s.u32(10)[DPP["row_ror:4"]] + s.u32(12), s.u32(11))),
        ("ds_bpermute_b32 v20, v12, v10", lambda s: permuted(s.u32(12).astype(int) // 4 % 64)(s)),
        ("ds_bpermute_b32 v20, v12, v10 offset:8", lambda s: permuted((s.u32(12) + np.uint32(8)).astype(int) // 4 % 64)(s)),
        ("ds_permute_b32 v20, v12, v10", pushed),
        ('ds_swizzle_b32 v20, v10 offset:swizzle(QUAD_PERM, 2, 0, 3, 1)',
         permuted(LANE // 4 * 4 + np.array([2, 0, 3, 1])[LANE % 4])),
        ("ds_swizzle_b32 v20, v10 offset:swizzle(SWAP, 8)", permuted(LANE ^ 8)),
        ("ds_swizzle_b32 v20, v10 offset:swizzle(REVERSE, 16)", permuted(LANE ^ 15)),
        ("ds_swizzle_b32 v20, v10 offset:swizzle(BROADCAST, 8, 3)", permuted(LANE // 8 * 8 + 3)),
        ('ds_swizzle_b32 v20, v10 offset:swizzle(BITMASK_PERM, "01p0i")', permuted(
            LANE // 32 * 32 + (LANE % 32 & 0b00101 | 0b01000 ^ 0) ^ 1)),
        (f"{SDWA}dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
         lambda s: byte(s.u32(10), 1) + (s.u32(11) >> 16)),
        (f"{SDWA}dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_3",
         lambda s: (byte(s.u32(10), 0) + byte(s.u32(11), 3) & 255) << 16),
        (f"{SDWA}dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:DWORD",
         lambda s: s.u32(12) & 0xFFFF | (s.u32(10) & 0xFFFF) + s.u32(11) << 16),
        (f"{SDWA}dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:BYTE_0",
         lambda s: byte(byte(s.u32(10), 0) + byte(s.u32(11), 0), 0, sign=True).astype(np.int64) << 8 & 0xFFFFFFFF),
        ("v_add_u32_sdwa v20, sext(v10), v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
         lambda s: byte(s.u32(10), 1, sign=True) + s.u32(11) & 0xFFFFFFFF),
        ("v_readfirstlane_b32 s10, v10\nv_mov_b32 v20, s10",
         lambda s: np.full(64, s.u32(10)[np.flatnonzero(s.active())[0]])),
        ("v_readlane_b32 s10, v10, 17\nv_mov_b32 v20, s10", lambda s: np.full(64, s.u32(10)[17])),
        ("v_mov_b32 v3, v10\nv_mov_b32 v20, v10\ns_mov_b32 m0, 4\nv_writelane_b32 v20, s4, m0",
         lambda s: np.where(LANE == 4, 0x80000001, s.u32(10))),
    ]),
    *table("f16", [
        ("v_mul_f16_sdwa v20, v13, -v14 dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0",
         lambda s: (s.f16(13, 1).astype(float) * -s.f16(14)).astype(np.float16)),
    ]),
    *table("f32", [
        ("v_mov_b32 v20, v1\nv_mul_f32_dpp v20, |v0|, -v1 row_newbcast:6 row_mask:0xf bank_mask:0xf",
         lambda s: np.where(s.active()[ROW + 6], abs(s.f32(0)[ROW + 6]) * -s.f32(1), s.f32(1))),
    ]),
]  # fmt: skip


@pytest.fixture(scope="module")
def lines(sandbox: Sandbox) -> Lines:
    return Lines(sandbox, CASES)


@each_case(CASES)
def test_lanes_read_each_other_as_the_control_says(lines: Lines, case: Case) -> None:
    lines.check(case)


def test_the_first_lane_stands_in_when_all_sleep(sandbox: Sandbox) -> None:
    before = prepared()
    (after,) = run_waves(sandbox, [("s_mov_b64 exec, 0\nv_readfirstlane_b32 s10, v10", before)])
    assert after.s[6] == before.u32(10)[0]


def test_a_moved_register_index_applies_to_the_chosen_operands(sandbox: Sandbox) -> None:
    line = "s_set_gpr_idx_on s6, gpr_idx(SRC0,DST)\nv_mov_b32 v15, v5\nv_mov_b32 v22, v9\ns_set_gpr_idx_off\nv_mov_b32 v26, v9"
    before = prepared(exec_mask=SOME)
    (after,) = run_waves(sandbox, [(line, before)])
    active = before.active()
    assert (after.u32(20)[active] == before.u32(10)[active]).all(), "v15 + 5 from v5 + 5"
    assert (after.u32(27)[active] == before.u32(14)[active]).all(), "v22 + 5 from v9 + 5"
    assert (after.u32(26)[active] == before.u32(9)[active]).all(), "no offset once it is off"
    assert (after.u32(20)[~active] == POISON).all()


def test_sdwa_compares_write_any_scalar_pair(sandbox: Sandbox) -> None:
    line = "v_cmp_eq_u32_sdwa s[10:11], v10, v11 src0_sel:BYTE_0 src1_sel:BYTE_0"
    states = both_masks()
    for before, after in zip(states, run_waves(sandbox, [(line, s) for s in states]), strict=True):
        equal = (before.u32(10) & 255 == before.u32(11) & 255) & before.active()
        assert int(after.s[6]) | int(after.s[7]) << 32 == sum(1 << int(n) for n in np.flatnonzero(equal))
