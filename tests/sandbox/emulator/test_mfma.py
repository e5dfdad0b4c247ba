"""Matrix instructions against plain matrix products, with small whole numbers so that every sum is exact.

Where elements live: AMD's matrix instruction calculator. A[i][k] of block b is in lane i + M * (b + blocks * (k // per)),
element k % per; B[k][j] alike with j for i. D of 32 rows: register 4 * (i // 8) + i % 4, lane j + 32 * (i // 4 % 2); of 16
rows: register i % 4, lane j + 16 * (i // 4); of 4 rows: register i, lane j + 4 * b.
"""

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest
from values import prepared
from waves import SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
LANES = 64


@dataclass(frozen=True)
class Shape:
    name: str
    m: int
    k: int
    blocks: int
    a: str
    b: str
    sparse: bool = False
    modifiers: str = ""
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0
    target: str = "gfx942"

    @property
    def per(self) -> int:
        """Elements of B (of A, when it is dense) in a lane."""
        return self.m * self.k * self.blocks // LANES

    @property
    def result(self) -> int:
        return self.m * self.m * self.blocks // LANES


def dense(name: str, m: int, k: int, blocks: int, a: str, b: str = "") -> Shape:
    return Shape(name, m, k, blocks, a, b or a)


SHAPES = [
    dense("f32_32x32x1_2b_f32", 32, 1, 2, "f32"), dense("f32_16x16x1_4b_f32", 16, 1, 4, "f32"),
    dense("f32_4x4x1_16b_f32", 4, 1, 16, "f32"), dense("f32_32x32x2_f32", 32, 2, 1, "f32"),
    dense("f32_16x16x4_f32", 16, 4, 1, "f32"), dense("f32_32x32x4_2b_f16", 32, 4, 2, "f16"),
    dense("f32_16x16x4_4b_f16", 16, 4, 4, "f16"), dense("f32_4x4x4_16b_f16", 4, 4, 16, "f16"),
    dense("f32_32x32x8_f16", 32, 8, 1, "f16"), dense("f32_16x16x16_f16", 16, 16, 1, "f16"),
    dense("f32_32x32x4_2b_bf16", 32, 4, 2, "bf16"), dense("f32_16x16x4_4b_bf16", 16, 4, 4, "bf16"),
    dense("f32_4x4x4_16b_bf16", 4, 4, 16, "bf16"), dense("f32_32x32x8_bf16", 32, 8, 1, "bf16"),
    dense("f32_16x16x16_bf16", 16, 16, 1, "bf16"), dense("f32_32x32x4_xf32", 32, 4, 1, "f32"),
    dense("f32_16x16x8_xf32", 16, 8, 1, "f32"), dense("f32_32x32x16_fp8_fp8", 32, 16, 1, "fp8"),
    dense("f32_32x32x16_bf8_fp8", 32, 16, 1, "bf8", "fp8"), dense("f32_16x16x32_fp8_bf8", 16, 32, 1, "fp8", "bf8"),
    dense("f32_16x16x32_bf8_bf8", 16, 32, 1, "bf8"), dense("i32_32x32x4_2b_i8", 32, 4, 2, "i8"),
    dense("i32_16x16x4_4b_i8", 16, 4, 4, "i8"), dense("i32_4x4x4_16b_i8", 4, 4, 16, "i8"),
    dense("i32_32x32x16_i8", 32, 16, 1, "i8"), dense("i32_16x16x32_i8", 16, 32, 1, "i8"),
    dense("f64_16x16x4_f64", 16, 4, 1, "f64"), dense("f64_4x4x4_4b_f64", 4, 4, 4, "f64"),
    replace(dense("f32_4x4x4_16b_f16", 4, 4, 16, "f16"), modifiers="cbsz:2 abid:3", cbsz=2, abid=3),
    replace(dense("f32_16x16x4_4b_f16", 16, 4, 4, "f16"), modifiers="cbsz:2 abid:1 blgp:3", cbsz=2, abid=1, blgp=3),
    replace(dense("f32_32x32x4_2b_bf16", 32, 4, 2, "bf16"), modifiers="blgp:2", blgp=2),
    replace(dense("f32_16x16x4_f32", 16, 4, 1, "f32"), modifiers="blgp:5", blgp=5),
    Shape("f32_16x16x32_f16", 16, 32, 1, "f16", "f16", sparse=True),
    Shape("f32_32x32x16_bf16", 32, 16, 1, "bf16", "bf16", sparse=True),
    Shape("i32_16x16x64_i8", 16, 64, 1, "i8", "i8", sparse=True),
    Shape("f32_32x32x32_fp8_bf8", 32, 32, 1, "fp8", "bf8", sparse=True),
    Shape("f32_16x16x32_f16", 16, 32, 1, "f16", "f16", sparse=True, modifiers="abid:2", abid=2),
]  # fmt: skip


