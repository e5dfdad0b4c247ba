"""Vector arithmetic on single-precision floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from lanes import Case, Lines, each_case, table
from waves import State

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

F = np.float32


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Rounded once, from the exact sum."""
    return np.array([_fma(float(x), float(y), float(z)) for x, y, z in zip(a, b, c, strict=True)], dtype=F)


def _fma(x: float, y: float, z: float) -> np.float32:
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return F(np.float64(x) * np.float64(y) + np.float64(z))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return round_once(exact) if exact else F(np.float64(x) * np.float64(y) + np.float64(z))


def round_once(exact: Fraction) -> np.float32:
    """The nearest float32, ties to even."""
    exponent = max(math.frexp(float(abs(exact)))[1], -125)
    step = Fraction(2) ** (exponent - 24)
    value = float(round(exact / step) * step)
    return F(value) if value else F(math.copysign(0.0, exact))


def minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A number wins over NaN, -0 is below +0."""
    r = np.fmin(a, b)
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a) | np.signbit(b), a.dtype.type(-0.0), 0), r).astype(
        a.dtype
    )


def maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (-minimum(-a, -b)).astype(a.dtype)


def middle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The larger of the two that are not the largest; zeros compare equal whatever their sign."""
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    top = maximum(maximum(a, b), c)
    rest = np.where(top == a, maximum(b, c), np.where(top == b, maximum(a, c), maximum(a, b)))
    return np.where(nan, minimum(minimum(a, b), c), rest).astype(a.dtype)


def sin_turns(x: np.ndarray) -> np.ndarray:
    """Exact at multiples of a quarter turn."""
    t = x.astype(np.float64) % 1.0
    return np.where(t % 0.5 == 0, np.copysign(0, x), np.sin(2 * np.pi * t))


def frexp(s: State) -> tuple[np.ndarray, np.ndarray]:
    m, e = np.frexp(s.f32(0))
    return m, np.where(np.isfinite(s.f32(0)), e, 0)


def clamp(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, np.minimum(x, 1), 0).astype(x.dtype)


def flushed(x: np.ndarray) -> np.ndarray:
    """Transcendentals neither take nor give single-precision denormals."""
    return np.where(abs(x) < np.finfo(F).tiny, np.copysign(0, x), x)


def fract(s: State) -> np.ndarray:
    x = s.f32(0)
    return np.minimum(x - np.floor(x), np.nextafter(F(1), F(0)))


