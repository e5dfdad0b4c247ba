"""Vector arithmetic on doubles and halves, and packed pairs."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lanes import Case, Lines, each_case, table
from values import POISON
from waves import State

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Array = np.ndarray


def f64(function: Callable[..., Array], *registers: int) -> Callable[[State], Array]:
    return lambda s: function(*(s.f64(r) for r in registers))


def f16(function: Callable[..., Array], *registers: int) -> Callable[[State], Array]:
    """Computed in double and rounded once: double holds every sum and product of halves but not every fma."""
    return lambda s: function(*(s.f16(r).astype(np.float64) for r in registers)).astype(np.float16)


def fma64(x: float, y: float, z: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return float(np.float64(x) * np.float64(y) + np.float64(z))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else float(np.float64(x) * np.float64(y) + np.float64(z))
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def fma16(x: float, y: float, z: float) -> np.float16:
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return np.float16(np.float64(x) * np.float64(y) + np.float64(z))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if not exact:
        return np.float16(np.float64(x) * np.float64(y) + np.float64(z))
    exponent = max(math.frexp(float(abs(exact)))[1], -13)
    step = Fraction(2) ** (exponent - 11)
    value = float(round(exact / step) * step)
    return np.float16(value) if value else np.float16(math.copysign(0.0, exact))


def lanewise(function: Callable[..., Any], *columns: Array) -> Array:
    return np.array([function(*map(float, row)) for row in zip(*columns, strict=True)])


def minimum(a: Array, b: Array) -> Array:
    r = np.fmin(a, b)
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a) | np.signbit(b), -0.0, 0.0), r)


def maximum(a: Array, b: Array) -> Array:
    return -minimum(-a, -b)


def medium(a: Array, b: Array, c: Array) -> Array:
    """The middle one; with a NaN the least of the others."""
    some_nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    middle = maximum(minimum(a, b), minimum(maximum(a, b), c))
    return np.where(some_nan, minimum(minimum(a, b), c), middle)


def saturated(x: Array, low: float, high: float) -> Array:
    return np.nan_to_num(np.clip(np.trunc(x), low, high), nan=0)


def frexp(x: Array) -> tuple[Array, Array]:
    m, e = np.frexp(x)
    return m, np.where(np.isfinite(x), e, 0)


def fract(x: Array, below_one: float) -> Array:
    return np.minimum(x - np.floor(x), below_one)


DOUBLE = table("f64", [
    ("v_add_f64 v[20:21], v[4:5], v[6:7]", f64(lambda a, b: a + b, 4, 6)),
    ("v_add_f64 v[20:21], v[4:5], -v[6:7]", f64(lambda a, b: a - b, 4, 6)),
    ("v_add_f64 v[20:21], |v[4:5]|, 1.0", f64(lambda a: abs(a) + 1, 4)),
    ("v_add_f64 v[20:21], v[4:5], 4", f64(lambda a: a + 4 * 2.0**-1074, 4)),  # an integer constant is the bits of it
    ("s_mov_b32 s10, 0\ns_mov_b32 s11, 0x40080000\nv_add_f64 v[20:21], v[4:5], s[10:11]", f64(lambda a: a + 3, 4)),
    ("v_mul_f64 v[20:21], v[4:5], v[6:7]", f64(lambda a, b: a * b, 4, 6)),
    ("v_mul_f64 v[20:21], v[4:5], v[6:7] clamp",
     f64(lambda a, b: np.where(a * b > 0, np.minimum(a * b, 1), 0), 4, 6)),
    ("v_min_f64 v[20:21], v[4:5], v[6:7]", f64(minimum, 4, 6)),
    ("v_max_f64 v[20:21], v[4:5], v[6:7]", f64(maximum, 4, 6)),
    ("v_fma_f64 v[20:21], v[4:5], v[6:7], v[8:9]", f64(lambda *x: lanewise(fma64, *x), 4, 6, 8)),
    ("v_mov_b64 v[20:21], v[8:9]\nv_fmac_f64_e32 v[20:21], v[4:5], v[6:7]",
     f64(lambda *x: lanewise(fma64, *x), 4, 6, 8)),
    ("v_fract_f64_e32 v[20:21], v[4:5]", f64(lambda a: fract(a, np.nextafter(1, 0)), 4)),
    ("v_trunc_f64_e32 v[20:21], v[4:5]", f64(np.trunc, 4)),
    ("v_ceil_f64_e32 v[20:21], v[4:5]", f64(np.ceil, 4)),
    ("v_rndne_f64_e32 v[20:21], v[4:5]", f64(np.rint, 4)),
    ("v_floor_f64_e32 v[20:21], v[4:5]", f64(np.floor, 4)),
    ("v_rcp_f64_e32 v[20:21], v[4:5]", f64(lambda a: 1 / a, 4), 1),
    ("v_rsq_f64_e32 v[20:21], v[4:5]", f64(lambda a: 1 / np.sqrt(a), 4), 2),
    ("v_sqrt_f64_e32 v[20:21], v[4:5]", f64(np.sqrt, 4), 1),
    ("v_frexp_mant_f64_e32 v[20:21], v[4:5]", f64(lambda a: frexp(a)[0], 4)),
    ("v_ldexp_f64 v[20:21], v[4:5], s6", f64(lambda a: np.ldexp(a, 5), 4)),
    ("v_cvt_f64_f32_e32 v[20:21], v0", lambda s: s.f32(0).astype(np.float64)),
    ("v_cvt_f64_i32_e32 v[20:21], v10", lambda s: s.i32(10).astype(np.float64)),
    ("v_cvt_f64_u32_e32 v[20:21], v10", lambda s: s.u32(10).astype(np.float64)),
])  # fmt: skip

FROM_DOUBLE = [
    *table("i32", [
        ("v_cvt_i32_f64_e32 v20, v[4:5]", f64(lambda a: saturated(a, -(2**31), 2**31 - 1), 4)),
        ("v_frexp_exp_i32_f64_e32 v20, v[4:5]", f64(lambda a: frexp(a)[1], 4)),
    ]),
    *table("u32", [("v_cvt_u32_f64_e32 v20, v[4:5]", f64(lambda a: saturated(a, 0, 2**32 - 1), 4))]),
]  # fmt: skip

HALF = [
    *table("f16", [
        ("v_add_f16_e32 v20, v13, v14", f16(lambda a, b: a + b, 13, 14)),
        ("v_add_f16_e64 v20, -v13, |v14|", f16(lambda a, b: -a + abs(b), 13, 14)),
        ("v_add_f16_e32 v20, 1.0, v14", f16(lambda b: 1 + b, 14)),
        ("v_add_f16_e32 v20, 0x4248, v14", f16(lambda b: 3.140625 + b, 14)),
        ("v_sub_f16_e32 v20, v13, v14", f16(lambda a, b: a - b, 13, 14)),
        ("v_subrev_f16_e32 v20, v13, v14", f16(lambda a, b: b - a, 13, 14)),
        ("v_mul_f16_e32 v20, v13, v14", f16(lambda a, b: a * b, 13, 14)),
        ("v_mul_f16_e64 v20, v13, v14 clamp", f16(lambda a, b: np.where(a * b > 0, np.minimum(a * b, 1), 0), 13, 14)),
        ("v_min_f16_e32 v20, v13, v14", f16(minimum, 13, 14)),
        ("v_max_f16_e32 v20, v13, v14", f16(maximum, 13, 14)),
        ("v_trunc_f16_e32 v20, v13", f16(np.trunc, 13)),
        ("v_ceil_f16_e32 v20, v13", f16(np.ceil, 13)),
        ("v_floor_f16_e32 v20, v13", f16(np.floor, 13)),
        ("v_rndne_f16_e32 v20, v13", f16(np.rint, 13)),
        ("v_fract_f16_e32 v20, v13", f16(lambda a: fract(a, 1 - 2.0**-11), 13)),
        ("v_rcp_f16_e32 v20, v13", f16(lambda a: 1 / a, 13), 1),
        ("v_rsq_f16_e32 v20, v13", f16(lambda a: 1 / np.sqrt(a), 13), 1),
        ("v_sqrt_f16_e32 v20, v13", f16(np.sqrt, 13), 1),
        ("v_exp_f16_e32 v20, v13", f16(np.exp2, 13), 1),
        ("v_log_f16_e32 v20, v13", f16(np.log2, 13), 1),
        ("v_frexp_mant_f16_e32 v20, v13", f16(lambda a: frexp(a)[0], 13)),
        ("v_ldexp_f16_e64 v20, v13, s6", f16(lambda a: np.ldexp(a, 5), 13)),
        ("v_cvt_f16_f32_e32 v20, v0", lambda s: s.f32(0).astype(np.float16)),
        ("v_cvt_f16_u16_e32 v20, v10", lambda s: s.u16(10).astype(np.float64).astype(np.float16)),
        ("v_cvt_f16_i16_e32 v20, v10", lambda s: s.i16(10).astype(np.float16)),
    ]),
    *table("u16", [
        ("v_cvt_u16_f16_e32 v20, v13", lambda s: saturated(s.f16(13).astype(float), 0, 65535)),
    ]),
    *table("i16", [
        ("v_cvt_i16_f16_e32 v20, v13", lambda s: saturated(s.f16(13).astype(float), -32768, 32767)),
        ("v_frexp_exp_i16_f16_e32 v20, v13", lambda s: frexp(s.f16(13))[1]),
    ]),
    *table("f16", [
        ("v_fma_f16 v20, v13, v14, v15", f16(lambda *x: lanewise(fma16, *x), 13, 14, 15)),
        ("v_max3_f16 v20, v13, v14, v15", f16(lambda a, b, c: maximum(maximum(a, b), c), 13, 14, 15)),
        ("v_med3_f16 v20, v13, v14, v15", f16(medium, 13, 14, 15)),
        ("v_fma_f16 v20, v13, v14, v15 op_sel:[1,0,0,0]",
         lambda s: lanewise(fma16, s.f16(13, 1), s.f16(14), s.f16(15))),
    ], keeps_upper=True),
]  # fmt: skip


def placed(function: Callable[[int, int, int], int], *, sign: bool) -> Callable[[State], Array]:
    """Three sources, half by half."""

    def expected(s: State) -> Array:
        halves = []
        for half in (0, 1):
            columns = [(s.i16(r, half) if sign else s.u16(r, half)) for r in (10, 11, 12)]
            halves.append(
                np.array([function(*map(int, row)) & 0xFFFF for row in zip(*columns, strict=True)], dtype=np.uint32)
            )
        return halves[0] | halves[1] << 16

    return expected


def pairs(function: Callable[..., Array], *halves: tuple[int, int, int]) -> Callable[[State], Array]:
    """A packed result: for each source its register and which halves feed the low and the high result."""

    def expected(s: State) -> Array:
        low = function(*(s.f16(r, lo).astype(np.float64) for r, lo, _ in halves)).astype(np.float16)
        high = function(*(s.f16(r, hi).astype(np.float64) for r, _, hi in halves)).astype(np.float16)
        return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16

    return expected


def straight(*registers: int) -> list[tuple[int, int, int]]:
    return [(r, 0, 1) for r in registers]


def canonical(s: State) -> Array:
    """Halves with every NaN made the same, to compare pairs."""
    halves = s.halves(20).copy()
    halves[np.isnan(halves.view(np.float16))] = 0x7E00
    return halves[:, 0].astype(np.uint32) | halves[:, 1].astype(np.uint32) << 16


def integers(function: Callable[[int, int], int], sign: bool) -> Callable[[State], Array]:
    def expected(s: State) -> Array:
        parts = []
        for half in (0, 1):
            a, b = (s.i16(r, half) if sign else s.u16(r, half) for r in (10, 11))
            parts.append(
                np.array([function(int(x), int(y)) & 0xFFFF for x, y in zip(a, b, strict=True)], dtype=np.uint32)
            )
        return parts[0] | parts[1] << 16

    return expected


def clip(x: int, low: int, high: int) -> int:
    return max(low, min(high, x))


def float_pairs(function: Callable[..., Array], *registers: int, swap: bool = False) -> Callable[[State], Array]:
    def expected(s: State) -> Array:
        low, high = (function(*(s.f32(r + k) for r in registers)) for k in ((1, 0) if swap else (0, 1)))
        low[np.isnan(low)] = high[np.isnan(high)] = np.nan
        return low.view(np.uint32).astype(np.uint64) | high.view(np.uint32).astype(np.uint64) << np.uint64(32)

    return expected


PACKED_FLOATS = table("u32", [
    ("v_pk_add_f16 v20, v13, v14", pairs(lambda a, b: a + b, *straight(13, 14))),
    ("v_pk_mul_f16 v20, v13, v14", pairs(lambda a, b: a * b, *straight(13, 14))),
    ("v_pk_min_f16 v20, v13, v14", pairs(minimum, *straight(13, 14))),
    ("v_pk_max_f16 v20, v13, v14", pairs(maximum, *straight(13, 14))),
    ("v_pk_fma_f16 v20, v13, v14, v15", pairs(lambda *x: lanewise(fma16, *x), *straight(13, 14, 15))),
    ("v_pk_add_f16 v20, v13, v14 op_sel:[1,0] op_sel_hi:[0,1]",
     pairs(lambda a, b: a + b, (13, 1, 0), (14, 0, 1))),
    ("v_pk_add_f16 v20, v13, v14 op_sel_hi:[1,0]", pairs(lambda a, b: a + b, (13, 0, 1), (14, 0, 0))),
    ("v_pk_add_f16 v20, v13, v14 neg_lo:[0,1] neg_hi:[0,1]", pairs(lambda a, b: a - b, *straight(13, 14))),
    ("v_pk_add_f16 v20, v13, 1.0 op_sel_hi:[1,0]", pairs(lambda a: a + 1, *straight(13))),
    ("v_pk_mul_f16 v20, v13, v14 clamp",
     pairs(lambda a, b: np.where(a * b > 0, np.minimum(a * b, 1), 0), *straight(13, 14))),
])  # fmt: skip

PACKED = [
    *table("u32", [
        ("v_pk_add_u16 v20, v10, v11", integers(lambda a, b: a + b, False)),
        ("v_pk_add_u16 v20, v10, v11 clamp", integers(lambda a, b: min(a + b, 65535), False)),
        ("v_pk_sub_u16 v20, v10, v11 clamp", integers(lambda a, b: max(a - b, 0), False)),
        ("v_pk_add_i16 v20, v10, v11 clamp", integers(lambda a, b: clip(a + b, -32768, 32767), True)),
        ("v_pk_sub_i16 v20, v10, v11", integers(lambda a, b: a - b, True)),
        ("v_pk_mul_lo_u16 v20, v10, v11", integers(lambda a, b: a * b, False)),
        ("v_pk_min_u16 v20, v10, v11", integers(min, False)),
        ("v_pk_max_u16 v20, v10, v11", integers(max, False)), ("v_pk_min_i16 v20, v10, v11", integers(min, True)),
        ("v_pk_lshrrev_b16 v20, v10, v11", integers(lambda a, b: b >> (a & 15), False)),
        ("v_pk_mad_i16 v20, v10, v11, v12", placed(lambda a, b, c: a * b + c, sign=True)),
        ("v_pk_mad_u16 v20, v10, v11, v12", placed(lambda a, b, c: a * b + c, sign=False)),
        ("v_pk_max_i16 v20, v10, v11", integers(max, True)),
        ("v_pk_lshlrev_b16 v20, v10, v11", integers(lambda a, b: b << (a & 15), False)),
        ("v_pk_ashrrev_i16 v20, v10, v11", integers(lambda a, b: b >> (a & 15), True)),
        ("v_dot4_i32_i8 v20, v10, v11, v12",
         lambda s: (s.v[10].view(np.int8).reshape(64, 4).astype(int) * s.v[11].view(np.int8).reshape(64, 4)).sum(1)
         + s.i32(12)),
        ("v_dot4_u32_u8 v20, v10, v11, v12",
         lambda s: (s.v[10].view(np.uint8).reshape(64, 4).astype(int) * s.v[11].view(np.uint8).reshape(64, 4)).sum(1)
         + s.u32(12)),
        ("v_dot2_i32_i16 v20, v10, v11, v12",
         lambda s: sum(s.i16(10, h).astype(int) * s.i16(11, h) for h in (0, 1)) + s.i32(12)),
        ("v_dot2_u32_u16 v20, v10, v11, v12",
         lambda s: sum(s.u16(10, h).astype(np.uint64) * s.u16(11, h) for h in (0, 1)) + s.u32(12)),
    ]),
    *table("f32_pair", [
        ("v_pk_add_f32 v[20:21], v[2:3], v[14:15]", float_pairs(lambda a, b: a + b, 2, 14)),
        ("v_pk_mul_f32 v[20:21], v[2:3], v[14:15]", float_pairs(lambda a, b: a * b, 2, 14)),
        ("v_pk_mul_f32 v[20:21], v[2:3], v[14:15] op_sel:[1,1] op_sel_hi:[0,0]",
         float_pairs(lambda a, b: a * b, 2, 14, swap=True)),
        ("v_mov_b32 v20, v2\nv_mov_b32 v21, v3\nv_pk_mul_f32 v[20:21], v[20:21], v[14:15] op_sel:[1,1] op_sel_hi:[0,0]",
         float_pairs(lambda a, b: a * b, 2, 14, swap=True)),  # over its own source
        ("v_pk_add_f32 v[20:21], v[2:3], v[14:15] neg_lo:[1,0] neg_hi:[1,0]", float_pairs(lambda a, b: b - a, 2, 14)),
        ("v_pk_mul_f32 v[20:21], v[2:3], 2.0 op_sel_hi:[1,0]", float_pairs(lambda a: a * np.float32(2), 2)),
    ]),
    *table("u64", [
        ("v_pk_mov_b32 v[20:21], v[16:17], v[18:19] op_sel:[1,0]",
         lambda s: s.u64(16) >> np.uint64(32) | s.u64(18) << np.uint64(32)),
    ]),
]  # fmt: skip

MIXED = [
    *table("f32", [
        ("v_fma_mix_f32 v20, v13, v14, v0 op_sel_hi:[1,1,0]",
         lambda s: (s.f16(13).astype(float) * s.f16(14) + s.f32(0)).astype(np.float32)),
        ("v_fma_mix_f32 v20, v13, -v14, 1.0 op_sel:[1,0,0] op_sel_hi:[1,1,0]",
         lambda s: (s.f16(13, 1).astype(float) * -s.f16(14) + 1).astype(np.float32)),
        ("v_fma_mix_f32 v20, v13, 1.0, v0 op_sel_hi:[1,1,0]",  # as Triton adds a half to a float
         lambda s: (s.f16(13).astype(float) + s.f32(0)).astype(np.float32)),
        ("v_fma_mix_f32 v20, v13, -0.5, v0 op_sel_hi:[1,1,0]",
         lambda s: (s.f16(13).astype(float) * -0.5 + s.f32(0)).astype(np.float32)),
        ("v_fma_mix_f32 v20, v13, 4.0, v0 op_sel_hi:[1,0,0]",
         lambda s: (s.f16(13).astype(float) * 4 + s.f32(0)).astype(np.float32)),
        ("v_dot2_f32_f16 v20, v13, v14, v0",
         lambda s: (s.f32(0) + s.f16(13).astype(np.float32) * s.f16(14)) + s.f16(13, 1).astype(np.float32) * s.f16(14, 1)),
    ]),
]  # fmt: skip

CASES = [*DOUBLE, *FROM_DOUBLE, *HALF, *PACKED_FLOATS, *PACKED, *MIXED]


@pytest.fixture(scope="module")
def lines(sandbox: Sandbox) -> Lines:
    return Lines(sandbox, CASES)


@each_case([case for case in CASES if case not in PACKED_FLOATS])
def test_doubles_halves_and_pairs_in_active_lanes(lines: Lines, case: Case) -> None:
    lines.check(case)


@each_case(PACKED_FLOATS)
def test_packed_halves_are_computed_side_by_side(lines: Lines, case: Case) -> None:
    for before, after in lines.results[case.line]:
        assert not after.fault, after.fault
        with np.errstate(all="ignore"):
            halves = case.expected(before).view(np.uint16).reshape(64, 2)
        halves[np.isnan(halves.view(np.float16))] = 0x7E00
        expected = halves[:, 0].astype(np.uint32) | halves[:, 1].astype(np.uint32) << 16
        active = before.active()
        assert (canonical(after)[active] == expected[active]).all(), case.line
        assert (after.u32(20)[~active] == POISON).all(), f"{case.line} writes inactive lanes"
