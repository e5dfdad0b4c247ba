"""Vector arithmetic on integers of 16, 32 and 64 bits, and on bits."""

from collections.abc import Callable

import numpy as np
import pytest
from lanes import Case, Lines, each_case, table
from waves import State

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

MASK = (1 << 32) - 1


def each(function: Callable[..., int], *registers: int, wide: int = 0) -> Callable[[State], np.ndarray]:
    """`function` of Python integers, lane by lane; the last `wide` registers are pairs."""

    def expected(s: State) -> np.ndarray:
        narrow = registers[: len(registers) - wide]
        columns = [s.u32(r) for r in narrow] + [s.u64(r) for r in registers[len(narrow) :]]
        return np.array(
            [function(*map(int, row)) & (1 << 64) - 1 for row in zip(*columns, strict=True)], dtype=np.uint64
        )

    return expected


def signed(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def saturated(x: int, low: int, high: int) -> int:
    return max(low, min(high, x))


def clz(x: int) -> int:
    return 32 - x.bit_length() if x else MASK


def ffbh_i(x: int) -> int:
    y = x ^ (MASK if x >> 31 else 0)
    return 32 - y.bit_length() if y else MASK


def bfe_i(a: int, b: int, c: int) -> int:
    width, offset = c & 31, b & 31
    if not width:
        return 0
    field = signed(a) >> offset & (1 << width) - 1
    return signed(field, width)


def sad(a: int, b: int, masked: bool = False) -> int:
    pairs = [(a >> n & 255, b >> n & 255) for n in (0, 8, 16, 24)]
    return sum(abs(x - y) for x, y in pairs if not (masked and x == 0))


def perm(a: int, b: int, c: int) -> int:
    data, out = a << 32 | b, 0
    for n in range(4):
        s = c >> 8 * n & 255
        if s < 8:
            byte = data >> 8 * s & 255
        elif s < 12:
            byte = 255 if data >> (16 * (s - 8) + 15) & 1 else 0
        else:
            byte = 0 if s == 12 else 255
        out |= byte << 8 * n
    return out


def qsad(a: int, b: int, c: int, masked: bool) -> int:
    out = 0
    for n in range(4):
        window = a >> 8 * n & MASK
        total = (c >> 16 * n & 65535) + (sad(b, window, True) if masked else sad(window, b))
        out |= (total & 65535) << 16 * n
    return out


def low16(function: Callable[..., int], *registers: int, sign: bool = False) -> Callable[[State], np.ndarray]:
    def expected(s: State) -> np.ndarray:
        columns = [s.i16(r) if sign else s.u16(r) for r in registers]
        return np.array([function(*map(int, row)) & 0xFFFF for row in zip(*columns, strict=True)], dtype=np.uint16)

    return expected


def sorted3(a: int, b: int, c: int) -> list[int]:
    return sorted((a, b, c))


U32 = table("u32", [
    ("v_mov_b32_e32 v20, v10", each(lambda a: a, 10)),
    ("v_mov_b32_e32 v20, -16", each(lambda a: MASK - 15, 10)),
    ("v_mov_b32_e32 v20, 0x12345678", each(lambda a: 0x12345678, 10)),
    ("v_mov_b32_e32 v20, 1.0", each(lambda a: 0x3F800000, 10)),
    ("v_mov_b32_e32 v20, s4", each(lambda a: 0x80000001, 10)),
    ("v_mov_b32_e32 v20, vcc_hi", each(lambda a: 0xF0F01234, 10)),
    ("v_not_b32_e32 v20, v10", each(lambda a: ~a & MASK, 10)),
    ("v_bfrev_b32_e32 v20, v10", each(lambda a: int(f"{a:032b}"[::-1], 2), 10)),
    ("v_ffbh_u32_e32 v20, v10", each(clz, 10)),
    ("v_ffbl_b32_e32 v20, v10", each(lambda a: (a & -a).bit_length() - 1 if a else MASK, 10)),
    ("v_ffbh_i32_e32 v20, v10", each(ffbh_i, 10)),
    ("v_add_u32_e32 v20, v10, v11", each(lambda a, b: a + b & MASK, 10, 11)),
    ("v_add_u32_e64 v20, v10, v11 clamp", each(lambda a, b: min(a + b, MASK), 10, 11)),
    ("v_sub_u32_e32 v20, v10, v11", each(lambda a, b: a - b & MASK, 10, 11)),
    ("v_sub_u32_e64 v20, v10, v11 clamp", each(lambda a, b: max(a - b, 0), 10, 11)),
    ("v_subrev_u32_e32 v20, v10, v11", each(lambda a, b: b - a & MASK, 10, 11)),
    ("v_add_i32 v20, v10, v11 clamp",
     each(lambda a, b: saturated(signed(a) + signed(b), -(2**31), 2**31 - 1) & MASK, 10, 11)),
    ("v_sub_i32 v20, v10, v11 clamp",
     each(lambda a, b: saturated(signed(a) - signed(b), -(2**31), 2**31 - 1) & MASK, 10, 11)),
    ("v_mul_lo_u32 v20, v10, v11", each(lambda a, b: a * b & MASK, 10, 11)),
    ("v_mul_hi_u32 v20, v10, v11", each(lambda a, b: a * b >> 32, 10, 11)),
    ("v_mul_hi_i32 v20, v10, v11", each(lambda a, b: signed(a) * signed(b) >> 32 & MASK, 10, 11)),
    ("v_mul_i32_i24_e32 v20, v10, v11", each(lambda a, b: signed(a, 24) * signed(b, 24) & MASK, 10, 11)),
    ("v_mul_hi_i32_i24_e32 v20, v10, v11", each(lambda a, b: signed(a, 24) * signed(b, 24) >> 32 & MASK, 10, 11)),
    ("v_mul_u32_u24_e32 v20, v10, v11", each(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & MASK, 10, 11)),
    ("v_mul_hi_u32_u24_e32 v20, v10, v11", each(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32, 10, 11)),
    ("v_mad_i32_i24 v20, v10, v11, v12",
     each(lambda a, b, c: signed(a, 24) * signed(b, 24) + c & MASK, 10, 11, 12)),
    ("v_mad_u32_u24 v20, v10, v11, v12",
     each(lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c & MASK, 10, 11, 12)),
    ("v_mad_u32_u24 v20, v10, v11, v12 clamp",
     each(lambda a, b, c: min((a & 0xFFFFFF) * (b & 0xFFFFFF) + c, MASK), 10, 11, 12)),
    ("v_min_i32_e32 v20, v10, v11", each(lambda a, b: min(signed(a), signed(b)) & MASK, 10, 11)),
    ("v_max_i32_e32 v20, v10, v11", each(lambda a, b: max(signed(a), signed(b)) & MASK, 10, 11)),
    ("v_min_u32_e32 v20, v10, v11", each(min, 10, 11)),
    ("v_max_u32_e32 v20, v10, v11", each(max, 10, 11)),
    ("v_min3_u32 v20, v10, v11, v12", each(min, 10, 11, 12)),
    ("v_max3_u32 v20, v10, v11, v12", each(max, 10, 11, 12)),
    ("v_med3_u32 v20, v10, v11, v12", each(lambda a, b, c: sorted3(a, b, c)[1], 10, 11, 12)),
    ("v_min3_i32 v20, v10, v11, v12", each(lambda a, b, c: min(map(signed, (a, b, c))) & MASK, 10, 11, 12)),
    ("v_max3_i32 v20, v10, v11, v12", each(lambda a, b, c: max(map(signed, (a, b, c))) & MASK, 10, 11, 12)),
    ("v_med3_i32 v20, v10, v11, v12", each(lambda a, b, c: sorted(map(signed, (a, b, c)))[1] & MASK, 10, 11, 12)),
    ("v_and_b32_e32 v20, v10, v11", each(lambda a, b: a & b, 10, 11)),
    ("v_or_b32_e32 v20, v10, v11", each(lambda a, b: a | b, 10, 11)),
    ("v_xor_b32_e32 v20, v10, v11", each(lambda a, b: a ^ b, 10, 11)),
    ("v_xnor_b32_e32 v20, v10, v11", each(lambda a, b: ~(a ^ b) & MASK, 10, 11)),
    ("v_lshlrev_b32_e32 v20, v10, v11", each(lambda a, b: b << (a & 31) & MASK, 10, 11)),
    ("v_lshrrev_b32_e32 v20, v10, v11", each(lambda a, b: b >> (a & 31), 10, 11)),
    ("v_ashrrev_i32_e32 v20, v10, v11", each(lambda a, b: signed(b) >> (a & 31) & MASK, 10, 11)),
    ("v_bfm_b32 v20, v10, v11", each(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31) & MASK, 10, 11)),
    ("v_bcnt_u32_b32 v20, v10, v11", each(lambda a, b: a.bit_count() + b & MASK, 10, 11)),
    ("v_bfe_u32 v20, v10, v11, v12", each(lambda a, b, c: a >> (b & 31) & (1 << (c & 31)) - 1, 10, 11, 12)),
    ("v_bfe_i32 v20, v10, v11, v12", each(lambda a, b, c: bfe_i(a, b, c) & MASK, 10, 11, 12)),
    ("v_bfi_b32 v20, v10, v11, v12", each(lambda a, b, c: a & b | ~a & c, 10, 11, 12)),
    ("v_alignbit_b32 v20, v10, v11, v12", each(lambda a, b, c: (a << 32 | b) >> (c & 31) & MASK, 10, 11, 12)),
    ("v_alignbyte_b32 v20, v10, v11, v12", each(lambda a, b, c: (a << 32 | b) >> 8 * (c & 3) & MASK, 10, 11, 12)),
    ("v_perm_b32 v20, v10, v11, v12", each(perm, 10, 11, 12)),
    ("s_mov_b32 s10, 0x0c030d04\nv_perm_b32 v20, v10, v11, s10", each(lambda a, b: perm(a, b, 0x0C030D04), 10, 11)),
    ("s_mov_b32 s10, 0x07020501\nv_perm_b32 v20, v10, v11, s10", each(lambda a, b: perm(a, b, 0x07020501), 10, 11)),
    (
        "s_mov_b32 s10, 0x00060307\nv_mov_b32 v20, v10\nv_perm_b32 v20, v20, v11, s10",
        each(lambda a, b: perm(a, b, 0x00060307), 10, 11),
    ),
    ("v_lshl_add_u32 v20, v10, v11, v12", each(lambda a, b, c: (a << (b & 31)) + c & MASK, 10, 11, 12)),
    ("v_add_lshl_u32 v20, v10, v11, v12", each(lambda a, b, c: (a + b & MASK) << (c & 31) & MASK, 10, 11, 12)),
    ("v_lshl_or_b32 v20, v10, v11, v12", each(lambda a, b, c: (a << (b & 31) | c) & MASK, 10, 11, 12)),
    ("v_and_or_b32 v20, v10, v11, v12", each(lambda a, b, c: a & b | c, 10, 11, 12)),
    ("v_or3_b32 v20, v10, v11, v12", each(lambda a, b, c: a | b | c, 10, 11, 12)),
    ("v_xad_u32 v20, v10, v11, v12", each(lambda a, b, c: (a ^ b) + c & MASK, 10, 11, 12)),
    ("v_add3_u32 v20, v10, v11, v12", each(lambda a, b, c: a + b + c & MASK, 10, 11, 12)),
    ("v_sad_u8 v20, v10, v11, v12", each(lambda a, b, c: sad(a, b) + c & MASK, 10, 11, 12)),
    ("v_sad_hi_u8 v20, v10, v11, v12", each(lambda a, b, c: (sad(a, b) << 16) + c & MASK, 10, 11, 12)),
    ("v_msad_u8 v20, v10, v11, v12", each(lambda a, b, c: sad(b, a, True) + c & MASK, 10, 11, 12)),
    ("v_sad_u16 v20, v10, v11, v12",
     each(lambda a, b, c: abs((a & 65535) - (b & 65535)) + abs((a >> 16) - (b >> 16)) + c & MASK, 10, 11, 12)),
    ("v_sad_u32 v20, v10, v11, v12", each(lambda a, b, c: abs(a - b) + c & MASK, 10, 11, 12)),
    ("v_sad_u32 v20, v10, v11, v12 clamp", each(lambda a, b, c: min(abs(a - b) + c, MASK), 10, 11, 12)),
    ("v_lerp_u8 v20, v10, v11, v12",
     each(lambda a, b, c: sum(((a >> n & 255) + (b >> n & 255) + (c >> n & 1) >> 1) << n for n in (0, 8, 16, 24)),
          10, 11, 12)),
    ("v_cvt_pk_u16_u32 v20, v10, v11", each(lambda a, b: min(a, 65535) | min(b, 65535) << 16, 10, 11)),
    ("v_cvt_pk_i16_i32 v20, v10, v11",
     each(lambda a, b: (saturated(signed(a), -32768, 32767) & 65535)
          | (saturated(signed(b), -32768, 32767) & 65535) << 16, 10, 11)),
    ("v_sat_pk_u8_i16_e32 v20, v10",
     each(lambda a: saturated(signed(a, 16), 0, 255) | saturated(signed(a >> 16, 16), 0, 255) << 8, 10)),
    ("v_mad_u32_u16 v20, v10, v11, v12", each(lambda a, b, c: (a & 65535) * (b & 65535) + c & MASK, 10, 11, 12)),
    ("v_mad_u32_u16 v20, v10, v11, v12 op_sel:[1,0,0,0]",
     each(lambda a, b, c: (a >> 16) * (b & 65535) + c & MASK, 10, 11, 12)),
    ("v_mad_i32_i16 v20, v10, v11, v12",
     each(lambda a, b, c: signed(a, 16) * signed(b, 16) + c & MASK, 10, 11, 12)),
    ("v_pack_b32_f16 v20, v13, v14", each(lambda a, b: a & 65535 | (b & 65535) << 16, 13, 14)),
    ("v_pack_b32_f16 v20, v13, v14 op_sel:[1,1,0]", each(lambda a, b: a >> 16 | b >> 16 << 16, 13, 14)),
    ("v_mbcnt_lo_u32_b32 v20, -1, v10", lambda s: s.u32(10) + np.minimum(np.arange(64, dtype=np.uint32), 32)),
    ("v_mbcnt_hi_u32_b32 v20, -1, v10",
     lambda s: s.u32(10) + np.maximum(np.arange(64, dtype=np.int64) - 32, 0).astype(np.uint32)),
    ("v_accvgpr_write_b32 a7, v10\ns_nop 4\nv_accvgpr_read_b32 v20, a7", each(lambda a: a, 10)),
    ("v_mov_b32 v20, v10\nv_mov_b32 v3, v11\nv_swap_b32 v20, v3", each(lambda b: b, 11)),
])  # fmt: skip

