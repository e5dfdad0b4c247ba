"""Instructions that make sense together (division, dot products), and vector instructions seldom seen."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lanes import Case, Lines, each_case, table
from test_valu_f64_f16 import canonical, f16, fma16, lanewise, maximum, minimum, pairs, straight
from test_valu_int import each, low16, sad, sorted3
from values import POISON, close, prepared, same
from waves import ALL, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Array = np.ndarray
MASK = (1 << 32) - 1

# ---- division as the compiler writes it: the quotient is correctly rounded, whatever its operands ----

DIVIDE_F32 = """v_div_scale_f32 v40, s[10:11], v1, v1, v0
v_div_scale_f32 v41, vcc, v0, v1, v0
v_rcp_f32_e32 v42, v40
v_fma_f32 v43, -v40, v42, 1.0
v_fma_f32 v42, v43, v42, v42
v_mul_f32_e32 v44, v41, v42
v_fma_f32 v45, -v40, v44, v41
v_fma_f32 v44, v45, v42, v44
v_fma_f32 v45, -v40, v44, v41
v_div_fmas_f32 v44, v45, v42, v44
v_div_fixup_f32 v20, v44, v1, v0"""
DIVIDE_F64 = """v_div_scale_f64 v[40:41], s[10:11], v[6:7], v[6:7], v[4:5]
v_rcp_f64_e32 v[42:43], v[40:41]
v_fma_f64 v[44:45], -v[40:41], v[42:43], 1.0
v_fma_f64 v[42:43], v[42:43], v[44:45], v[42:43]
v_fma_f64 v[44:45], -v[40:41], v[42:43], 1.0
v_fma_f64 v[42:43], v[42:43], v[44:45], v[42:43]
v_div_scale_f64 v[46:47], vcc, v[4:5], v[6:7], v[4:5]
v_mul_f64 v[48:49], v[46:47], v[42:43]
v_fma_f64 v[44:45], -v[40:41], v[48:49], v[46:47]
v_div_fmas_f64 v[44:45], v[44:45], v[42:43], v[48:49]
v_div_fixup_f64 v[20:21], v[44:45], v[6:7], v[4:5]"""


def extreme(state: State, dtype: str, rng: np.random.Generator, register: int) -> None:
    """Exponents from one end of the format to the other."""
    size = np.dtype(dtype).itemsize
    words = rng.integers(0, 1 << 32, (64, size // 4), dtype=np.uint32)
    for n in range(size // 4):
        state.v[register + n] = words[:, n]


def with_tiny_quotients(kind: str, registers: tuple[int, int]) -> State:
    """Dividends and divisors whose quotient is a denormal."""
    state, rng = prepared(seed=4), np.random.default_rng(4)
    dtype, places = (np.float32, 126) if kind == "f32" else (np.float64, 1022)
    for register, exponent in zip(registers, (-places // 2 - 4, places // 2), strict=True):
        values = np.ldexp(rng.uniform(1, 2, 64), exponent + rng.integers(-8, 4, 64)).astype(dtype)
        words = values.view(np.uint32).reshape(64, -1)
        for n in range(words.shape[1]):
            state.v[register + n] = words[:, n]
    return state


@pytest.mark.parametrize(("line", "kind", "registers"), [(DIVIDE_F32, "f32", (0, 1)), (DIVIDE_F64, "f64", (4, 6))])
def test_a_division_is_correctly_rounded(sandbox: Sandbox, line: str, kind: str, registers: tuple[int, int]) -> None:
    cases = [prepared(seed=3)]
    for seed in range(3):
        state = prepared(seed=seed)
        for register in registers:
            extreme(
                state,
                kind.replace("f32", "<f4").replace("f64", "<f8"),
                np.random.default_rng([seed, register]),
                register,
            )
        cases.append(state)
    cases.append(with_tiny_quotients(kind, registers))
    for before, after in zip(cases, run_waves(sandbox, [(line, state) for state in cases]), strict=True):
        assert not after.fault, after.fault
        with np.errstate(all="ignore"):
            a, b = (getattr(before, kind)(register) for register in registers)
            expected = a / b
        got = getattr(after, kind)(20)
        bad = np.flatnonzero(~same(got, expected))
        assert not len(bad), [(a[n], b[n], got[n], expected[n]) for n in bad[:4]]


def fixed_up(quotient: Array, b: Array, c: Array) -> Array:
    """c / b where that is special, else the estimate with the sign of the quotient."""
    with np.errstate(all="ignore"):
        exact = c / b
    special = ~np.isfinite(b) | ~np.isfinite(c) | (b == 0) | (c == 0)
    negative = np.signbit(b) != np.signbit(c)
    return np.where(special, exact, np.where(negative, -abs(quotient), abs(quotient)))


def bf16(words: Array, half: int) -> Array:
    return words.view(ml_dtypes.bfloat16).reshape(64, 2)[:, half].astype(np.float32)


def dot_f16(s: State, c: Array) -> Array:
    a, b = s.halves(13).view(np.float16).astype(np.float32), s.halves(14).view(np.float16).astype(np.float32)
    return (c + a[:, 0] * b[:, 0]) + a[:, 1] * b[:, 1]


def dot_bf16(s: State, c: Array, *, last: bool = False) -> Array:
    a, b = s.u32(10), s.u32(11)
    first, second = bf16(a, 0) * bf16(b, 0), bf16(a, 1) * bf16(b, 1)
    return (first + second) + c if last else (c + first) + second


def parts(x: int, bits: int, *, sign: bool) -> list[int]:
    fields = [x >> n & (1 << bits) - 1 for n in range(0, 32, bits)]
    return [f - (1 << bits) if sign and f >> (bits - 1) else f for f in fields]


def dot(bits: int, *, sign: bool) -> Callable[[int, int, int], int]:
    return lambda a, b, c: (
        c + sum(x * y for x, y in zip(parts(a, bits, sign=sign), parts(b, bits, sign=sign), strict=True))
    )


def cube(function: Callable[[float, float, float], float]) -> Callable[[State], Array]:
    def expected(s: State) -> Array:
        return np.array([function(*map(float, row)) for row in zip(*abc(s), strict=True)], dtype=np.float32)

    return expected


def abc(s: State) -> tuple[Array, Array, Array]:
    """Three columns of plain numbers: a NaN has no face."""
    return tuple(np.clip(np.nan_to_num(s.f32(r), nan=1), -9, 9) for r in (0, 1, 2))  # type: ignore[return-value]


def face(x: float, y: float, z: float) -> int:
    if abs(z) >= abs(x) and abs(z) >= abs(y):
        return 5 if z < 0 else 4
    if abs(y) >= abs(x):
        return 3 if y < 0 else 2
    return 1 if x < 0 else 0


PLAIN = "".join(
    f"v_cmp_class_f32 vcc, v{r}, 3\nv_cndmask_b32 v{40 + r}, v{r}, 1.0, vcc\nv_med3_f32 v{40 + r}, v{40 + r}, v46, v47\n"
    for r in (0, 1, 2)
)


def toward_zero(x: Array) -> Array:
    with np.errstate(all="ignore"):
        near = x.astype(np.float16)
        away = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    return np.where(away & np.isfinite(x), np.nextafter(near, np.float16(0)), near)


def normalised(x: Array, top: int, *, sign: bool) -> Array:
    """To a fraction of `top`; a NaN gives 0."""
    with np.errstate(all="ignore"):
        scaled = np.rint(np.clip(x.astype(np.float32), -1 if sign else 0, 1).astype(np.float32) * np.float32(top))
    return np.nan_to_num(scaled, nan=0).astype(np.int64) & 0xFFFF


def both(low: Array, high: Array) -> Array:
    return (low.astype(np.int64) & 0xFFFF | (high.astype(np.int64) & 0xFFFF) << 16).astype(np.uint32)


def bits16(x: Array) -> Array:
    """Bits of halves, every NaN the same."""
    raw = x.astype(np.float16).view(np.uint16).copy()
    raw[np.isnan(x)] = 0x7E00
    return raw


def unfused(a: Array, b: Any, c: Any) -> Array:
    return ((a.astype(np.float64) * b).astype(np.float16).astype(np.float64) + c).astype(np.float16)


def mad16(*registers: int) -> Callable[[State], Array]:
    return lambda s: unfused(*(s.f16(r).astype(np.float64) for r in registers))


def bitop(a: int, b: int, c: int, table_: int) -> int:
    return sum((table_ >> (4 * (a >> n & 1) + 2 * (b >> n & 1) + (c >> n & 1)) & 1) << n for n in range(32))


def clipped(x: int, low: int, high: int) -> int:
    return max(low, min(high, x)) & 255


def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


def two_over_pi() -> int:
    """1201 bits after the point of 2 / pi, from Machin's formula."""
    one = 1 << 1400

    def arctan(n: int) -> int:
        total = term = one // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    return (2 * one << 1201) // pi


