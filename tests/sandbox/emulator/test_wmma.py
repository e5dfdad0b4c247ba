"""RDNA's matrix instructions against plain matrix products of small whole numbers, so that every sum is exact.

Where elements live. RDNA3: row i of A in lane i and again in lane i + 16, D[i][j] in register i // 2, lane j + 16 * (i % 2)
(AMD's matrix instruction calculator). RDNA4: A[i][k] in lane i + 16 * (k // (K / 2)), D[i][j] in register i % 8, lane
j + 16 * (i // 8) (RDNA4 ISA). B as A, with columns for rows. Each wave of the frame multiplies matrices of its own.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from values import prepared
from waves import State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Array = np.ndarray
FP8 = {0: 0x00, 1: 0x38, 2: 0x40, 3: 0x44, -1: 0xB8, -2: 0xC0, -3: 0xC4}  # OCP E4M3
BF8 = {0: 0x00, 1: 0x3C, 2: 0x40, 3: 0x42, -1: 0xBC, -2: 0xC0, -3: 0xC2}  # OCP E5M2


@dataclass(frozen=True)
class Shape:
    arch: str
    name: str
    a: str
    b: str
    d: str = "f32"
    k: int = 16
    modifiers: str = ""
    signed: bool = True

    @property
    def per(self) -> int:
        """Elements of A in a lane."""
        return self.k if self.arch == "gfx1100" else self.k // 2


def both(name: str, a: str, d: str = "f32", modifiers: str = "", *, signed: bool = True) -> list[Shape]:
    return [Shape(arch, name, a, a, d, 16, modifiers, signed) for arch in ("gfx1100", "gfx1201")]


SHAPES = [
    *both("f32_16x16x16_f16", "f16"), *both("f32_16x16x16_bf16", "bf16"), *both("f16_16x16x16_f16", "f16", "f16"),
    *both("bf16_16x16x16_bf16", "bf16", "bf16"), *both("i32_16x16x16_iu8", "i8", "i32", "neg_lo:[1,1,0]"),
    *both("i32_16x16x16_iu8", "i8", "i32", signed=False), *both("i32_16x16x16_iu4", "i4", "i32", "neg_lo:[1,1,0]"),
    *both("i32_16x16x16_iu4", "i4", "i32", signed=False),
    Shape("gfx1100", "f16_16x16x16_f16", "f16", "f16", "f16", modifiers="op_sel:[0,0,1]"),
    Shape("gfx1201", "i32_16x16x32_iu4", "i4", "i4", "i32", 32, "neg_lo:[1,1,0]"),
    Shape("gfx1201", "f32_16x16x16_fp8_fp8", "fp8", "fp8"), Shape("gfx1201", "f32_16x16x16_fp8_bf8", "fp8", "bf8"),
    Shape("gfx1201", "f32_16x16x16_bf8_fp8", "bf8", "fp8"), Shape("gfx1201", "f32_16x16x16_bf8_bf8", "bf8", "bf8"),
]  # fmt: skip


def packed(values: Array, kind: str) -> Array:
    """Shape (64 lanes, elements) of whole numbers to (registers, 64)."""
    if kind == "f16":
        raw = values.astype("<f2").view("<u4")
    elif kind == "bf16":
        raw = (values.astype("<f4").view("<u4") >> 16).astype("<u2").view("<u4")
    elif kind == "i8":
        raw = values.astype("<i1").view("<u4")
    elif kind == "i4":
        nibbles = values.astype(int) & 15
        raw = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).astype("<u1").view("<u4")
    else:
        table = FP8 if kind == "fp8" else BF8
        raw = np.vectorize(table.__getitem__)(values.astype(int)).astype("<u1").view("<u4")
    return raw.reshape(64, -1).T


def lanes_of(shape: Shape, matrices: Array) -> Array:
    """Two matrices of 16 rows (of A; columns of B) and k columns to 64 lanes."""
    out = np.zeros((64, shape.per), dtype=int)
    for lane in range(64):
        rows = matrices[lane // 32, lane % 16]
        out[lane] = rows if shape.arch == "gfx1100" else rows[lane // 16 % 2 * shape.per :][: shape.per]
    return out


def cell(shape: Shape, i: int, j: int) -> tuple[int, int]:
    return (i // 2, j + 16 * (i % 2)) if shape.arch == "gfx1100" else (i % 8, j + 16 * (i // 8))


def result_registers(shape: Shape, values: Array, rest: Array) -> Array:
    """C or D, (2, 16, 16), as registers; `rest` holds what lies beside results of 16 bits."""
    out = rest.copy()
    half = shape.d in ("f16", "bf16")
    for wave in range(2):
        for i in range(16):
            for j in range(16):
                register, lane = cell(shape, i, j)
                lane += 32 * wave
                if not half:
                    kind = "<f4" if shape.d == "f32" else "<i4"
                    out[register, lane] = np.array(values[wave, i, j]).astype(kind).view("<u4")
                    continue
                one = np.array(values[wave, i, j])
                bits = (
                    int(one.astype("<f2").view("<u2")) if shape.d == "f16" else int(one.astype("<f4").view("<u4")) >> 16
                )
                upper = "op_sel" in shape.modifiers
                if shape.arch == "gfx1201":
                    register, upper = register // 2, register % 2 == 1
                out[register, lane] = out[register, lane] & (0xFFFF if upper else 0xFFFF0000) | bits << (
                    16 if upper else 0
                )
    return out


def case(shape: Shape, seed: int) -> tuple[str, State, Array]:
    """The line, the state before, and v20 and up afterwards: A from v0, B from v8, C and D from v20."""
    rng = np.random.default_rng(seed)
    bottom = -3 if shape.signed else 0
    top = 4 if shape.signed else 12
    a, b = rng.integers(bottom, top, (2, 16, shape.k)), rng.integers(bottom, top, (2, 16, shape.k))
    c = rng.integers(-50, 50, (2, 16, 16))
    before = prepared()
    left, right = packed(lanes_of(shape, a), shape.a), packed(lanes_of(shape, b), shape.b)
    count = 4 if shape.arch == "gfx1201" and shape.d in ("f16", "bf16") else 8
    before.v[: len(left)], before.v[8 : 8 + len(right)] = left, right
    before.v[20 : 20 + count] = result_registers(shape, c, before.v[20 : 20 + count])
    product = np.stack([a[w] @ b[w].T for w in range(2)]) + c
    spans = [f"v{f}" if n == 1 else f"v[{f}:{f + n - 1}]" for f, n in ((20, count), (0, len(left)), (8, len(right)))]
    line = f"v_wmma_{shape.name} {spans[0]}, {spans[1]}, {spans[2]}, {spans[0]} {shape.modifiers}"
    return line, before, result_registers(shape, product, before.v[20 : 20 + count])


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_a_matrix_instruction_is_a_product_of_matrices(sandbox: Sandbox, arch: str) -> None:
    shapes = [shape for shape in SHAPES if shape.arch == arch]
    cases = [case(shape, seed) for seed, shape in enumerate(shapes)]
    results = run_waves(sandbox, [(line, before) for line, before, _ in cases], arch)
    for (line, _, expected), after in zip(cases, results, strict=True):
        assert not after.fault, after.fault
        got = after.v[20 : 20 + len(expected)]
        wrong = np.argwhere(got != expected)
        assert not len(wrong), f"{line}: {len(wrong)} cells, register and lane first {wrong[:4].tolist()}"


def test_copies_that_differ_are_refused_on_rdna3(sandbox: Sandbox) -> None:
    line, before, _ = case(SHAPES[0], 3)
    before.v[0][17] ^= 1
    (after,) = run_waves(sandbox, [(line, before)], "gfx1100")
    assert after.fault.startswith("not_emulated: v_wmma_f32_16x16x16_f16"), after.fault
