"""The rows that only RDNA has, one line each, in waves of 32 and of 64 lanes; expectations are NumPy arithmetic."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from lanes import Case, Lines, table
from rdna_names import renamed
from test_rdna_lines import least, most
from values import prepared
from waves import ALL, MEMORY_BYTES, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import check_all

pytestmark = pytest.mark.sandbox

Array = np.ndarray
Pick = Callable[[Array, Array], Array]
TARGETS = ("gfx1100", "gfx1201", "gfx1100/64", "gfx1201/64")
RDNA4 = ("gfx1201", "gfx1201/64")


def number(x: Array, y: Array, pick: Pick) -> Array:
    """The one that is a number, else the pick of both."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, pick(x, y))).astype(x.dtype)


def or_nan(x: Array, y: Array, pick: Pick) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), pick(x, y)).astype(x.dtype)


Join = Callable[..., Array]


def three(join: Join, first: Pick, second: Pick, kind: str) -> Callable[[State], Array]:
    """second(first(a, b), c) of the usual registers."""
    registers = {"f32": (0, 1, 2), "f16": (13, 14, 15)}[kind]
    return lambda s: join(
        join(*(getattr(s, kind)(r) for r in registers[:2]), first), getattr(s, kind)(registers[2]), second
    )


def two(join: Join, pick: Pick, kind: str) -> Callable[[State], Array]:
    registers = {"f32": (0, 1), "f64": (4, 6), "f16": (13, 14)}[kind]
    return lambda s: join(*(getattr(s, kind)(r) for r in registers), pick)


def fma16(a: Array, b: Array, c: Any) -> Array:
    """Halves multiply and add exactly enough in 80 bits."""
    return (a.astype(np.longdouble) * b + c).astype(np.float16)


def clipped(x: Array, low: int, high: int) -> Array:
    return np.where(np.isnan(x), 0, np.clip(np.trunc(np.nan_to_num(x.astype(np.float64), nan=0)), low, high)).astype(
        np.int64
    )


def pair(low: Array, high: Array) -> Array:
    return (low.astype(np.int64) & 0xFFFF | (high.astype(np.int64) & 0xFFFF) << 16).astype(np.uint32)


def dot2(s: State, kind: str) -> Array:
    """Rounded after every product and sum."""
    import ml_dtypes

    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[kind]
    a, b, total = (
        s.halves(13).copy().view(dtype),
        s.halves(14).copy().view(dtype),
        s.halves(15)[:, 0].copy().view(dtype),
    )
    for part in (0, 1):
        total = total + (a[:, part] * b[:, part])
    return total.view(np.uint16)


def dot4(s: State, a: str, b: str) -> Array:
    """The addend first, then four products of OCP floats, each exact."""
    import ml_dtypes

    dtypes = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}
    x, y = (
        s.u32(r).view(np.uint8).view(dtypes[kind]).astype(np.float32).reshape(64, 4) for r, kind in ((10, a), (11, b))
    )
    total = s.f32(2)
    for part in range(4):
        total = total + x[:, part] * y[:, part]
    return total