def of(target: str, *shapes: Shape) -> list[Shape]:
    return [replace(shape, target=target) for shape in shapes]


def eights(name: str, m: int, k: int, *, sparse: bool = False) -> list[Shape]:
    """All pairs of the two 8-bit floats."""
    return [Shape(f"{name}_{a}_{b}", m, k, 1, a, b, sparse) for a in ("fp8", "bf8") for b in ("fp8", "bf8")]


def sparse(name: str, m: int, k: int, kind: str) -> Shape:
    return Shape(name, m, k, 1, kind, kind, sparse=True)


SHAPES += [
    *eights("f32_32x32x16", 32, 16), *eights("f32_16x16x32", 16, 32), *eights("f32_16x16x64", 16, 64, sparse=True),
    *eights("f32_32x32x32", 32, 32, sparse=True), sparse("f32_32x32x16_f16", 32, 16, "f16"),
    sparse("f32_16x16x32_bf16", 16, 32, "bf16"), sparse("i32_32x32x32_i8", 32, 32, "i8"),
    *of(
        "gfx950",
        dense("f32_32x32x16_f16", 32, 16, 1, "f16"), dense("f32_16x16x32_f16", 16, 32, 1, "f16"),
        dense("f32_32x32x16_bf16", 32, 16, 1, "bf16"), dense("f32_16x16x32_bf16", 16, 32, 1, "bf16"),
        dense("i32_32x32x32_i8", 32, 32, 1, "i8"), dense("i32_16x16x64_i8", 16, 64, 1, "i8"),
        *eights("f32_32x32x16", 32, 16), *eights("f32_16x16x32", 16, 32),
        sparse("f32_16x16x64_f16", 16, 64, "f16"), sparse("f32_32x32x32_f16", 32, 32, "f16"),
        sparse("f32_16x16x64_bf16", 16, 64, "bf16"), sparse("f32_32x32x32_bf16", 32, 32, "bf16"),
        sparse("i32_16x16x128_i8", 16, 128, "i8"), sparse("i32_32x32x64_i8", 32, 64, "i8"),
        *eights("f32_16x16x128", 16, 128, sparse=True), *eights("f32_32x32x64", 32, 64, sparse=True),
        replace(sparse("f32_16x16x64_f16", 16, 64, "f16"), modifiers="abid:1", abid=1),
    ),
    *of(
        "gfx90a",
        dense("f32_32x32x1f32", 32, 1, 2, "f32"), dense("f32_16x16x1f32", 16, 1, 4, "f32"),
        dense("f32_4x4x1f32", 4, 1, 16, "f32"), dense("f32_32x32x2f32", 32, 2, 1, "f32"),
        dense("f32_16x16x4f32", 16, 4, 1, "f32"), dense("f32_32x32x4f16", 32, 4, 2, "f16"),
        dense("f32_16x16x4f16", 16, 4, 4, "f16"), dense("f32_4x4x4f16", 4, 4, 16, "f16"),
        dense("f32_32x32x8f16", 32, 8, 1, "f16"), dense("f32_16x16x16f16", 16, 16, 1, "f16"),
        dense("f32_32x32x2bf16", 32, 2, 2, "bf16"), dense("f32_16x16x2bf16", 16, 2, 4, "bf16"),
        dense("f32_4x4x2bf16", 4, 2, 16, "bf16"), dense("f32_32x32x4bf16", 32, 4, 1, "bf16"),
        dense("f32_16x16x8bf16", 16, 8, 1, "bf16"), dense("f32_32x32x4bf16_1k", 32, 4, 2, "bf16"),
        dense("f32_16x16x4bf16_1k", 16, 4, 4, "bf16"), dense("f32_4x4x4bf16_1k", 4, 4, 16, "bf16"),
        dense("f32_32x32x8bf16_1k", 32, 8, 1, "bf16"), dense("f32_16x16x16bf16_1k", 16, 16, 1, "bf16"),
        dense("i32_32x32x4i8", 32, 4, 2, "i8"), dense("i32_16x16x4i8", 16, 4, 4, "i8"),
        dense("i32_4x4x4i8", 4, 4, 16, "i8"), dense("i32_32x32x8i8", 32, 8, 1, "i8"),
        dense("i32_16x16x16i8", 16, 16, 1, "i8"), dense("f64_16x16x4f64", 16, 4, 1, "f64"),
        dense("f64_4x4x4f64", 4, 4, 4, "f64"),
    ),
]  # fmt: skip
TARGETS = ("gfx942", "gfx950", "gfx90a")
MNEMONICS = [f"v_{'smfmac' if shape.sparse else 'mfma'}_{shape.name}" for shape in SHAPES]

