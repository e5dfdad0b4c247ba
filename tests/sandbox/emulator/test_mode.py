"""What MODE changes: rounding, denormals, output modifiers, NaN in clamps and minima; and what is refused of it.

Rounding is computed here independently, with whole numbers and fractions. Source: CDNA3 ISA, "MODE register" and "Output modifiers".
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from values import prepared, same
from waves import State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Array = np.ndarray
TARGETS = ("gfx942", "gfx1100")
FORMATS: dict[str, tuple[Any, int, int]] = {
    "f32": (np.float32, 24, -149),
    "f64": (np.float64, 53, -1074),
    "f16": (np.float16, 11, -24),
}
ROUND: list[Callable[[Fraction], int]] = [round, math.ceil, math.floor, math.trunc]  # as MODE's two bits say
IEEE, DX10_CLAMP, FP16_OVFL = 9, 8, 23


def mode(at: int, bits: int, value: int) -> str:
    return f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, {at}, {bits}), {value}\n"


def rounded(exact: Fraction, kind: str, how: int) -> float:
    """The number of a format that a rounding mode gives; beyond the largest, infinity or the largest."""
    dtype, digits, lowest = FORMATS[kind]
    if exact == 0:
        return 0.0
    exponent = abs(exact).numerator.bit_length() - exact.denominator.bit_length()
    exponent += abs(exact) >= Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - digits, lowest)
    result = ROUND[how](exact / step) * step
    largest = Fraction(float(np.finfo(dtype).max))
    if abs(result) <= largest:
        return math.copysign(float(abs(result)), 1 if exact > 0 else -1)
    inward = how == 3 or (how == 1 and result < 0) or (how == 2 and result > 0)
    return (float(largest) if inward else math.inf) * (1 if result > 0 else -1)


Check = tuple[str, str, Callable[[State], Array]]


def check(sandbox: Sandbox, target: str, *checks: Check) -> None:
    """Lines, each with the kind and the values of v20 of all lanes; a value of None is not checked."""
    before = prepared()
    for (line, kind, expected), after in zip(
        checks, run_waves(sandbox, [(line, before) for line, _, _ in checks], target), strict=True
    ):
        check_line(line, kind, expected, before, after)


def check_line(line: str, kind: str, expected: Callable[[State], Array], before: State, after: State) -> None:
    assert not after.fault, f"{line}: {after.fault}"
    with np.errstate(all="ignore"):
        wanted = expected(before)
    got = getattr(after, kind)(20)
    asked = np.array([x is not None for x in wanted])
    numbers = np.array([0 if x is None else x for x in wanted], dtype=got.dtype)
    bad = np.flatnonzero(asked & ~same(got, numbers))
    assert asked.sum() > 20
    assert not len(bad), f"{line}: lanes {bad[:4]}: {got[bad[:4]]} instead of {numbers[bad[:4]]}"


def of_fractions(kind: str, how: int, function: Any, *sources: Callable[[State], Array]) -> Callable[[State], Array]:
    """Lane by lane; None where a source is not a number or the exact result is zero, whose sign is another matter."""

    def lane(values: tuple[float, ...]) -> float | None:
        if not all(math.isfinite(v) for v in values):
            return None
        exact = function(*(Fraction(float(v)) for v in values))
        return rounded(exact, kind, how) if exact else None

    return lambda s: np.array([lane(v) for v in zip(*(source(s) for source in sources), strict=True)], dtype=object)


def f32(register: int) -> Callable[[State], Array]:
    return lambda s: s.f32(register)


def f64(register: int) -> Callable[[State], Array]:
    return lambda s: s.f64(register)


def f16(register: int) -> Callable[[State], Array]:
    return lambda s: s.f16(register)


ROUNDED = [
    ("v_add_f32 v20, v0, v1", "f32", 0, lambda a, b: a + b, (f32(0), f32(1))),
    ("v_mul_f32 v20, v0, v1", "f32", 0, lambda a, b: a * b, (f32(0), f32(1))),
    ("v_fma_f32 v20, v0, v1, v2", "f32", 0, lambda a, b, c: a * b + c, (f32(0), f32(1), f32(2))),
    ("v_cvt_f32_i32 v20, v10", "f32", 0, lambda a: a, (lambda s: s.i32(10).astype(float),)),
    ("v_add_f64 v[20:21], v[4:5], v[6:7]", "f64", 2, lambda a, b: a + b, (f64(4), f64(6))),
    ("v_mul_f64 v[20:21], v[4:5], v[6:7]", "f64", 2, lambda a, b: a * b, (f64(4), f64(6))),
    ("v_fma_f64 v[20:21], v[4:5], v[6:7], v[8:9]", "f64", 2, lambda a, b, c: a * b + c, (f64(4), f64(6), f64(8))),
    ("v_cvt_f32_f64 v20, v[4:5]", "f32", 2, lambda a: a, (f64(4),)),
    ("v_add_f16 v20, v13, v14", "f16", 2, lambda a, b: a + b, (f16(13), f16(14))),
    ("v_mul_f16 v20, v13, v14", "f16", 2, lambda a, b: a * b, (f16(13), f16(14))),
    ("v_fma_f16 v20, v13, v14, v15", "f16", 2, lambda a, b, c: a * b + c, (f16(13), f16(14), f16(15))),
    ("v_cvt_f16_f32 v20, v0", "f16", 2, lambda a: a, (f32(0),)),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", [1, 2, 3], ids=["up", "down", "to zero"])
def test_each_rounding_mode_rounds_its_formats(sandbox: Sandbox, target: str, how: int) -> None:
    checks: list[Check] = [
        (mode(field, 2, how) + line, kind, of_fractions(kind, how, function, *sources))
        for line, kind, field, function, sources in ROUNDED
    ]
    check(sandbox, target, *checks)


@pytest.mark.parametrize("target", TARGETS)
def test_the_other_formats_keep_their_rounding(sandbox: Sandbox, target: str) -> None:
    checks: list[Check] = [
        (mode(2 - field, 2, 1) + line, kind, of_fractions(kind, 0, function, *sources))
        for line, kind, field, function, sources in ROUNDED
    ]
    check(sandbox, target, *checks)


def flushed(x: Array) -> Array:
    return np.where(abs(x) < np.finfo(x.dtype).tiny, np.copysign(0, x), x).astype(x.dtype)


FLUSHED = [
    (mode(4, 2, 1) + "v_mul_f32 v20, v0, 0.5", "f32", lambda s: flushed(s.f32(0) * np.float32(0.5))),
    (mode(4, 2, 2) + "v_mul_f32 v20, v0, 4.0", "f32", lambda s: flushed(s.f32(0)) * np.float32(4)),
    (mode(4, 2, 0) + "v_cvt_f64_f32 v[20:21], v0", "f64", lambda s: flushed(s.f32(0)).astype(np.float64)),
    (mode(4, 2, 0) + "v_cvt_f64_f32 v[20:21], v0\nv_add_f64 v[20:21], v[4:5], v[6:7]", "f64", lambda s: s.f64(4) + s.f64(6)),
    (mode(4, 2, 0) + "v_mov_b32 v21, 0x37f00000\nv_mov_b32 v20, 0\nv_cvt_f32_f64 v20, v[20:21]", "f32", lambda s: np.zeros(64)),
    (mode(6, 2, 0) + "v_mul_f64 v[20:21], v[4:5], 4.0", "f64", lambda s: flushed(s.f64(4)) * 4),
    (mode(6, 2, 0) + "v_mul_f32 v20, v0, 4.0", "f32", lambda s: s.f32(0) * np.float32(4)),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_denormals_are_flushed_as_their_own_format_says(sandbox: Sandbox, target: str) -> None:
    check(sandbox, target, *FLUSHED)


NO_IEEE, NO_DENORMALS_OUT = mode(IEEE, 1, 0), mode(4, 2, 1)
ADD = "v_add_f32_e64 v20, v0, v1"


def doubled(s: State) -> Array:
    total = flushed(s.f32(0) + s.f32(1))
    return flushed(np.where(total == 0, np.float32(0), total) * np.float32(2))


@pytest.mark.parametrize("target", TARGETS)
def test_an_output_modifier_works_only_without_denormals_and_ieee(sandbox: Sandbox, target: str) -> None:
    check(
        sandbox,
        target,
        (f"{NO_IEEE}{NO_DENORMALS_OUT}{ADD} mul:2", "f32", doubled),
        (f"{NO_DENORMALS_OUT}{ADD} mul:2", "f32", lambda s: flushed(s.f32(0) + s.f32(1))),
        (f"{NO_IEEE}{ADD} div:2", "f32", lambda s: s.f32(0) + s.f32(1)),
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_clamp_keeps_nan_if_mode_says_so(sandbox: Sandbox, target: str) -> None:
    def clamped(s: State) -> Array:
        total = s.f32(0) + s.f32(1)
        return np.where(np.isnan(total), np.nan, np.where(total > 0, np.minimum(total, 1), 0)).astype(np.float32)

    check(sandbox, target, (f"{mode(DX10_CLAMP, 1, 0)}{ADD} clamp", "f32", clamped))


SIGNALLING = "v_mov_b32 v3, 0x7f800001\n"
REFUSED = [
    f"{NO_IEEE}{SIGNALLING}v_min_f32 v20, v0, v3",
    f"{NO_IEEE}v_mov_b32 v3, 0x7c01\nv_max_f16 v20, v3, v13",
    f"{mode(FP16_OVFL, 1, 1)}v_mov_b32 v3, 0x7bff\nv_add_f16 v20, v3, v3",
    mode(12, 1, 1).strip(),  # a trap on invalid operations
]
ACCEPTED = [
    f"{NO_IEEE}v_mov_b32 v3, 0x7fc00000\nv_min_f32 v20, v0, v3",
    f"{NO_IEEE}{SIGNALLING}v_add_f32 v20, v0, v3",
    f"{mode(FP16_OVFL, 1, 1)}v_mov_b32 v3, 0x3c00\nv_add_f16 v20, v3, v3",
]


@pytest.mark.parametrize("target", TARGETS)
def test_what_mode_asks_beyond_that_is_refused(sandbox: Sandbox, target: str) -> None:
    refused = run_waves(sandbox, [(line, prepared()) for line in REFUSED], target)
    accepted = run_waves(sandbox, [(line, prepared()) for line in ACCEPTED], target)
    assert [state.fault.split(":")[0] for state in refused] == ["not_emulated"] * len(REFUSED)
    assert [state.fault for state in accepted] == [""] * len(ACCEPTED)