TWO_OVER_PI = two_over_pi()


def preop(x: float, segment: int) -> float:
    exponent = int(np.float64(x).view(np.uint64) >> np.uint64(52)) & 2047
    shift = segment * 53 + max(0, exponent - 1077)
    digits = TWO_OVER_PI << shift & (1 << 1201) - 1
    return math.ldexp(digits >> (1201 - 53), -53 - shift + (128 if exponent >= 1968 else 0))


def mqsad(a: int, b: int, n: int) -> int:
    return sad(b, a >> 8 * n & MASK, True)


MIXED = "v_mov_b32 v20, v10\n"
CASES = [
    *table("f32", [
        ("v_dot2_f32_f16 v20, v13, v14, v2", lambda s: dot_f16(s, s.f32(2))),
        ("v_mov_b32 v20, v2\nv_dot2c_f32_f16_e32 v20, v13, v14", lambda s: dot_f16(s, s.f32(2))),
        ("v_cvt_f32_f16_e32 v40, v13\nv_cos_f32_e32 v20, v40", lambda s: np.round(np.cos(2 * np.pi * (s.f16(13).astype(float) % 1)), 12) + 0.0, 4),
        ("v_cvt_f32_f16_sdwa v20, v13 src0_sel:WORD_1", lambda s: s.f16(13, 1).astype(np.float32)),
        (f"v_mov_b32 v46, 0xc1100000\nv_mov_b32 v47, 0x41100000\n{PLAIN}v_cubeid_f32 v20, v40, v41, v42", cube(face)),
        (f"v_mov_b32 v46, 0xc1100000\nv_mov_b32 v47, 0x41100000\n{PLAIN}v_cubema_f32 v20, v40, v41, v42",
         cube(lambda x, y, z: 2 * (x, y, z)[face(x, y, z) // 2])),
        (f"v_mov_b32 v46, 0xc1100000\nv_mov_b32 v47, 0x41100000\n{PLAIN}v_cubesc_f32 v20, v40, v41, v42",
         cube(lambda x, y, z: (-z, z, x, x, x, -x)[face(x, y, z)])),
        (f"v_mov_b32 v46, 0xc1100000\nv_mov_b32 v47, 0x41100000\n{PLAIN}v_cubetc_f32 v20, v40, v41, v42",
         cube(lambda x, y, z: (-y, -y, z, -z, -y, -y)[face(x, y, z)])),
    ]),
    *table("f16", [
        ("v_cos_f16_e32 v20, v13", lambda s: np.round(np.cos(2 * np.pi * (s.f16(13).astype(float) % 1)), 12) + 0.0, 4),
        ("v_mac_f16_e32 v20, v13, v14", lambda s: unfused(s.f16(13), s.f16(14), low_of(POISON))),
        ("v_madak_f16 v20, v13, v14, 0x3800", lambda s: unfused(s.f16(13), s.f16(14), np.float64(0.5))),
        ("v_madmk_f16 v20, v13, 0x3800, v14", lambda s: unfused(s.f16(13), np.float64(0.5), s.f16(14))),
        ("v_mad_legacy_f16 v20, v13, v14, v15", mad16(13, 14, 15)),
        ("v_fma_legacy_f16 v20, v13, v14, v15", f16(lambda *x: lanewise(fma16, *x), 13, 14, 15)),
        ("v_div_fixup_legacy_f16 v20, v13, v14, v15", lambda s: fixed_up(s.f16(13), s.f16(14), s.f16(15)).astype(np.float16)),
    ]),
    *table("f16", [
        ("v_mad_f16 v20, v13, v14, v15", mad16(13, 14, 15)),
        ("v_min3_f16 v20, v13, v14, v15", f16(lambda a, b, c: minimum(minimum(a, b), c), 13, 14, 15)),
    ], keeps_upper=True),
    *table("u32", [
        ("v_cvt_pkrtz_f16_f32 v40, v0, v1\nv_pk_max_f16 v20, v40, v40",
         lambda s: both(bits16(toward_zero(s.f32(0))), bits16(toward_zero(s.f32(1))))),
        ("v_cvt_pknorm_i16_f32 v20, v0, v1", lambda s: both(*(normalised(s.f32(r), 32767, sign=True) for r in (0, 1)))),
        ("v_cvt_pknorm_u16_f32 v20, v0, v1", lambda s: both(*(normalised(s.f32(r), 65535, sign=False) for r in (0, 1)))),
        ("v_cvt_pknorm_i16_f16 v20, v13, v14", lambda s: both(*(normalised(s.f16(r), 32767, sign=True) for r in (13, 14)))),
        ("v_cvt_pknorm_u16_f16 v20, v13, v14", lambda s: both(*(normalised(s.f16(r), 65535, sign=False) for r in (13, 14)))),
        (f"{MIXED}v_cvt_pkaccum_u8_f32 v20, v0, 2",
         lambda s: s.u32(10) & 0xFF00FFFF | np.nan_to_num(np.clip(np.rint(s.f32(0).astype(float)), 0, 255)).astype(np.uint32) << 16),
        ("v_dot8_i32_i4 v20, v10, v11, v12", each(dot(4, sign=True), 10, 11, 12)),
        ("v_dot8_u32_u4 v20, v10, v11, v12", each(dot(4, sign=False), 10, 11, 12)),
        ("v_mov_b32 v20, v12\nv_dot2c_i32_i16_e32 v20, v10, v11", each(dot(16, sign=True), 10, 11, 12)),
        ("v_mov_b32 v20, v12\nv_dot4c_i32_i8_e32 v20, v10, v11", each(dot(8, sign=True), 10, 11, 12)),
        ("v_mov_b32 v20, v12\nv_dot8c_i32_i4_e32 v20, v10, v11", each(dot(4, sign=True), 10, 11, 12)),
        ("v_accvgpr_write_b32 a0, v10\nv_accvgpr_mov_b32 a1, a0\nv_accvgpr_read_b32 v20, a1", lambda s: s.u32(10)),
        ("v_mov_b32 v40, v12\nv_mov_b32 v41, v12\nv_mov_b32 v42, v12\nv_mov_b32 v43, v12\n"
         "v_mqsad_u32_u8 v[44:47], v[16:17], v10, v[40:43]\nv_mov_b32 v20, v46",
         lambda s: np.array([(mqsad(int(a), int(b), 2) + int(c)) & MASK for a, b, c in zip(s.u64(16), s.u32(10), s.u32(12), strict=True)], dtype=np.uint32)),
        ("v_subbrev_co_u32_e32 v20, vcc, v10, v11, vcc", lambda s: s.u32(11) - s.u32(10) - s.carry().astype(np.uint32)),
        ("v_fma_mixlo_f16 v20, v0, v1, v2\nv_and_b32 v20, 0xffff, v20", lambda s: rounded(s).astype(np.uint32)),
        ("v_fma_mixhi_f16 v20, v0, v1, v2\nv_lshrrev_b32 v20, 16, v20", lambda s: rounded(s).astype(np.uint32)),
    ]),
    *table("i16", [
        ("v_cvt_norm_i16_f16_e32 v20, v13", lambda s: normalised(s.f16(13), 32767, sign=True).astype(np.uint16).view(np.int16)),
        ("v_mad_legacy_i16 v20, v10, v11, v12", low16(lambda a, b, c: a * b + c, 10, 11, 12, sign=True)),
    ]),
    *table("u16", [
        ("v_cvt_norm_u16_f16_e32 v20, v13", lambda s: normalised(s.f16(13), 65535, sign=False)),
    ]),
    *table("u16", [
        ("v_max3_u16 v20, v10, v11, v12", low16(max, 10, 11, 12)),
        ("v_med3_u16 v20, v10, v11, v12", low16(lambda a, b, c: sorted3(a, b, c)[1], 10, 11, 12)),
        ("v_min3_i16 v20, v10, v11, v12", low16(min, 10, 11, 12, sign=True)),
    ], keeps_upper=True),
    *table("f64", [
        ("v_trig_preop_f64 v[20:21], v[4:5], 2", lambda s: np.array([preop(float(x), 2) for x in s.f64(4)])),
        ("v_trig_preop_f64 v[20:21], v[4:5], 0", lambda s: np.array([preop(float(x), 0) for x in s.f64(4)])),
    ]),
]  # fmt: skip
PACKED = table("u32", [
    ("v_mov_b32 v20, v15\nv_pk_fmac_f16 v20, v13, v14", pairs(lambda *x: lanewise(fma16, *x), *straight(13, 14, 15))),
])  # fmt: skip


def low_of(bits: int) -> Array:
    return np.full(64, np.uint16(bits & 0xFFFF)).view(np.float16)


def rounded(s: State) -> Array:
    """Bits of v0 * v1 + v2, rounded to f32 and then to f16; every NaN as the hardware gives it."""

    def fused(a: float, b: float, c: float) -> np.float32:
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            return np.float32(np.float64(a) * np.float64(b) + np.float64(c))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if not exact:
            return np.float32(np.float64(a) * np.float64(b) + np.float64(c))
        step = Fraction(2) ** (max(math.frexp(float(exact))[1], -125) - 24)
        return np.float32(float(round(exact / step) * step))

    with np.errstate(all="ignore"):
        single = np.array(
            [fused(*map(float, row)) for row in zip(s.f32(0), s.f32(1), s.f32(2), strict=True)], dtype=np.float32
        )
        return single.astype(np.float16).view(np.uint16)


@pytest.fixture(scope="module")
def lines(sandbox: Sandbox) -> Lines:
    return Lines(sandbox, [*CASES, *PACKED])


@each_case(CASES)
def test_seldom_seen_vector_instructions(lines: Lines, case: Case) -> None:
    lines.check(case)


@each_case(PACKED)
def test_packed_halves_accumulate(lines: Lines, case: Case) -> None:
    for before, after in lines.results[case.line]:
        active = before.active()
        with np.errstate(all="ignore"):
            low, high = (lanewise(fma16, *(before.f16(r, h) for r in (13, 14, 15))) for h in (0, 1))
        expected = both(bits16(low), bits16(high))
        assert np.array_equal(canonical(after)[active], expected[active])


# ---- what gfx90a or gfx950 alone has, and results other than v20 ----


def mad(a: Any, b: Any, c: Any) -> Array:
    """Two roundings, and no denormals anywhere."""

    def flush(x: Array) -> Array:
        return np.where(abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x).astype(np.float32)

    return flush(flush(flush(a) * flush(b)) + flush(c))


def extreme_of(a: Array, b: Array, pick: Callable[[Array, Array], Array]) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, pick(a, b)).astype(a.dtype)


def three(pick: Callable[[Array, Array], Array]) -> Callable[[State], Array]:
    return lambda s: extreme_of(extreme_of(s.f32(0), s.f32(1), pick), s.f32(2), pick)


def three_halves(pick: Callable[[Array, Array], Array]) -> Callable[[State], Array]:
    def expected(s: State) -> Array:
        halves = [extreme_of(extreme_of(s.f16(13, h), s.f16(14, h), pick), s.f16(15, h), pick) for h in (0, 1)]
        return both(*(bits16(half) for half in halves))

    return expected


ELSEWHERE = {
    "gfx90a": [
        ("v_mad_f32 v20, v0, v1, v2", "f32", lambda s: mad(s.f32(0), s.f32(1), s.f32(2))),
        ("v_mov_b32 v20, v2\nv_mac_f32_e32 v20, v0, v1", "f32", lambda s: mad(s.f32(0), s.f32(1), s.f32(2))),
        ("v_madak_f32 v20, v0, v1, 0x3f000000", "f32", lambda s: mad(s.f32(0), s.f32(1), np.float32(0.5))),
        ("v_madmk_f32 v20, v0, 0x3f000000, v1", "f32", lambda s: mad(s.f32(0), np.float32(0.5), s.f32(1))),
        ("v_mad_legacy_f32 v20, v0, v1, v2", "f32",
         lambda s: np.where((abs(s.f32(0)) < 2.0**-126) | (abs(s.f32(1)) < 2.0**-126), mad(np.float32(0), np.float32(0), s.f32(2)),
                            mad(s.f32(0), s.f32(1), s.f32(2)))),
        ("v_div_fixup_f16 v20, v13, v14, v15", "f16", lambda s: fixed_up(s.f16(13), s.f16(14), s.f16(15))),
        ("v_sin_f16_e32 v20, v44", "f16", lambda s: np.zeros(64)),
        ("v_sin_f32_e32 v20, v44", "f32", lambda s: np.zeros(64)),
    ],
    "gfx950": [
        ("v_minimum3_f32 v20, v0, v1, v2", "f32", three(minimum)), ("v_maximum3_f32 v20, v0, v1, v2", "f32", three(maximum)),
        ("v_dot2_f32_bf16 v20, v10, v11, v2", "f32", lambda s: dot_bf16(s, s.f32(2), last=True)),
        ("v_mov_b32 v20, v2\nv_dot2c_f32_bf16_e32 v20, v10, v11", "f32", lambda s: dot_bf16(s, s.f32(2))),
        ("v_cvt_f32_bf16_e32 v20, v10", "f32", lambda s: bf16(s.u32(10), 0)),
        ("v_cvt_pk_bf16_f32 v40, v0, v1\nv_lshlrev_b32 v20, 16, v40", "f32",
         lambda s: s.f32(0).astype(ml_dtypes.bfloat16).astype(np.float32)),
        ("v_cvt_pk_bf16_f32 v40, v0, v1\nv_and_b32 v20, 0xffff0000, v40", "f32",
         lambda s: s.f32(1).astype(ml_dtypes.bfloat16).astype(np.float32)),
        ("v_cvt_pk_f16_f32 v20, v0, v1", "f16", lambda s: s.f32(0).astype(np.float16)),
        ("v_bitop3_b32 v20, v10, v11, v12 bitop3:0xca", "u32", each(lambda a, b, c: bitop(a, b, c, 0xCA), 10, 11, 12)),
        ("v_bitop3_b32 v20, v10, v11, v12 bitop3:0x1e", "u32", each(lambda a, b, c: bitop(a, b, c, 0x1E), 10, 11, 12)),
        ("v_bitop3_b16 v20, v10, v11, v12 bitop3:0x69", "u16", low16(lambda a, b, c: bitop(a, b, c, 0x69), 10, 11, 12)),
        ("v_ashr_pk_i8_i32 v20, v10, v11, 7", "u16",
         each(lambda a, b: clipped(signed(a) >> 7, -128, 127) | clipped(signed(b) >> 7, -128, 127) << 8, 10, 11)),
        ("v_ashr_pk_u8_i32 v20, v10, v11, 7", "u16",
         each(lambda a, b: clipped(signed(a) >> 7, 0, 255) | clipped(signed(b) >> 7, 0, 255) << 8, 10, 11)),
    ],
}  # fmt: skip
PACKED_GFX950 = [
    ("v_pk_minimum3_f16 v20, v13, v14, v15", three_halves(minimum)),
    ("v_pk_maximum3_f16 v20, v13, v14, v15", three_halves(maximum)),
]


@pytest.mark.parametrize("target", list(ELSEWHERE))
def test_instructions_of_one_architecture(sandbox: Sandbox, target: str) -> None:
    rows = ELSEWHERE[target]
    given = [("v_mov_b32 v44, 0\n" + line, prepared(exec_mask=mask)) for line, *_ in rows for mask in (ALL, SOME)]
    after = run_waves(sandbox, given, target)
    for n, state in enumerate(after):
        line, kind, expected = rows[n // 2]
        before = given[n][1]
        assert not state.fault, state.fault
        with np.errstate(all="ignore"):
            wanted, got = np.broadcast_to(expected(before), 64), getattr(state, kind)(20)
            good = same(got, wanted.astype(got.dtype)) | close(got, wanted.astype(np.float64), 0)
        bad = np.flatnonzero(before.active() & ~good)
        assert not len(bad), f"{line}: {got[bad[:4]]} instead of {wanted[bad[:4]]}"


def test_three_halves_give_the_least_and_the_most(sandbox: Sandbox) -> None:
    before = prepared()
    for (line, expected), after in zip(
        PACKED_GFX950, run_waves(sandbox, [(line, before) for line, _ in PACKED_GFX950], "gfx950"), strict=True
    ):
        assert not after.fault, after.fault
        assert np.array_equal(canonical(after), expected(before)), line


@pytest.mark.parametrize(
    ("line", "distance"), [("v_permlane16_swap_b32 v20, v21", 16), ("v_permlane32_swap_b32 v20, v21", 32)]
)
def test_rows_change_places_between_two_registers(sandbox: Sandbox, line: str, distance: int) -> None:
    before = prepared()
    (after,) = run_waves(sandbox, [(f"v_mov_b32 v20, v10\nv_mov_b32 v21, v11\ns_nop 4\n{line}", before)], "gfx950")
    dst, src = before.u32(10).copy(), before.u32(11).copy()
    low = np.array([lane for lane in range(64) if not lane & distance])
    dst[low + distance], src[low] = before.u32(11)[low], before.u32(10)[low + distance]
    assert np.array_equal(after.u32(20), dst)
    assert np.array_equal(after.u32(21), src)
    (mixed,) = run_waves(sandbox, [(line, prepared(exec_mask=1))], "gfx950")
    assert mixed.fault.startswith("not_emulated"), "inactive lanes next to active ones"