U16 = table("u16", [
    ("v_add_u16_e32 v20, v10, v11", low16(lambda a, b: a + b, 10, 11)),
    ("v_add_u16_e64 v20, v10, v11 clamp", low16(lambda a, b: min(a + b, 65535), 10, 11)),
    ("v_sub_u16_e32 v20, v10, v11", low16(lambda a, b: a - b, 10, 11)),
    ("v_subrev_u16_e32 v20, v10, v11", low16(lambda a, b: b - a, 10, 11)),
    ("v_mul_lo_u16_e32 v20, v10, v11", low16(lambda a, b: a * b, 10, 11)),
    ("v_lshlrev_b16_e32 v20, v10, v11", low16(lambda a, b: b << (a & 15), 10, 11)),
    ("v_lshrrev_b16_e32 v20, v10, v11", low16(lambda a, b: b >> (a & 15), 10, 11)),
    ("v_ashrrev_i16_e32 v20, v10, v11", low16(lambda a, b: b >> (a & 15), 10, 11, sign=True)),
    ("v_max_u16_e32 v20, v10, v11", low16(max, 10, 11)),
    ("v_min_u16_e32 v20, v10, v11", low16(min, 10, 11)),
    ("v_max_i16_e32 v20, v10, v11", low16(max, 10, 11, sign=True)),
    ("v_min_i16_e32 v20, v10, v11", low16(min, 10, 11, sign=True)),
    ("v_mad_legacy_u16 v20, v10, v11, v12", low16(lambda a, b, c: a * b + c, 10, 11, 12)),
])  # fmt: skip

