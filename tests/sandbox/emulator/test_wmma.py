"""RDNA's matrix instructions against plain matrix products of small whole numbers, so that every sum is exact.

Where elements live, in chunks of sixteen lanes. RDNA3 (AMD's matrix instruction calculator): row i of A in lane i of every
chunk; D[i][j] in register i // chunks, lane j + 16 * (i % chunks). RDNA4 (RDNA4 ISA, "Matrix element storage in VGPRs"): the
columns of A parted among the chunks; D[i][j] in register i % 8, lane j + 16 * (i // 8), or in waves of 64 lanes in register
i % 4, lane j + 16 * (i // 8) + 32 * (i // 4 % 2). B as A, with columns for rows. Sparse: RDNA4 ISA, "Structured sparse
matrices". In waves of 32 each wave of the frame multiplies matrices of its own.
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
    target: str
    name: str
    a: str
    b: str
    d: str = "f32"
    k: int = 16
    modifiers: str = ""
    signed: bool = True

    @property
    def rdna3(self) -> bool:
        return self.target.startswith("gfx11")

    @property
    def lanes(self) -> int:
        return 64 if self.target.endswith("/64") else 32

    @property
    def half(self) -> bool:
        return self.d in ("f16", "bf16")

    def chunks(self, columns: int) -> int:
        """Parts of A's columns: 4-bit matrices of 16 columns fill 32 lanes only."""
        return 2 if self.a == "i4" and columns == 16 else self.lanes // 16

    @property
    def result_words(self) -> int:
        """Registers of C and D."""
        return 256 // self.lanes // (2 if self.half and not self.rdna3 else 1)


TARGETS = ("gfx1100", "gfx1201", "gfx1100/64", "gfx1201/64")
RDNA4 = ("gfx1201", "gfx1201/64")


def shapes_of(target: str) -> list[Shape]:
    rows = [
        ("f32_16x16x16_f16", "f16", "f32", 16, "", True), ("f32_16x16x16_bf16", "bf16", "f32", 16, "", True),
        ("f16_16x16x16_f16", "f16", "f16", 16, "", True), ("bf16_16x16x16_bf16", "bf16", "bf16", 16, "", True),
        ("i32_16x16x16_iu8", "i8", "i32", 16, "neg_lo:[1,1,0]", True), ("i32_16x16x16_iu8", "i8", "i32", 16, "", False),
        ("i32_16x16x16_iu4", "i4", "i32", 16, "neg_lo:[1,1,0]", True), ("i32_16x16x16_iu4", "i4", "i32", 16, "", False),
    ]  # fmt: skip
    if target.startswith("gfx11"):
        rows.append(("f16_16x16x16_f16", "f16", "f16", 16, "op_sel:[0,0,1]", True))
    else:
        rows.append(("i32_16x16x32_iu4", "i4", "i32", 32, "neg_lo:[1,1,0]", True))
    shapes = [Shape(target, name, kind, kind, d, k, text, signed) for name, kind, d, k, text, signed in rows]
    small = [(a, b) for a in ("fp8", "bf8") for b in ("fp8", "bf8") if target in RDNA4]
    return shapes + [Shape(target, f"f32_16x16x16_{a}_{b}", a, b) for a, b in small]