CASES = [
    *table("f32", [
        ("v_add_f32_e32 v20, v0, v1", lambda s: s.f32(0) + s.f32(1)),
        ("v_add_f32_e64 v20, v0, -v1", lambda s: s.f32(0) - s.f32(1)),
        ("v_add_f32_e64 v20, |v0|, -|v1|", lambda s: abs(s.f32(0)) - abs(s.f32(1))),
        ("v_add_f32_e64 v20, v0, v1 clamp", lambda s: clamp(s.f32(0) + s.f32(1))),
        ("v_add_f32_e64 v20, v0, v1 mul:4", lambda s: s.f32(0) + s.f32(1)),  # MODE lets denormals out
        ("v_add_f32_e32 v20, 0.5, v1", lambda s: F(0.5) + s.f32(1)),
        ("v_add_f32_e32 v20, 0x40490fdb, v1", lambda s: F(np.pi) + s.f32(1)),
        ("v_add_f32_e32 v20, s7, v1", lambda s: F(2.5) + s.f32(1)),
        ("v_add_f32_e64 v20, -s7, v1", lambda s: F(-2.5) + s.f32(1)),
        ("v_add_f32_e64 v20, v0, 0.15915494", lambda s: s.f32(0) + np.uint32(0x3E22F983).view(F)),
        ("v_sub_f32_e32 v20, v0, v1", lambda s: s.f32(0) - s.f32(1)),
        ("v_subrev_f32_e32 v20, v0, v1", lambda s: s.f32(1) - s.f32(0)),
        ("v_mul_f32_e32 v20, v0, v1", lambda s: s.f32(0) * s.f32(1)),
        ("v_mul_legacy_f32 v20, v0, v1",
         lambda s: np.where((s.f32(0) == 0) | (s.f32(1) == 0), F(0), s.f32(0) * s.f32(1))),
        ("v_min_f32_e32 v20, v0, v1", lambda s: minimum(s.f32(0), s.f32(1))),
        ("v_max_f32_e32 v20, v0, v1", lambda s: maximum(s.f32(0), s.f32(1))),
        ("v_min3_f32 v20, v0, v1, v2", lambda s: minimum(minimum(s.f32(0), s.f32(1)), s.f32(2))),
        ("v_max3_f32 v20, v0, v1, v2", lambda s: maximum(maximum(s.f32(0), s.f32(1)), s.f32(2))),
        ("v_med3_f32 v20, v0, v1, v2", lambda s: middle(s.f32(0), s.f32(1), s.f32(2))),
        ("v_fma_f32 v20, v0, v1, v2", lambda s: fma(s.f32(0), s.f32(1), s.f32(2))),
        ("v_fma_f32 v20, -v0, v1, |v2|", lambda s: fma(-s.f32(0), s.f32(1), abs(s.f32(2)))),
        ("v_mov_b32 v20, v2\nv_fmac_f32_e32 v20, v0, v1", lambda s: fma(s.f32(0), s.f32(1), s.f32(2))),
        ("v_fmaak_f32 v20, v0, v1, 0x3f000000", lambda s: fma(s.f32(0), s.f32(1), np.full(64, F(0.5)))),
        ("v_fmamk_f32 v20, v0, 0x3f000000, v1", lambda s: fma(s.f32(0), np.full(64, F(0.5)), s.f32(1))),
        ("v_fract_f32_e32 v20, v0", fract),
        ("v_trunc_f32_e32 v20, v0", lambda s: np.trunc(s.f32(0))),
        ("v_ceil_f32_e32 v20, v0", lambda s: np.ceil(s.f32(0))),
        ("v_rndne_f32_e32 v20, v0", lambda s: np.rint(s.f32(0))),
        ("v_floor_f32_e32 v20, v0", lambda s: np.floor(s.f32(0))),
        ("v_exp_f32_e32 v20, v0", lambda s: flushed(np.exp2(flushed(s.f32(0)).astype(float))), 1),
        ("v_log_f32_e32 v20, v0", lambda s: np.log2(flushed(s.f32(0)).astype(float)), 1),
        ("v_rcp_f32_e32 v20, v0", lambda s: flushed(1 / flushed(s.f32(0)).astype(float)), 1),
        ("v_rcp_iflag_f32_e32 v20, v0", lambda s: flushed(1 / flushed(s.f32(0)).astype(float)), 1),
        ("v_rsq_f32_e32 v20, v0", lambda s: 1 / np.sqrt(flushed(s.f32(0)).astype(float)), 1),
        ("v_sqrt_f32_e32 v20, v0", lambda s: np.sqrt(flushed(s.f32(0)).astype(float)), 1),
        ("v_fract_f32 v3, v0\nv_sin_f32_e32 v20, v3",
         lambda s: np.where(np.isfinite(s.f32(0)), sin_turns(fract(s)), np.nan), 2),
        ("v_frexp_mant_f32_e32 v20, v0", lambda s: frexp(s)[0]),
        ("v_ldexp_f32 v20, v0, s6", lambda s: np.ldexp(s.f32(0), 5)),
        ("v_ldexp_f32 v20, v0, v10", lambda s: np.ldexp(s.f32(0), s.i32(10))),
        ("v_ldexp_f32 v20, v0, -13", lambda s: np.ldexp(s.f32(0), -13)),
        ("v_cvt_f32_i32_e32 v20, v10", lambda s: s.i32(10).astype(F)),
        ("v_cvt_f32_u32_e32 v20, v10", lambda s: s.u32(10).astype(F)),
        ("v_cvt_f32_ubyte0_e32 v20, v10", lambda s: (s.u32(10) & 255).astype(F)),
        ("v_cvt_f32_ubyte1_e32 v20, v10", lambda s: (s.u32(10) >> 8 & 255).astype(F)),
        ("v_cvt_f32_ubyte2_e32 v20, v10", lambda s: (s.u32(10) >> 16 & 255).astype(F)),
        ("v_cvt_f32_ubyte3_e32 v20, v10", lambda s: (s.u32(10) >> 24).astype(F)),
        ("v_cvt_f32_f64_e32 v20, v[4:5]", lambda s: s.f64(4).astype(F)),
        ("v_cvt_f32_f16_e32 v20, v13", lambda s: s.f16(13).astype(F)),
        ("v_cvt_off_f32_i4_e32 v20, v10", lambda s: (((s.u32(10) & 15) ^ 8).astype(F) - 8) / F(16)),
        ("v_cndmask_b32_e32 v20, v0, v1, vcc",
         lambda s: np.where([s.vcc >> n & 1 for n in range(64)], s.f32(1), s.f32(0))),
        ("v_cndmask_b32_e64 v20, v0, -v1, vcc",
         lambda s: np.where([s.vcc >> n & 1 for n in range(64)], -s.f32(1), s.f32(0))),
    ]),
    *table("i32", [
        ("v_frexp_exp_i32_f32_e32 v20, v0", lambda s: frexp(s)[1]),
        ("v_cvt_i32_f32_e32 v20, v0",
         lambda s: np.nan_to_num(np.clip(np.trunc(s.f32(0).astype(float)), -(2**31), 2**31 - 1), nan=0)),
        ("v_cvt_flr_i32_f32_e32 v20, v0",
         lambda s: np.nan_to_num(np.clip(np.floor(s.f32(0).astype(float)), -(2**31), 2**31 - 1), nan=0)),
        ("v_cvt_rpi_i32_f32_e32 v20, v0",
         lambda s: np.nan_to_num(np.clip(np.floor(s.f32(0).astype(float) + 0.5), -(2**31), 2**31 - 1), nan=0)),
    ]),
    *table("u32", [
        ("v_cvt_u32_f32_e32 v20, v0",
         lambda s: np.nan_to_num(np.clip(np.trunc(s.f32(0).astype(float)), 0, 2**32 - 1), nan=0)),
        ("v_cvt_pk_u8_f32 v20, v0, 1, v10",
         lambda s: s.u32(10) & 0xFFFF00FF
         | np.nan_to_num(np.clip(np.rint(s.f32(0).astype(float)), 0, 255)).astype(np.uint32) << 8),
    ]),
]  # fmt: skip


@pytest.fixture(scope="module")
def lines(sandbox: Sandbox) -> Lines:
    return Lines(sandbox, CASES)


@each_case(CASES)
def test_single_precision_in_active_lanes(lines: Lines, case: Case) -> None:
    lines.check(case)