HALVES = table("u16", [
    ("v_add_i16 v20, v10, v11 clamp", low16(lambda a, b: saturated(a + b, -32768, 32767), 10, 11, sign=True)),
    ("v_sub_i16 v20, v10, v11", low16(lambda a, b: a - b, 10, 11, sign=True)),
    ("v_mad_u16 v20, v10, v11, v12", low16(lambda a, b, c: a * b + c, 10, 11, 12)),
    ("v_mad_i16 v20, v10, v11, v12 clamp",
     low16(lambda a, b, c: saturated(a * b + c, -32768, 32767), 10, 11, 12, sign=True)),
    ("v_min3_u16 v20, v10, v11, v12", low16(min, 10, 11, 12)),
    ("v_max3_i16 v20, v10, v11, v12", low16(max, 10, 11, 12, sign=True)),
    ("v_med3_i16 v20, v10, v11, v12", low16(lambda a, b, c: sorted3(a, b, c)[1], 10, 11, 12, sign=True)),
], keeps_upper=True)  # fmt: skip

U64 = table("u64", [
    ("v_mov_b64_e32 v[20:21], v[16:17]", lambda s: s.u64(16)),
    ("v_mov_b64_e32 v[20:21], -2", lambda s: np.full(64, 2**64 - 2, dtype=np.uint64)),
    ("v_lshlrev_b64 v[20:21], v10, v[16:17]", each(lambda a, b: b << (a & 63), 10, 16, wide=1)),
    ("v_lshrrev_b64 v[20:21], v10, v[16:17]", each(lambda a, b: b >> (a & 63), 10, 16, wide=1)),
    ("v_ashrrev_i64 v[20:21], v10, v[16:17]", each(lambda a, b: signed(b, 64) >> (a & 63), 10, 16, wide=1)),
    ("v_lshl_add_u64 v[20:21], v[16:17], 3, v[18:19]", each(lambda a, b: (a << 3) + b, 16, 18, wide=2)),
    ("v_lshl_add_u64 v[20:21], v[16:17], 0, s[4:5]", each(lambda a: a + (0xFFFF << 32 | 0x80000001), 16, wide=1)),
    ("v_lshl_add_u64 v[20:21], v[16:17], v10, v[18:19]", each(lambda n, a, b: (a << (n & 63)) + b, 10, 16, 18, wide=2)),
    ("v_mov_b32 v20, v16\nv_mov_b32 v21, v17\nv_lshl_add_u64 v[20:21], v[20:21], 3, v[18:19]",  # over its own source
     each(lambda a, b: (a << 3) + b, 16, 18, wide=2)),
    ("v_mov_b32 v20, v16\nv_mov_b32 v21, v17\nv_lshrrev_b64 v[20:21], v10, v[20:21]",
     each(lambda n, a: a >> (n & 63), 10, 16, wide=1)),
    ("v_mad_u64_u32 v[20:21], vcc, v10, v11, v[16:17]", each(lambda a, b, c: a * b + c, 10, 11, 16, wide=1)),
    ("v_mad_i64_i32 v[20:21], vcc, v10, v11, v[16:17]",
     each(lambda a, b, c: signed(a) * signed(b) + c, 10, 11, 16, wide=1)),
    ("v_qsad_pk_u16_u8 v[20:21], v[16:17], v10, v[18:19]",
     lambda s: each(lambda b, a, c: qsad(a, b, c, False), 10, 16, 18, wide=2)(s)),
    ("v_mqsad_pk_u16_u8 v[20:21], v[16:17], v10, v[18:19]",
     lambda s: each(lambda b, a, c: qsad(a, b, c, True), 10, 16, 18, wide=2)(s)),
])  # fmt: skip