SHAPES = {target: shapes_of(target) for target in TARGETS}
SPARSE = {
    target: [
        Shape(target, "f32_16x16x32_f16", "f16", "f16", k=32), Shape(target, "f32_16x16x32_bf16", "bf16", "bf16", k=32),
        Shape(target, "f16_16x16x32_f16", "f16", "f16", "f16", k=32), Shape(target, "bf16_16x16x32_bf16", "bf16", "bf16", "bf16", k=32),
        Shape(target, "i32_16x16x32_iu8", "i8", "i8", "i32", 32, "neg_lo:[1,1,0]"),
        Shape(target, "i32_16x16x32_iu4", "i4", "i4", "i32", 32, "neg_lo:[1,1,0]"),
        Shape(target, "i32_16x16x64_iu4", "i4", "i4", "i32", 64, "neg_lo:[1,1,0]"),
        *(Shape(target, f"f32_16x16x32_{a}_{b}", a, b, k=32) for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
    ]
    for target in RDNA4
}  # fmt: skip
MNEMONICS = [
    *(f"v_wmma_{shape.name}" for shapes in SHAPES.values() for shape in shapes),
    *(f"v_swmmac_{shape.name}" for shapes in SPARSE.values() for shape in shapes),
]


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


def dense_lanes(shape: Shape, matrices: Array) -> Array:
    """A matrix a wave, of 16 rows (of A; columns of B) and k columns, to 64 lanes."""
    k = matrices.shape[2]
    if shape.rdna3:
        return np.array([matrices[lane // shape.lanes, lane % 16] for lane in range(64)])
    chunks = shape.chunks(k)
    out = np.zeros((64, k // chunks), dtype=int)
    for lane in range(64):
        chunk = lane % shape.lanes // 16
        if chunk < chunks:
            out[lane] = matrices[lane // shape.lanes, lane % 16, chunk * len(out[0]) :][: len(out[0])]
    return out


def beside_sparse_lanes(shape: Shape, matrices: Array) -> Array:
    """Columns of B, each of k rows, where A is sparse: 4-bit ones of 32 rows are in the order of {row[3], row[4]}."""
    chunks = shape.lanes // 16
    per = shape.k // chunks
    out = np.zeros((64, per), dtype=int)
    swapped = shape.a == "i4" and shape.k == 32 and shape.lanes == 64
    for lane in range(64):
        chunk = lane % shape.lanes // 16
        first = (8 * (chunk // 2) + 16 * (chunk % 2)) if swapped else chunk * per
        out[lane] = matrices[lane // shape.lanes, lane % 16, first : first + per]
    return out


def cell(shape: Shape, i: int, j: int) -> tuple[int, int]:
    chunks = shape.lanes // 16
    if shape.rdna3:
        return i // chunks, j + 16 * (i % chunks)
    return (i % 8, j + 16 * (i // 8)) if chunks == 2 else (i % 4, j + 16 * (i // 8) + 32 * (i // 4 % 2))


def result_registers(shape: Shape, values: Array, rest: Array) -> Array:
    """C or D, (waves, 16, 16), as registers; `rest` holds the other half of results of 16 bits."""
    out = rest.copy()
    for wave, i, j in np.ndindex(values.shape):
        register, lane = cell(shape, i, j)
        lane += shape.lanes * wave
        one = np.array(values[wave, i, j])
        if not shape.half:
            out[register, lane] = one.astype("<f4" if shape.d == "f32" else "<i4").view("<u4")
            continue
        bits = int(one.astype("<f2").view("<u2")) if shape.d == "f16" else int(one.astype("<f4").view("<u4")) >> 16
        upper = "op_sel" in shape.modifiers
        if not shape.rdna3:
            register, upper = register // 2, register % 2 == 1
        kept = 0xFFFF if upper else 0xFFFF0000
        out[register, lane] = out[register, lane] & kept | bits << (16 if upper else 0)
    return out


def span(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def numbers(rng: np.random.Generator, shape: Shape, columns: int) -> Array:
    """Whole numbers for a matrix a wave of 16 rows."""
    low, high = (-3, 4) if shape.signed else (0, 12)
    return rng.integers(low, high, (64 // shape.lanes, 16, columns))


def case(shape: Shape, seed: int) -> tuple[str, State, Array]:
    """The line, the state before, and v20 and up afterwards: A from v0, B from v8, C and D from v20."""
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, shape, shape.k), numbers(rng, shape, shape.k)
    c = rng.integers(-50, 50, (len(a), 16, 16))
    before = prepared()
    left, right = packed(dense_lanes(shape, a), shape.a), packed(dense_lanes(shape, b), shape.b)
    count = shape.result_words
    before.v[: len(left)], before.v[8 : 8 + len(right)] = left, right
    before.v[20 : 20 + count] = result_registers(shape, c, before.v[20 : 20 + count])
    product = np.stack([x @ y.T for x, y in zip(a, b, strict=True)]) + c
    result = span(20, count)
    line = f"v_wmma_{shape.name} {result}, {span(0, len(left))}, {span(8, len(right))}, {result} {shape.modifiers}"
    return line, before, result_registers(shape, product, before.v[20 : 20 + count])


def sparse_case(shape: Shape, seed: int, key: int) -> tuple[str, State, Array]:
    """As `case`, with the indices in v31. A group of four columns of A keeps two, in rising order."""
    rng = np.random.default_rng(seed)
    kept, b = numbers(rng, shape, shape.k // 2), numbers(rng, shape, shape.k)
    c = rng.integers(-50, 50, (len(b), 16, 16))
    choices = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    indices = choices[rng.integers(0, 6, (len(b), 16, shape.k // 4))].reshape(kept.shape)
    a = np.zeros((len(b), 16, shape.k), dtype=int)
    for wave, row, n in np.ndindex(kept.shape):
        a[wave, row, n // 2 * 4 + indices[wave, row, n]] = kept[wave, row, n]
    before = prepared()
    left, right = packed(dense_lanes(shape, kept), shape.a), packed(beside_sparse_lanes(shape, b), shape.b)
    in_lanes = dense_lanes(shape, indices)
    bits = 2 * in_lanes.shape[1]
    packed_indices = (in_lanes << 2 * np.arange(in_lanes.shape[1])).sum(axis=1)
    noise = rng.integers(0, 1 << 32, 64)
    field = ((1 << bits) - 1) << bits * key
    before.v[31] = noise & ~field | packed_indices << bits * key
    before.v[: len(left)], before.v[8 : 8 + len(right)] = left, right
    count = shape.result_words
    before.v[20 : 20 + count] = result_registers(shape, c, before.v[20 : 20 + count])
    product = np.stack([x @ y.T for x, y in zip(a, b, strict=True)]) + c
    text = f"index_key:{key} {shape.modifiers}" if key else shape.modifiers
    line = f"v_swmmac_{shape.name} {span(20, count)}, {span(0, len(left))}, {span(8, len(right))}, v31 {text}"
    return line, before, result_registers(shape, product, before.v[20 : 20 + count])


def check(sandbox: Sandbox, cases: list[tuple[str, State, Array]], target: str) -> None:
    results = run_waves(sandbox, [(line, before) for line, before, _ in cases], target)
    for (line, _, expected), after in zip(cases, results, strict=True):
        assert not after.fault, after.fault
        wrong = np.argwhere(after.v[20 : 20 + len(expected)] != expected)
        assert not len(wrong), f"{line}: {len(wrong)} cells, register and lane first {wrong[:4].tolist()}"


@pytest.mark.parametrize("target", TARGETS)
def test_a_matrix_instruction_is_a_product_of_matrices(sandbox: Sandbox, target: str) -> None:
    check(sandbox, [case(shape, seed) for seed, shape in enumerate(SHAPES[target])], target)


@pytest.mark.parametrize("target", RDNA4)
def test_a_sparse_product_takes_two_of_four_as_the_indices_say(sandbox: Sandbox, target: str) -> None:
    def keys(shape: Shape) -> range:
        return range(32 // (2 * (shape.k // 2 // shape.chunks(shape.k // 2))))

    check(sandbox, [sparse_case(shape, 9, key) for shape in SPARSE[target] for key in keys(shape)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_signs_of_halves_and_of_the_addend_can_be_changed(sandbox: Sandbox, target: str) -> None:
    """neg_lo and neg_hi flip even and odd columns of A and B; of C they flip and remove the sign."""
    shape = SHAPES[target][0]
    line, before, _ = case(shape, 5)
    rng = np.random.default_rng(5)
    a, b = numbers(rng, shape, shape.k), numbers(rng, shape, shape.k)
    c = rng.integers(-50, 50, (len(a), 16, 16))
    a[..., ::2] *= -1
    b[..., 1::2] *= -1
    product = np.stack([x @ y.T for x, y in zip(a, b, strict=True)]) - abs(c)
    expected = result_registers(shape, product, before.v[20 : 20 + shape.result_words])
    check(sandbox, [(f"{line} neg_lo:[1,0,1] neg_hi:[0,1,1]", before, expected)], target)


def test_copies_that_differ_are_refused_on_rdna3(sandbox: Sandbox) -> None:
    line, before, _ = case(SHAPES["gfx1100"][0], 3)
    before.v[0][17] ^= 1
    (after,) = run_waves(sandbox, [(line, before)], "gfx1100")
    assert after.fault.startswith("not_emulated: v_wmma_f32_16x16x16_f16"), after.fault