SMALL = {
    "gfx942": {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz},
    "gfx950": {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2},
}


def encoded(values: Array, kind: str, target: str) -> Array:
    """Shape (64, elements) of whole numbers to (64, words) of registers."""
    whole = values.astype(int)
    if kind == "f64":
        raw = whole.astype("<f8").view("<u4")
    elif kind == "f32":
        raw = whole.astype("<f4").view("<u4")
    elif kind == "f16":
        raw = whole.astype("<f2").view("<u4")
    elif kind == "bf16":
        raw = (whole.astype("<f4").view("<u4") >> 16).astype("<u2").view("<u4")
    elif kind == "i8":
        raw = whole.astype("<i1").view("<u4")
    else:
        raw = whole.astype(np.float32).astype(SMALL[target][kind]).view("<u4")
    return raw.reshape(LANES, -1)


def matrices(shape: Shape, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Lanes' elements of A, of B, and the values of C by block, row and column."""
    a = rng.integers(-3, 4, (LANES, shape.per // (2 if shape.sparse else 1)))
    return a, rng.integers(-3, 4, (LANES, shape.per)), rng.integers(-50, 50, (shape.blocks, shape.m, shape.m))


def input_lane(shape: Shape, row: int, block: int, k: int) -> int:
    return row + shape.m * (block + shape.blocks * (k // shape.per))


def group_lane(lane: int, blgp: int) -> int:
    """BLGP 1, 2: one half for both; 3: rotated down by 16 lanes; 4 to 7: one quarter for all."""
    if blgp in (1, 2):
        return lane % 32 + 32 * (blgp - 1)
    if blgp == 3:
        return (lane + 16) % 64
    return lane % 16 + 16 * (blgp - 4) if blgp else lane


def full_matrices(shape: Shape, a: Array, b: Array, index: Array) -> tuple[Array, Array]:
    left = np.zeros((shape.blocks, shape.m, shape.k), dtype=np.int64)
    right = np.zeros((shape.blocks, shape.k, shape.m), dtype=np.int64)
    group = 1 << (0 if shape.sparse else shape.cbsz)
    for block in range(shape.blocks):
        from_block = block // group * group + (0 if shape.sparse else shape.abid)
        for k in range(shape.k):
            for n in range(shape.m):
                if not shape.sparse:
                    left[block, n, k] = a[input_lane(shape, n, from_block, k), k % shape.per]
                right[block, k, n] = b[group_lane(input_lane(shape, n, block, k), shape.blgp), k % shape.per]
    if shape.sparse:
        spread(shape, a, index, left)
    return left, right


def spread(shape: Shape, a: Array, index: Array, left: Array) -> None:
    """Two of each four columns are held; two bits for each say which."""
    held = shape.per // 2
    for lane in range(LANES):
        bits = int(index[lane]) >> 2 * held * shape.abid
        for e in range(held):
            column = shape.per * (lane // shape.m) + 4 * (e // 2) + (bits >> 2 * e & 3)
            left[0, lane % shape.m, column] += a[lane, e]


def cell(shape: Shape, block: int, i: int, j: int) -> tuple[int, int]:
    """Register and lane of D[i][j]."""
    if shape.a == "f64":
        return (i // 4, j + 16 * (i % 4)) if shape.m == 16 else (0, j + 4 * block + 16 * i)
    if shape.m == 32:
        return 16 * block + 4 * (i // 8) + i % 4, j + 32 * (i // 4 % 2)
    return (4 * block + i % 4, j + 16 * (i // 4)) if shape.m == 16 else (i, j + 4 * block)


def index_bits(rng: np.random.Generator) -> Array:
    """For each pair of held elements two different columns, the lower first."""
    pairs = np.array([0 | 1 << 2, 0 | 2 << 2, 0 | 3 << 2, 1 | 2 << 2, 1 | 3 << 2, 2 | 3 << 2])
    return sum(pairs[rng.integers(0, 6, LANES)].astype(np.uint64) << np.uint64(4 * n) for n in range(8)).astype(
        np.uint32
    )


def result_registers(shape: Shape, values: Array) -> Array:
    """The values of D or C as registers, shape (registers, 64)."""
    kind = {"f64": "<f8", "i8": "<i4"}.get(shape.a, "<f4")
    out = np.zeros((shape.result, LANES), dtype=kind)
    for block in range(shape.blocks):
        for i in range(shape.m):
            for j in range(shape.m):
                out[cell(shape, block, i, j)] = values[block, i, j]
    if shape.a == "f64":
        return out.view("<u4").reshape(shape.result, LANES, 2).transpose(0, 2, 1).reshape(-1, LANES)
    return out.view("<u4")


def case(shape: Shape, seed: int) -> tuple[str, State, Array]:
    """The line, the state before, and the registers of D: A from v0, B from v8, index in v16, C and D in a0 and up."""
    rng = np.random.default_rng(seed)
    a, b, c = matrices(shape, rng)
    index = index_bits(rng)
    left, right = full_matrices(shape, a, b, index)
    expected = result_registers(shape, left @ right + c)
    before = prepared(exec_mask=SOME)  # matrix instructions do not look at EXEC
    for first, values, kind in ((0, a, shape.a), (8, b, shape.b)):
        words = encoded(values, kind, shape.target)
        before.v[first : first + words.shape[1]] = words.T
    before.v[16] = index
    held = result_registers(shape, c)
    before.memory = held.astype("<u4").tobytes().ljust(8192, b"\0")
    return (
        line(shape, encoded(a, shape.a, shape.target).shape[1], encoded(b, shape.b, shape.target).shape[1], len(held)),
        before,
        expected,
    )


def span(kind: str, first: int, count: int) -> str:
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


def line(shape: Shape, a_words: int, b_words: int, results: int) -> str:
    """C from memory into AccVGPRs, the product, and D into v32 and up. Everything around it runs in all lanes."""
    load = ["s_mov_b64 s[10:11], exec", "s_mov_b64 exec, -1", "s_mov_b64 s[12:13], s[20:21]"]
    for r in range(results):
        if r and r % 16 == 0:
            load += ["s_add_u32 s12, s12, 4096", "s_addc_u32 s13, s13, 0"]
        load += [f"global_load_dword v33, v255, s[12:13] offset:{r % 16 * 256}", "s_waitcnt vmcnt(0)"]
        load += [f"v_accvgpr_write_b32 a{r}, v33"]
    load += ["s_mov_b64 exec, s[10:11]", "s_nop 7"]
    d, sources = span("a", 0, results), f"{span('v', 0, a_words)}, {span('v', 8, b_words)}"
    if shape.sparse:
        product = f"v_smfmac_{shape.name} {d}, {sources}, v16 {shape.modifiers}"
    else:
        product = f"v_mfma_{shape.name} {d}, {sources}, {d} {shape.modifiers}"
    back = [f"v_accvgpr_read_b32 v{32 + r}, a{r}" for r in range(results)]
    return "\n".join([*load, product, "s_nop 15", "s_nop 15", "s_mov_b64 exec, -1", *back])


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> list[tuple[Array, State]]:
    cases = [case(shape, seed) for seed, shape in enumerate(SHAPES)]
    found: dict[int, tuple[Array, State]] = {}
    for target in TARGETS:
        mine = [n for n, shape in enumerate(SHAPES) if shape.target == target]
        after = run_waves(sandbox, [cases[n][:2] for n in mine], target)
        found |= {n: (cases[n][2], state) for n, state in zip(mine, after, strict=True)}
    return [found[n] for n in range(len(SHAPES))]


@each_row("number", range(len(SHAPES)), ids=[f"{s.target}-{s.name} {s.modifiers}" for s in SHAPES])
def test_a_matrix_instruction_is_a_product_of_matrices(results, number: int) -> None:
    expected, after = results[number]
    assert not after.fault, after.fault
    got = after.v[32 : 32 + len(expected)]
    wrong = np.argwhere(got != expected)
    assert not len(wrong), f"{SHAPES[number]}: {len(wrong)} cells, register and lane first {wrong[:4].tolist()}"


def place_by_the_calculator(shape: Shape, i: int, k: int, block: int) -> tuple[int, int]:
    """Lane and element of A[i][k]: columns fill a lane's registers before they go on to other lanes, behind all blocks."""
    held = shape.k // (LANES // (shape.m * shape.blocks))
    return block * shape.m + k // held * shape.m * shape.blocks + i, k % held


def cell_by_the_calculator(shape: Shape, block: int, i: int, j: int) -> tuple[int, int]:
    """Register and lane of D[i][j]: strips of four rows (one of f64) lie next to each other until a register is full."""
    strip = 1 if shape.a == "f64" else 4
    strips = LANES // shape.m
    beside = max(1, LANES * strip // shape.m**2)  # blocks that share a register
    register = block * (shape.m**2 // LANES) + i // (strip * strips) * strip + i % strip
    return register, block % beside * shape.m + i // strip % strips * beside * shape.m + j


DENSE = {f"{shape.target} {shape.name}": shape for shape in SHAPES if not shape.sparse}


@each_row("name", DENSE)
def test_elements_lie_where_the_calculator_of_amd_says(name: str) -> None:
    shape = DENSE[name]
    for block in range(shape.blocks):
        for i in range(shape.m):
            for k in range(shape.k):
                place = input_lane(shape, i, block, k), k % shape.per
                assert place == place_by_the_calculator(shape, i, k, block)
            for j in range(shape.m):
                assert cell(shape, block, i, j) == cell_by_the_calculator(shape, block, i, j)


def test_index_bits_lie_where_the_calculator_of_amd_says() -> None:
    shape = Shape("f32_16x16x32_f16", 16, 32, 1, "f16", "f16", sparse=True)
    index, a, left = np.zeros(LANES, dtype=np.uint32), np.zeros((LANES, 4)), np.zeros((1, 16, 32))
    a[50, 2] = 1
    index[50] = 3 << 4  # K[2][31] is in lane 50, bits 4 to 7
    spread(shape, a, index, left)
    assert np.argwhere(left[0]).tolist() == [[2, 31]]


def test_doubles_can_be_negated_on_the_way_in(sandbox: Sandbox) -> None:
    shape = dense("f64_16x16x4_f64", 16, 4, 1, "f64")
    text, before, _ = case(shape, 7)
    (plain, negated) = run_waves(sandbox, [(text, before), (text.replace(", a[0:7] ", ", a[0:7] neg:[1,0,1]"), before)])

    def values(state: State) -> Array:
        return np.concatenate([state.f64(register) for register in range(32, 40, 2)])

    assert not negated.fault, negated.fault
    assert (values(negated) == -values(plain)).all(), "-A * B - C"
    assert plain.exec != 0


def test_a_broadcast_that_the_shape_has_not_is_refused(sandbox: Sandbox) -> None:
    text, before, _ = case(dense("f32_16x16x16_f16", 16, 16, 1, "f16"), 3)
    (after,) = run_waves(sandbox, [(text.replace(", a[0:3] ", ", a[0:3] cbsz:1"), before)])
    assert after.fault.startswith("not_emulated: v_mfma_f32_16x16x16_f16"), after.fault


# ---- 8, 6 and 4 bits in any mixture, with and without scales ----

FORMATS = [
    (ml_dtypes.float8_e4m3fn, 8), (ml_dtypes.float8_e5m2, 8), (ml_dtypes.float6_e2m3fn, 6),
    (ml_dtypes.float6_e3m2fn, 6), (ml_dtypes.float4_e2m1fn, 4),
]  # fmt: skip
MIXED = [
    (m, a, b, scaled)
    for m in (16, 32)
    for a in range(5)
    for b in range(5)
    for scaled in (False, True)
    if a == b or scaled
]


def bit_packed(values: Array, code: int) -> Array:
    """Shape (64, 32) of numbers to (words, 64) of registers."""
    small, bits = FORMATS[code]
    codes = values.astype(np.float32).astype(small).view("u1")
    flags = (codes[:, :, None] >> np.arange(bits) & 1).reshape(LANES, -1).astype(np.uint8)
    return np.packbits(flags, axis=1, bitorder="little").view("<u4").T


@each_row(("m", "a", "b", "scaled"), MIXED)
def test_narrow_floats_of_any_kind_are_multiplied_and_scaled(mixed, m: int, a: int, b: int, scaled: bool) -> None:
    expected, after = mixed[m, a, b, scaled]
    assert not after.fault, after.fault
    assert np.array_equal(after.v[32 : 32 + len(expected)].view(np.float32), expected)


def rows_of(held: Array, m: int, bits: int) -> Array:
    """Shape (m, K) of what lanes hold, (64, 32): as Composable Kernel's test/mx_mfma_op loads it on the hardware.

    Lane i + m * g has row i. Below 8 bits its elements are 32 * g and on; of 8 bits the first 16 are 16 * g and on, the
    others as far into the upper half of K.
    """
    groups = LANES // m
    parts = held.reshape(groups, m, 32)
    if bits < 8:
        return np.concatenate(parts, axis=1)
    return np.concatenate([*parts[:, :, :16], *parts[:, :, 16:]], axis=1)


def mixed_case(m: int, a: int, b: int, scaled: bool) -> tuple[str, State, Array]:
    """A lane holds 32 elements of a row, and its scale is that of a block of 32 along K, which it may not hold itself."""
    rng = np.random.default_rng([m, a, b, scaled])
    blocks = LANES // m
    held = [rng.choice([-4.0, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4], (LANES, 32)) for _ in range(2)]
    bytes_ = [rng.integers(125, 130, LANES) for _ in range(2)]
    chosen = [int(rng.integers(0, 4)) for _ in range(2)]  # the byte of the scale register
    before = prepared(exec_mask=SOME)
    for first, values, code in ((0, held[0], a), (8, held[1], b)):
        words = bit_packed(values, code)
        before.v[first : first + len(words)] = words
    for register, scale, byte in ((16, bytes_[0], chosen[0]), (17, bytes_[1], chosen[1])):
        before.v[register] = (0x3C3C3C3C & ~(255 << 8 * byte) | scale << 8 * byte).astype(np.uint32)
    factors = [2.0 ** (scale - 127.0) if scaled else np.ones(LANES) for scale in bytes_]
    left, right = (
        rows_of(values, m, FORMATS[code][1]) * np.repeat(factor.reshape(blocks, m).T, 32, axis=1)
        for values, factor, code in zip(held, factors, (a, b), strict=True)
    )
    product = left @ right.T
    shape = dense("", m, 0, 1, "f32")
    counts = [FORMATS[code][1] for code in (a, b)]
    name = f"v_mfma_{'scale_' if scaled else ''}f32_{'16x16x128' if m == 16 else '32x32x64'}_f8f6f4"
    registers = m * m // LANES
    text = f"{name} {span('v', 32, registers)}, {span('v', 0, counts[0])}, {span('v', 8, counts[1])}, 0"
    if scaled:
        low, high = ([byte & 1 for byte in chosen], [byte >> 1 for byte in chosen])
        text += f", v16, v17 op_sel:[{low[0]},{low[1]},0] op_sel_hi:[{high[0]},{high[1]},0]"
    return (
        f"{text} cbsz:{a} blgp:{b}\ns_nop 15\ns_nop 15\ns_mov_b64 exec, -1",
        before,
        result_registers(shape, product[None]).view(np.float32),
    )


@pytest.fixture(scope="module")
def mixed(sandbox: Sandbox) -> dict[tuple[int, int, int, bool], tuple[Array, State]]:
    cases = [mixed_case(*one) for one in MIXED]
    after = run_waves(sandbox, [(text, before) for text, before, _ in cases], "gfx950")
    return {one: (case[2], state) for one, case, state in zip(MIXED, cases, after, strict=True)}


MIXED_MNEMONICS = (
    "v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4", "v_mfma_scale_f32_16x16x128_f8f6f4",
    "v_mfma_scale_f32_32x32x64_f8f6f4",
)  # fmt: skip


def test_all_mixed_products_are_in_the_table() -> None:
    assert {mixed_case(*one)[0].split()[0] for one in MIXED} == set(MIXED_MNEMONICS)


def test_the_matrix_cores_of_gfx90a_take_no_denormal_halves(sandbox: Sandbox) -> None:
    before = prepared()
    before.v[0:2] = 0x00010001  # the smallest f16, four times
    before.v[8:10] = 0x3C003C00
    text = "v_mfma_f32_16x16x16{}f16 v[32:35], v[0:1], v[8:9], 0\ns_nop 15"
    (flushed,) = run_waves(sandbox, [(text.format(""), before)], "gfx90a")
    (kept,) = run_waves(sandbox, [(text.format("_"), before)], "gfx942")
    assert (flushed.f32(32) == 0).all()
    assert (kept.f32(32) == np.float32(16 * 2.0**-24)).all()