CARRIES = {  # the carry that the line leaves in VCC, lane by lane
    "v_add_co_u32_e32 v20, vcc, v10, v11": lambda s: (s.u64_of(10) + s.u64_of(11)) >> 32 != 0,
    "v_sub_co_u32_e32 v20, vcc, v10, v11": lambda s: s.u32(10) < s.u32(11),
    "v_subrev_co_u32_e32 v20, vcc, v10, v11": lambda s: s.u32(11) < s.u32(10),
    "v_addc_co_u32_e32 v20, vcc, v10, v11, vcc": lambda s: (s.u64_of(10) + s.u64_of(11) + s.carry()) >> 32 != 0,
    "v_subb_co_u32_e32 v20, vcc, v10, v11, vcc": lambda s: s.u64_of(10) < s.u64_of(11) + s.carry(),
}

SUMS = table("u32", [
    ("v_add_co_u32_e32 v20, vcc, v10, v11", lambda s: s.u32(10) + s.u32(11)),
    ("v_sub_co_u32_e32 v20, vcc, v10, v11", lambda s: s.u32(10) - s.u32(11)),
    ("v_subrev_co_u32_e32 v20, vcc, v10, v11", lambda s: s.u32(11) - s.u32(10)),
    ("v_addc_co_u32_e32 v20, vcc, v10, v11, vcc", lambda s: s.u32(10) + s.u32(11) + s.carry().astype(np.uint32)),
    ("v_subb_co_u32_e32 v20, vcc, v10, v11, vcc", lambda s: s.u32(10) - s.u32(11) - s.carry().astype(np.uint32)),
])  # fmt: skip

CASES = [*U32, *U16, *HALVES, *U64, *SUMS]


@pytest.fixture(scope="module")
def lines(sandbox: Sandbox) -> Lines:
    return Lines(sandbox, CASES)


@each_case(CASES)
def test_integers_in_active_lanes(lines: Lines, case: Case) -> None:
    lines.check(case)


@each_case(SUMS)
def test_a_carry_is_set_for_active_lanes_only(lines: Lines, case: Case) -> None:
    for before, after in lines.results[case.line]:
        got = np.array([after.vcc >> n & 1 for n in range(64)], dtype=bool)
        assert (got == (CARRIES[case.line](before) & before.active())).all(), case.line