COMMON = [
    *table("f32", [
        ("v_fma_dx9_zero_f32 v20, v0, v1, v2", lambda s: np.where((s.f32(0) == 0) | (s.f32(1) == 0), s.f32(2),
            (s.f32(0).astype(np.longdouble) * s.f32(1) + s.f32(2)).astype(np.float32)), 1),
        ("v_mullit_f32 v20, v0, v1, v2", lambda s: np.where(
            (s.f32(1) == -np.finfo(np.float32).max) | (s.f32(1) == -np.inf) | np.isnan(s.f32(1)) | ~(s.f32(2) > 0),
            -np.finfo(np.float32).max, s.f32(0) * s.f32(1))),
    ]),
    *table("u32", [
        ("v_cvt_pk_i16_f32 v20, v0, v1", lambda s: pair(clipped(s.f32(0), -32768, 32767), clipped(s.f32(1), -32768, 32767))),
        ("v_cvt_pk_u16_f32 v20, v0, v1", lambda s: pair(clipped(s.f32(0), 0, 65535), clipped(s.f32(1), 0, 65535))),
        ("s_mov_b32 m0, 0x20001\nv_movrelsd_2_b32 v18, v9", lambda s: s.u32(10)),
        ("v_mov_b32 v21, v11\ns_mov_b32 m0, 1\nv_movreld_b32 v19, v10", lambda s: s.u32(10)),
        ("s_mov_b32 m0, 1\nv_movrelsd_b32 v19, v9", lambda s: s.u32(10)),
        ("v_mov_b32 v20, v11\ns_mov_b32 m0, 0x20001\nv_swaprel_b32 v18, v9", lambda s: s.u32(10)),
        ("s_pack_hl_b32_b16 s10, s4, s5\nv_mov_b32 v20, s10", lambda s: np.full(64, int(s.s[0]) >> 16 | (int(s.s[1]) & 0xFFFF) << 16)),
    ]),
    *table("i32", [
        ("v_maxmin_i32 v20, v10, v11, v12", lambda s: np.minimum(np.maximum(s.i32(10), s.i32(11)), s.i32(12))),
        ("v_minmax_i32 v20, v10, v11, v12", lambda s: np.maximum(np.minimum(s.i32(10), s.i32(11)), s.i32(12))),
        ("v_cvt_i32_i16 v20, v10.l", lambda s: s.i16(10).astype(np.int32)),
    ]),
    *table("u16", [
        ("v_not_b16 v20.l, v10.l", lambda s: ~s.u16(10)), ("v_or_b16 v20.l, v10.l, v11.l", lambda s: s.u16(10) | s.u16(11)),
        ("v_xor_b16 v20.l, v10.l, v11.l", lambda s: s.u16(10) ^ s.u16(11)),
        ("v_sat_pk_u8_i16 v20.l, v10", lambda s: np.clip(s.i16(10), 0, 255).astype(np.uint16) | np.clip(s.i16(10, 1), 0, 255).astype(np.uint16) << 8),
    ]),
    *table("f16", [
        ("v_mov_b16 v20.l, v15.l\nv_fmac_f16 v20.l, v13.l, v14.l", lambda s: fma16(s.f16(13), s.f16(14), s.f16(15))),
        ("v_fmaak_f16 v20.l, v13.l, v14.l, 0x3e00", lambda s: fma16(s.f16(13), s.f16(14), np.float16(1.5))),
        ("v_fmamk_f16 v20.l, v13.l, 0x3e00, v14.l", lambda s: fma16(s.f16(13), np.full(64, 1.5, np.float16), s.f16(14))),
        ("v_dot2_f16_f16 v20.l, v13, v14, v15.l", lambda s: dot2(s, "f16").view(np.float16)),
    ]),
    *table("u16", [("v_dot2_bf16_bf16 v20.l, v13, v14, v15.l", lambda s: dot2(s, "bf16"))]),
]  # fmt: skip
RDNA3_ROWS = [
    *table("f32", [
        ("v_maxmin_f32 v20, v0, v1, v2", three(number, most, least, "f32")), ("v_minmax_f32 v20, v0, v1, v2", three(number, least, most, "f32")),
        ("v_mov_b32 v20, v2\nv_fmac_dx9_zero_f32 v20, v0, v1", lambda s: np.where((s.f32(0) == 0) | (s.f32(1) == 0), s.f32(2),
            (s.f32(0).astype(np.longdouble) * s.f32(1) + s.f32(2)).astype(np.float32)), 1),
    ]),
    *table("f16", [
        ("v_maxmin_f16 v20.l, v13.l, v14.l, v15.l", three(number, most, least, "f16")),
        ("v_minmax_f16 v20.l, v13.l, v14.l, v15.l", three(number, least, most, "f16")),
    ]),
]  # fmt: skip
RDNA4_ROWS = [
    *table("f32", [
        *((f"v_dot4_f32_{a}_{b} v20, v10, v11, v2", lambda s, a=a, b=b: dot4(s, a, b)) for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
        ("v_maxmin_num_f32 v20, v0, v1, v2", three(number, most, least, "f32")), ("v_minmax_num_f32 v20, v0, v1, v2", three(number, least, most, "f32")),
        ("v_minimummaximum_f32 v20, v0, v1, v2", three(or_nan, least, most, "f32")),
    ]),
    *table("f64", [
        ("v_minimum_f64 v[20:21], v[4:5], v[6:7]", two(or_nan, least, "f64")), ("v_maximum_f64 v[20:21], v[4:5], v[6:7]", two(or_nan, most, "f64")),
    ]),
    *table("f16", [
        ("v_maxmin_num_f16 v20.l, v13.l, v14.l, v15.l", three(number, most, least, "f16")),
        ("v_minmax_num_f16 v20.l, v13.l, v14.l, v15.l", three(number, least, most, "f16")),
        ("v_minimummaximum_f16 v20.l, v13.l, v14.l, v15.l", three(or_nan, least, most, "f16")),
        ("v_maximumminimum_f16 v20.l, v13.l, v14.l, v15.l", three(or_nan, most, least, "f16")),
        ("v_minimum3_f16 v20.l, v13.l, v14.l, v15.l", three(or_nan, least, least, "f16")),
        ("v_maximum3_f16 v20.l, v13.l, v14.l, v15.l", three(or_nan, most, most, "f16")),
        ("v_minimum_f16 v20.l, v13.l, v14.l", two(or_nan, least, "f16")), ("v_maximum_f16 v20.l, v13.l, v14.l", two(or_nan, most, "f16")),
        *((f"v_pk_{name}_f16 v21, v13, v14\nv_mov_b16 v20.l, v21.l", two(join, pick, "f16"))
          for name, join, pick in (("min_num", number, least), ("max_num", number, most), ("minimum", or_nan, least), ("maximum", or_nan, most))),
    ]),
]  # fmt: skip

# v20 after a dual instruction whose other half moves v11 to v21; v20 begins as v2, and v22 holds v0.
DUAL = [
    ("add_f32 v20, v0, v1", lambda s: s.f32(0) + s.f32(1)), ("sub_f32 v20, v0, v1", lambda s: s.f32(0) - s.f32(1)),
    ("subrev_f32 v20, v0, v1", lambda s: s.f32(1) - s.f32(0)), ("mul_f32 v20, v0, v1", lambda s: s.f32(0) * s.f32(1)),
    ("mul_dx9_zero_f32 v20, v0, v1", lambda s: np.where((s.f32(0) == 0) | (s.f32(1) == 0), np.float32(0), s.f32(0) * s.f32(1))),
    ("fmaak_f32 v20, v0, v1, 0x40200000", lambda s: (s.f32(0).astype(np.longdouble) * s.f32(1) + 2.5).astype(np.float32)),
    ("fmamk_f32 v20, v0, 0x40200000, v1", lambda s: (s.f32(0).astype(np.longdouble) * 2.5 + s.f32(1)).astype(np.float32)),
    ("min_f32 v20, v0, v1", two(number, least, "f32")), ("max_f32 v20, v0, v1", two(number, most, "f32")),
]  # fmt: skip
DUAL_INTEGERS = [
    ("add_nc_u32 v20, v10, v11", lambda s: s.u32(10) + s.u32(11)), ("and_b32 v20, v10, v11", lambda s: s.u32(10) & s.u32(11)),
    ("lshlrev_b32 v20, v10, v11", lambda s: s.u32(11) << (s.u32(10) & 31)),
]  # fmt: skip


def dual_dot(s: State, kind: str) -> Array:
    """The accumulator first, then one product after the other, each exact."""
    halves = [s.halves(r).astype(np.uint32) << 16 if kind == "bf16" else s.halves(r).copy() for r in (13, 14)]
    a, b = (h.view(np.float32) if kind == "bf16" else h.view(np.float16).astype(np.float32) for h in halves)
    return (s.f32(2) + a[:, 0] * b[:, 0]) + a[:, 1] * b[:, 1]


def dual_cases(target: str) -> list[Case]:
    def name(text: str) -> str:
        return renamed(f"v_{text}", target)[2:]

    floats = [
        Case(f"v_mov_b32 v20, v2\nv_dual_{name(text)} :: v_dual_mov_b32 v21, v11", "f32", f, 1 if "fma" in text else 0)
        for text, f in DUAL
    ]
    dots = [
        Case(
            f"v_mov_b32 v20, v2\nv_dual_dot2acc_f32_{kind} v20, v13, v14 :: v_dual_mov_b32 v21, v12",
            "f32",
            lambda s, k=kind: dual_dot(s, k),
        )
        for kind in ("f16", "bf16")
    ]
    return [*floats, *dots, *(Case(f"v_dual_mov_b32 v21, v0 :: v_dual_{text}", "u32", f) for text, f in DUAL_INTEGERS)]


ROWS = {
    target: [
        *COMMON,
        *(RDNA4_ROWS if target in RDNA4 else RDNA3_ROWS),
        *(dual_cases(target) if "/" not in target else []),
    ]
    for target in TARGETS
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_row_computes_what_the_manual_says(sandbox: Sandbox, target: str) -> None:
    lines = Lines(sandbox, ROWS[target], target)
    check_all((case.line, partial(lines.check, case)) for case in ROWS[target])


@pytest.mark.parametrize("target", TARGETS)
def test_the_halves_of_a_wave_of_64_change_places(sandbox: Sandbox, target: str) -> None:
    before = prepared()
    (after,) = run_waves(sandbox, [("v_mov_b32 v20, v11\nv_permlane64_b32 v20, v10", before)], target)
    assert not after.fault, after.fault
    expected = before.u32(11) if "/" not in target else before.u32(10)[np.arange(64) ^ 32]
    assert (after.u32(20) == expected).all()


# ---- RDNA4's scalar floats: s10 and SCC; s7 is 2.5 ----


def f16(x: float) -> int:
    return int(np.float16(x).view(np.uint16))


def f32(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


NAN32, NAN16 = "0x7fc00000", "0x7e00"
SCALARS = {
    "s_add_f32 s10, s7, 1.0": f32(3.5), "s_sub_f32 s10, s7, 1.0": f32(1.5), "s_mul_f32 s10, s7, -2.0": f32(-5),
    "s_ceil_f32 s10, s7": f32(3), "s_floor_f32 s10, s7": f32(2),
    "s_rndne_f32 s10, s7": f32(2), "s_cvt_f32_i32 s10, -7": f32(-7), "s_cvt_i32_f32 s10, s7": 2, "s_cvt_u32_f32 s10, s7": 2,
    "s_cvt_f16_f32 s10, s7": f16(2.5), "s_cvt_f32_f16 s10, 0x4100": f32(2.5), "s_cvt_hi_f32_f16 s10, 0x41003c00": f32(2.5),
    "s_cvt_pk_rtz_f16_f32 s10, s7, 1.0": f16(2.5) | f16(1) << 16, f"s_max_num_f32 s10, s7, {NAN32}": f32(2.5),
    f"s_maximum_f32 s10, s7, {NAN32}": f32(np.nan), "s_minimum_f32 s10, s7, 1.0": f32(1), "s_maximum_f32 s10, s7, 4.0": f32(4),
    "s_fmaak_f32 s10, s7, s7, 0x3f800000": f32(7.25), "s_fmamk_f32 s10, s7, 0x40000000, s7": f32(7.5),
    "s_mov_b32 s10, 0x3c00\ns_fmac_f16 s10, 0x4100, 0x4000": f16(6), "s_add_f16 s10, 0x4100, 1.0": f16(3.5),
    "s_sub_f16 s10, 0x4100, 1.0": f16(1.5), "s_mul_f16 s10, 0x4100, -2.0": f16(-5), "s_ceil_f16 s10, 0x4100": f16(3),
    "s_floor_f16 s10, 0x4100": f16(2), "s_trunc_f16 s10, 0xc100": f16(-2), "s_rndne_f16 s10, 0x4100": f16(2),
    f"s_mov_b32 s10, {NAN16}\ns_min_num_f16 s10, s10, 0x4100": f16(2.5), f"s_mov_b32 s10, {NAN16}\ns_max_num_f16 s10, s10, 0x4100": f16(2.5),
    "s_minimum_f16 s10, 0x4100, 1.0": f16(1), "s_maximum_f16 s10, 0x4100, 4.0": f16(4), "s_trunc_f32 s10, 0xc0200000": f32(-2),
    "s_sub_nc_u64 s[10:11], 0, 1": 0xFFFFFFFF, "s_mul_u64 s[10:11], s[4:5], 3": 0x80000003,
    "v_s_exp_f32 s10, 1.0": f32(2), "v_s_exp_f16 s10, 1.0": f16(2), "v_s_log_f32 s10, 4.0": f32(2), "v_s_log_f16 s10, 4.0": f16(2),
    "v_s_rcp_f32 s10, 4.0": f32(0.25), "v_s_rcp_f16 s10, 4.0": f16(0.25), "v_s_rsq_f32 s10, 4.0": f32(0.5),
    "v_s_rsq_f16 s10, 4.0": f16(0.5), "v_s_sqrt_f16 s10, 4.0": f16(2),
}  # fmt: skip
RELATIONS = {
    "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b, "ge": lambda a, b: a >= b, "o": lambda a, b: a == a and b == b,
    "u": lambda a, b: a != a or b != b, "nge": lambda a, b: not a >= b, "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b, "nle": lambda a, b: not a <= b, "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b,
}  # fmt: skip
VALUES = [(1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (np.nan, 1.0)]
COMPARES = {
    f"s_mov_b32 s10, {bits(a):#x}\ns_cmp_{name}_{kind} s10, {bits(b):#x}": int(holds(a, b))
    for kind, bits in (("f32", f32), ("f16", f16))
    for name, holds in RELATIONS.items()
    for a, b in VALUES
}


@pytest.mark.parametrize("target", RDNA4)
def test_scalar_floats(sandbox: Sandbox, target: str) -> None:
    before = prepared()
    for (line, expected), after in zip(
        SCALARS.items(), run_waves(sandbox, [(x, before) for x in SCALARS], target), strict=True
    ):
        assert not after.fault, after.fault
        assert int(after.s[6]) == expected, f"{line}: {int(after.s[6]):#x} instead of {expected:#x}"
    for (line, expected), after in zip(
        COMPARES.items(), run_waves(sandbox, [(x, before) for x in COMPARES], target), strict=True
    ):
        assert not after.fault, after.fault
        assert after.scc == expected, line


MODES = {
    "s_round_mode 0x3\ns_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 4)": 3,
    "s_denorm_mode 0x5\ns_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)": 5,
    "s_sendmsg_rtn_b32 s10, sendmsg(MSG_RTN_GET_DOORBELL)\ns_wait_idle": 0,
    "s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_REALTIME)\ns_wait_idle\ns_sendmsg_rtn_b64 s[12:13], sendmsg(MSG_RTN_GET_REALTIME)\n"
    "s_wait_idle\ns_cmp_lt_u32 s10, s12\ns_cselect_b32 s10, 1, 0": 1,
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_modes_and_messages(sandbox: Sandbox, target: str) -> None:
    for (line, expected), after in zip(
        MODES.items(), run_waves(sandbox, [(x, prepared()) for x in MODES], target), strict=True
    ):
        assert not after.fault, after.fault
        assert int(after.s[6]) == expected, line


# ---- memory that only RDNA4 has; byte n of memory is n % 251 ----

BYTES = np.arange(MEMORY_BYTES) % 251
SMALL = {
    "s_load_u8 s10, s[20:21], 0x83": 131, "s_load_i8 s10, s[20:21], 0x83": 131 - 256, "s_load_u16 s10, s[20:21], 0x82": 131 << 8 | 130,
    "s_load_i16 s10, s[20:21], 0x82": (131 << 8 | 130) - 65536, "s_load_b96 s[8:10], s[20:21], 0x0": 11 << 24 | 10 << 16 | 9 << 8 | 8,
    "s_buffer_load_u8 s10, s[24:27], 0x83": 131, "s_buffer_load_i8 s10, s[24:27], 0x83": 131 - 256,
    "s_buffer_load_u16 s10, s[24:27], 0x82": 131 << 8 | 130, "s_buffer_load_i16 s10, s[24:27], 0x82": (131 << 8 | 130) - 65536,
    "s_buffer_load_b96 s[8:10], s[24:27], 0x0": 11 << 24 | 10 << 16 | 9 << 8 | 8, "s_buffer_load_u8 s10, s[24:27], 0x100": 0,
}  # fmt: skip
DESCRIPTOR = (
    "s_mov_b64 s[24:25], s[20:21]\ns_and_b32 s25, s25, 0xffff\ns_movk_i32 s26, 0x100\ns_mov_b32 s27, 0x30027000\n"
)


def in_memory(mask: int = ALL) -> State:
    return replace(prepared(exec_mask=mask), memory=BYTES.astype(np.uint8).tobytes())


@pytest.mark.parametrize("target", RDNA4)
def test_scalar_loads_of_bytes_and_of_three_words(sandbox: Sandbox, target: str) -> None:
    given = [(f"{DESCRIPTOR}{line}\ns_wait_idle", in_memory()) for line in SMALL]
    for (line, expected), after in zip(SMALL.items(), run_waves(sandbox, given, target), strict=True):
        assert not after.fault, after.fault
        assert int(after.s[6]) == expected & 0xFFFFFFFF, line


# Lane l of the first 32 points to the first byte of row and column; the result is what WMMA wants: column l % 16, and rows
# from 8 * (l // 16) on. Both orders of lanes are those of kernels that run on RDNA4.
TRANSPOSED = {
    "global_load_tr_b128 v[20:23], v22, s[20:21]": (2, lambda n: (n % 8 + 8 * (n // 16), n // 8 % 2 * 8)),
    "global_load_tr_b64 v[20:21], v22, s[20:21]": (1, lambda n: (n // 8 * 4 + n % 4, n // 4 % 2 * 8)),
}  # fmt: skip


@pytest.mark.parametrize("target", RDNA4)
@pytest.mark.parametrize("line", TRANSPOSED)
def test_a_matrix_is_transposed_on_its_way(sandbox: Sandbox, target: str, line: str) -> None:
    size, place = TRANSPOSED[line]
    waves, before = (1, in_memory()) if "/" in target else (2, in_memory())
    for lane in range(64):
        row, column = place(lane % 32)
        before.v[10][lane] = (row * 16 + column) * size
    words = size * 2 // (1 if waves == 2 else 2)
    text = line.replace("v22", "v10").replace(f"v[20:{19 + size * 2}]", f"v[20:{19 + words}]" if words > 1 else "v20")
    (after,) = run_waves(sandbox, [(f"{text}\ns_wait_idle", before)], target)
    assert not after.fault, after.fault
    matrix = np.frombuffer(before.memory[: 256 * size], dtype=f"<u{size}").reshape(16, 16)
    for lane in range(32):
        expected = matrix[8 * (lane // 16) :, lane % 16][:8].copy().view("<u4")
        got = [after.v[20 + n % words][lane + 32 * (n // words)] for n in range(2 * size)]
        assert [int(x) for x in got] == [int(x) for x in expected], lane
    (mixed,) = run_waves(sandbox, [(text, replace(before, exec=SOME))], target)
    assert mixed.fault.startswith("not_emulated"), "inactive lanes"


BLOCKS = {
    "global": "v_lshlrev_b32 v60, 5, v255\ns_mov_b32 m0, 5\nglobal_load_block v[20:51], v60, s[20:21]\ns_wait_idle\n"
    "global_store_block v60, v[20:51], s[20:21] offset:4\ns_wait_idle\nglobal_load_b32 v23, v60, s[20:21] offset:4\ns_wait_idle",
    "scratch": "scratch_store_b32 off, v10, off\nscratch_store_b32 off, v11, off offset:8\ns_mov_b32 m0, 5\ns_wait_idle\n"
    "scratch_load_block v[20:51], off, off\ns_wait_idle\nscratch_store_block off, v[20:51], off offset:16\ns_wait_idle\n"
    "scratch_load_b32 v23, off, off offset:24",
}  # fmt: skip


@pytest.mark.parametrize("target", RDNA4)
@pytest.mark.parametrize("segment", BLOCKS)
def test_a_block_moves_the_words_that_m0_names(sandbox: Sandbox, target: str, segment: str) -> None:
    before = in_memory()
    (after,) = run_waves(sandbox, [(BLOCKS[segment], before)], target)
    assert not after.fault, after.fault
    words = np.frombuffer(before.memory, dtype="<u4")
    first, second = (
        (words[np.arange(64) * 32], words[np.arange(64) * 32 + 2])
        if segment == "global"
        else (before.u32(10), before.u32(11))
    )
    assert (after.u32(20) == first).all()
    assert (after.u32(21) == before.v[21]).all()
    assert (after.u32(22) == second).all()
    assert (after.u32(23) == (first if segment == "global" else second)).all()


@pytest.mark.parametrize("target", RDNA4)
def test_only_the_first_wave_at_a_barrier_is_told_so(sandbox: Sandbox, target: str) -> None:
    line = "s_barrier_signal_isfirst -1\ns_cselect_b32 s10, 1, 0\ns_barrier_wait -1\nv_mov_b32 v20, s10"
    (after,) = run_waves(sandbox, [(line, prepared())], target)
    if "/" in target:
        assert after.fault.startswith("not_emulated"), "a wave that is alone"
    else:
        assert sorted(after.u32(20)[[0, 32]]) == [0, 1]
