"""Conversions to and from floats of 8, 6 and 4 bits, against the types of ml_dtypes."""

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from values import POISON, prepared
from waves import ALL, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
LANES = 64

NARROW = {
    "fp8": (ml_dtypes.float8_e4m3fn, 8), "bf8": (ml_dtypes.float8_e5m2, 8), "fp6": (ml_dtypes.float6_e2m3fn, 6),
    "bf6": (ml_dtypes.float6_e3m2fn, 6), "fp4": (ml_dtypes.float4_e2m1fn, 4),
}  # fmt: skip
FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
WIDE = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
FROM, TO, SCALE, RANDOM = (
    32,
    64,
    40,
    41,
)  # values in v[0:31]; results in v[32:63]; scale in v40 until the line overwrites it


@dataclass(frozen=True)
class Case:
    line: str
    narrow: str
    wide: str
    count: int
    widens: bool = False
    source: int = 0  # bit of the source at which the values lie
    place: int = 0  # bit of the result at which the values lie
    turns: bool = False  # the values come in turn from v[0:15] and v[16:31]


def span(first: int, words: int) -> str:
    return f"v{first}" if words == 1 else f"v[{first}:{first + words - 1}]"


def narrowing(narrow: str, wide: str) -> list[Case]:
    bits = NARROW[narrow][1]
    if bits == 6:
        if wide == "f32":
            return [
                Case(
                    f"v_cvt_scalef32_2xpk16_{narrow}_f32 v[32:37], v[0:15], v[16:31], v40", narrow, wide, 32, turns=True
                )
            ]
        return [Case(f"v_cvt_scalef32_pk32_{narrow}_{wide} v[32:37], v[0:15], v40", narrow, wide, 32)]
    operands = "v0, v1, v40" if wide == "f32" else "v0, v40"
    selects = range(4) if bits == 4 else range(2)
    texts = {4: ["", "1,0", "0,1", "1,1"], 8: ["", "1"]}[bits]
    found = []
    for select in selects:
        parts = ["0"] * (3 if wide == "f32" else 2) + ["0"]
        if bits == 4:
            high = texts[select].split(",") if texts[select] else ["0", "0"]
            parts = ["0", "0", *high]
        elif select:
            parts[-1] = "1"
        op_sel = f" op_sel:[{','.join(parts)}]" if select else ""
        line = f"v_cvt_scalef32_pk_{narrow}_{wide} v32, {operands}{op_sel}"
        found.append(Case(line, narrow, wide, 2, place=2 * bits * select))
    return found


def widening(narrow: str, wide: str) -> list[Case]:
    bits = NARROW[narrow][1]
    if bits == 6:
        words = 32 if wide == "f32" else 16
        return [
            Case(f"v_cvt_scalef32_pk32_{wide}_{narrow} {span(32, words)}, v[0:5], v40", narrow, wide, 32, widens=True)
        ]
    result = "v[32:33]" if wide == "f32" else "v32"
    selects = ["", "1,0,0", "0,1,0", "1,1,0"] if bits == 4 else ["", "1,0,0"]
    found = [
        Case(
            f"v_cvt_scalef32_pk_{wide}_{narrow} {result}, v0, v40{f' op_sel:[{select}]' if select else ''}",
            narrow, wide, 2, widens=True, source=2 * bits * number,
        )
        for number, select in enumerate(selects)
    ]  # fmt: skip
    if bits == 8 and wide != "bf16":
        for number, select in enumerate(["", "1,0,0", "0,1,0", "1,1,0"]):
            line = f"v_cvt_scalef32_{wide}_{narrow} v32, v0, v40{f' op_sel:[{select}]' if select else ''}"
            found.append(Case(line, narrow, wide, 1, widens=True, source=8 * number))
    return found


CASES = [
    case
    for narrow in NARROW
    for wide in WIDE
    for case in (*narrowing(narrow, wide), *widening(narrow, wide))
]  # fmt: skip


def values(rng: np.random.Generator, case: Case) -> Array:
    """What the lanes convert, shape (64, count): ties, denormals, what is too large, zeros; all exact in the wide type."""
    small = NARROW[case.narrow][0]
    every = np.arange(1 << NARROW[case.narrow][1]).astype("u1").view(small).astype(np.float64)
    every = every[np.isfinite(every)]
    chosen = rng.choice(every, (LANES, case.count))
    if case.widens:
        return chosen
    other = rng.choice(every, (LANES, case.count))
    mixed = np.where(rng.random((LANES, case.count)) < 0.5, chosen, (chosen + other) / 2)
    with np.errstate(all="ignore"):
        return mixed.astype(WIDE[case.wide]).astype(np.float64)


def as_words(raw: Array) -> Array:
    """Bytes of each lane, shape (64, n), to registers, shape (words, 64)."""
    padded = np.zeros((LANES, -(-raw.shape[1] // 4) * 4), dtype=np.uint8)
    padded[:, : raw.shape[1]] = raw
    return np.ascontiguousarray(padded.view("<u4").T)


def packed(codes: Array, bits: int, at: int = 0) -> Array:
    """Codes of `bits` bits one after the other, shape (64, n), to registers."""
    flags = (codes[:, :, None] >> np.arange(bits) & 1).reshape(LANES, -1).astype(np.uint8)
    flags = np.concatenate([np.zeros((LANES, at), dtype=np.uint8), flags], axis=1)
    return as_words(np.packbits(flags, axis=1, bitorder="little"))


def encoded(numbers: Array, narrow: str) -> Array:
    """The nearest codes, ties to even; what is too large is NaN or infinite in 8 bits, the largest value in fewer."""
    small, bits = NARROW[narrow]
    if bits < 8:
        numbers = np.clip(numbers, float(ml_dtypes.finfo(small).min), float(ml_dtypes.finfo(small).max))
    with np.errstate(all="ignore"):
        return numbers.astype(small).view("u1").astype(np.uint32) & ((1 << bits) - 1)


def prepared_case(case: Case, number: int, mask: int) -> tuple[str, State, Array]:
    """The line, the state before it, and the registers that it must leave from v32 on."""
    rng = np.random.default_rng(number)
    held = values(rng, case)
    scale = rng.integers(125, 131, LANES).astype(np.uint32)
    factor = 2.0 ** (scale.astype(np.float64) - 127)[:, None]
    before = prepared(exec_mask=mask, seed=number)
    before.v[20] = scale << 23 | 0x155555  # only the exponent counts
    bits = NARROW[case.narrow][1]
    if case.widens:
        codes = encoded(held, case.narrow)
        before.v[:] = np.where(
            np.arange(32)[:, None] < 20, rng.integers(0, 1 << 32, (32, LANES), dtype=np.uint32), before.v
        )
        words = packed(codes, bits, case.source)
        keep = packed(np.full((LANES, case.count), (1 << bits) - 1, dtype=np.uint32), bits, case.source)
        before.v[: len(words)] = before.v[: len(words)] & ~keep | words
        with np.errstate(all="ignore"):
            wide = (held * factor).astype(WIDE[case.wide])
        return (
            f"v_mov_b32 v40, v20\n{case.line}",
            before,
            as_words(np.ascontiguousarray(wide).view(np.uint8).reshape(LANES, -1)),
        )
    with np.errstate(all="ignore"):
        raw = held.astype(WIDE[case.wide])
    if case.turns:
        raw = np.concatenate([raw[:, 0::2], raw[:, 1::2]], axis=1)
    words = as_words(np.ascontiguousarray(raw).view(np.uint8).reshape(LANES, -1))
    line = f"v_mov_b32 v40, v20\nv_mov_b32 v32, {POISON:#x}\n{case.line}"
    if len(words) > 20:  # the scale must not lie in the way
        line = line.replace("v40, v20", "v40, s7", 1)
        before.s[3] = scale[0] << 23
        factor = np.full_like(factor, 2.0 ** (float(scale[0]) - 127))
    before.v[: len(words)] = words
    result = packed(encoded(held / factor, case.narrow), bits, case.place)
    if case.count == 2:
        written = packed(np.full((LANES, 2), (1 << bits) - 1, dtype=np.uint32), bits, case.place)
        result = POISON & ~written | result
    return line, before, result


def alike(got: Array, expected: Array, case: Case) -> bool:
    if np.array_equal(got, expected):
        return True
    if not case.widens:
        return False
    kind = WIDE[case.wide]
    a, b = (np.ascontiguousarray(x.T).view(kind).astype(np.float64) for x in (got, expected))
    return np.array_equal(a, b, equal_nan=True)


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> list[tuple[Array, State, State]]:
    given = [prepared_case(case, 2 * n + (mask != ALL), mask) for n, case in enumerate(CASES) for mask in (ALL, SOME)]
    after = run_waves(sandbox, [(line, before) for line, before, _ in given], "gfx950")
    return [(expected, before, state) for (_, before, expected), state in zip(given, after, strict=True)]


@each_row("number", range(len(CASES)), ids=[case.line.replace(", ", ",") for case in CASES])
def test_a_scaled_conversion_gives_the_nearest_value(results, number: int) -> None:
    case = CASES[number]
    for expected, before, after in results[2 * number : 2 * number + 2]:
        assert not after.fault, after.fault
        active = before.active()
        got = after.v[32 : 32 + len(expected)]
        if case.widens and case.count == 1 and case.wide == "f16":
            got, expected = got & 0xFFFF, expected & 0xFFFF
        assert alike(got[:, active], expected[:, active], case), (
            f"{case.line}\n{got[:, active][:, :4]}\n{expected[:, active][:, :4]}"
        )


# ---- stochastic rounding: what is lost and the random number together make a whole, or not ----

STOCHASTIC = [
    *((f"v_cvt_scalef32_sr_{n}_{w} v32, v0, v41, v40", n, w, 1, True) for n in ("fp8", "bf8") for w in WIDE),
    ("v_cvt_scalef32_sr_pk_fp4_f32 v32, v[0:1], v41, v40", "fp4", "f32", 2, True),
    ("v_cvt_scalef32_sr_pk_fp4_f16 v32, v0, v41, v40", "fp4", "f16", 2, True),
    ("v_cvt_scalef32_sr_pk_fp4_bf16 v32, v0, v41, v40", "fp4", "bf16", 2, True),
    *((f"v_cvt_scalef32_sr_pk32_{n}_{w} v[32:37], {'v[0:31]' if w == 'f32' else 'v[0:15]'}, v41, v40", n, w, 32, True)
      for n in ("fp6", "bf6") for w in WIDE),
    ("v_cvt_sr_fp8_f32 v32, v0, v41", "fp8", "f32", 1, False),
    ("v_cvt_sr_bf8_f32 v32, v0, v41", "bf8", "f32", 1, False),
]  # fmt: skip


def next_random(x: int) -> int:
    return (x << 1 & 0xFFFFFFFF) ^ (197 if x >> 31 else 0)


def stochastic_code(x: float, narrow: str, random: int) -> int:
    """By the table of all values: the lower neighbour, or the upper one where the fraction and the number carry."""
    small, bits = NARROW[narrow]
    table = np.arange(1 << (bits - 1)).astype("u1").view(small).astype(np.float64)
    table = table[np.isfinite(table)]
    magnitude = min(abs(x), table[-1])
    low = int(np.searchsorted(table, magnitude, side="right")) - 1
    code = low
    if low + 1 < len(table):
        fraction = (magnitude - table[low]) / (table[low + 1] - table[low])
        code += fraction + random / 2**32 >= 1
    return code | (1 << (bits - 1) if np.signbit(x) else 0)


RANDOM = 0x9ABCDEF1


def stochastic_numbers(line: str, narrow: str, wide: str, count: int) -> Array:
    rng = np.random.default_rng(len(line))
    limit = float(ml_dtypes.finfo(NARROW[narrow][0]).max) / 2.25
    held = rng.uniform(-limit, limit, (LANES, count)).astype(WIDE[wide])
    held[::3] = (held[::3].astype(np.float64) / 64).astype(WIDE[wide])
    return held


@pytest.fixture(scope="module")
def stochastic(sandbox: Sandbox) -> dict[str, State]:
    """What each line leaves."""
    given = []
    for line, narrow, wide, count, _ in STOCHASTIC:
        before, held = prepared(), stochastic_numbers(line, narrow, wide, count)
        words = as_words(np.ascontiguousarray(held).view(np.uint8).reshape(LANES, -1))
        before.v[: len(words)] = words
        before.s[3], before.s[0] = np.uint32(126 << 23), RANDOM
        setup = f"v_mov_b32 v32, {POISON:#x}\nv_mov_b32 v40, s7\nv_mov_b32 v41, s4\n"
        given.append((setup + line, before))
    return dict(zip([line for line, *_ in STOCHASTIC], run_waves(sandbox, given, "gfx950"), strict=True))


@each_row(("line", "narrow", "wide", "count", "scaled"), STOCHASTIC, ids=lambda row: row[0])
def test_stochastic_rounding_carries_with_the_random_number(
    stochastic: dict[str, State], line: str, narrow: str, wide: str, count: int, scaled: bool
) -> None:
    after, held = stochastic[line], stochastic_numbers(line, narrow, wide, count)
    assert not after.fault, after.fault
    bits = NARROW[narrow][1]
    codes = np.zeros((LANES, count), dtype=np.uint32)
    for lane in range(LANES):
        number = RANDOM
        for n in range(count):
            codes[lane, n] = stochastic_code(float(held[lane, n]) * (2 if scaled else 1), narrow, number)
            number = next_random(number)
    expected = packed(codes, bits)
    if count < 32:
        mask = (1 << count * bits) - 1
        expected = POISON & ~np.uint32(mask) | expected
    assert np.array_equal(after.v[32 : 32 + len(expected)], expected), line


HALVES = {"v_cvt_sr_f16_f32": 13, "v_cvt_sr_bf16_f32": 16}  # bits of the mantissa that are lost
PLAIN = {
    kind: (f"v_cvt_pk_{kind}_f32", f"v_cvt_f32_{kind}", f"v_cvt_pk_f32_{kind}") for kind in ("fp8", "bf8")
}  # fmt: skip


@pytest.mark.parametrize(("name", "drop"), HALVES.items())
def test_halves_are_rounded_stochastically_into_either_half(sandbox: Sandbox, name: str, drop: int) -> None:
    before = prepared()
    before.v[0] = np.random.default_rng(3).uniform(1, 2, LANES).astype(np.float32).view(np.uint32)
    before.s[0] = 0x40000000
    setup = f"v_mov_b32 v41, s4\nv_mov_b32 v32, {POISON:#x}\nv_mov_b32 v33, {POISON:#x}\n"
    lines = f"{name} v32, v0, v41\n{name} v33, v0, v41 op_sel:[0,0,1]"
    (after,) = run_waves(sandbox, [(setup + lines, before)], "gfx950")
    rounded = before.v[0] + np.uint32(0x40000000 >> (32 - drop)) >> np.uint32(drop) << np.uint32(drop)
    code = (
        (rounded >> 16)
        if "bf16" in name
        else rounded.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
    )
    assert np.array_equal(after.u32(32), POISON & 0xFFFF0000 | code)
    assert np.array_equal(after.u32(33), POISON & 0xFFFF | code << 16)


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_eight_bits_without_a_scale_are_those_of_the_architecture(sandbox: Sandbox, kind: str, target: str) -> None:
    small: Any = FNUZ[kind] if target == "gfx942" else NARROW[kind][0]
    before = replace(prepared(), memory=bytes(8192))
    limit = float(ml_dtypes.finfo(small).max)
    numbers = np.random.default_rng(9).uniform(-limit, limit, (2, LANES)).astype(np.float32)
    numbers[:, ::4] /= 4096
    before.v[0:2] = numbers.view(np.uint32)
    narrow, wide, wide_pair = PLAIN[kind]
    lines = (
        f"v_mov_b32 v32, {POISON:#x}\n{narrow} v32, v0, v1 op_sel:[0,0,1]\nv_lshrrev_b32 v33, 16, v32\n"
        f"{wide}_e32 v34, v33\n{wide_pair}_e32 v[36:37], v33\n{wide}_sdwa v38, v33 src0_sel:BYTE_1"
    )
    (after,) = run_waves(sandbox, [(lines, before)], target)
    assert not after.fault, after.fault
    codes = numbers.astype(small)
    expected = codes[0].view("u1").astype(np.uint32) | codes[1].view("u1").astype(np.uint32) << 8
    assert np.array_equal(after.u32(32), POISON & 0xFFFF | expected << 16)
    for register, half in ((34, 0), (36, 0), (37, 1), (38, 1)):
        assert np.array_equal(after.f32(register), codes[half].astype(np.float32)), register


def test_a_nan_that_has_no_code_is_not_guessed(sandbox: Sandbox) -> None:
    before = prepared()
    before.v[0] = np.float32(np.nan).view(np.uint32)
    line = "v_mov_b32 v40, 1.0\nv_cvt_scalef32_pk_fp4_f32 v32, v0, v0, v40"
    (after,) = run_waves(sandbox, [(line, before)], "gfx950")
    assert after.fault.startswith("not_emulated: v_cvt_scalef32_pk_fp4_f32")


def test_the_pseudo_random_number_steps_a_shift_register(sandbox: Sandbox) -> None:
    (after,) = run_waves(sandbox, [("v_prng_b32_e32 v20, v10", prepared())], "gfx950")
    assert [int(x) for x in after.u32(20)] == [next_random(int(x)) for x in prepared().u32(10)]
