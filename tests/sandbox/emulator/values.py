"""Registers full of values that matter, and comparisons that treat NaN as a number format does."""

import numpy as np
from numpy.typing import NDArray
from waves import ALL, LANES, SOME, V_IN, State

POISON = 0xDEADBEEF

_F32 = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, 1e-40, -1e-45, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 65504.0]
_F64 = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, 1e-310, -5e-324, 1.7e308, -1.7e308, np.inf, -np.inf, np.nan, 4.2e9]
_F16 = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, 6e-8, -3e-5, 65504.0, -65504.0, np.inf, -np.inf, np.nan, 300.0]
_U32 = [0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFF, 0xFFFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFF, 0x12345678]
_U64 = [0, 1, 63, 64, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 32, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0x0123456789ABCDEF, 5]


def _fill(
    rng: np.random.Generator, special: list[float], random: NDArray[np.floating], dtype: type
) -> NDArray[np.generic]:
    """Special values in the first half of the lanes, in random order; the given ones in the other half."""
    out: NDArray[np.generic] = random.astype(dtype)
    with np.errstate(over="ignore"):
        out[: LANES // 2] = rng.permutation(np.array(special * 2, dtype=dtype))
    return out


def prepared(*, exec_mask: int = ALL, scc: int = 0, vcc: int = 0xF0F0_1234_5678_9ABC, seed: int = 0) -> State:
    """The registers that the tests count on.

    v0, v1, v2: f32. v[4:5], v[6:7], v[8:9]: f64. v10, v11, v12: u32. v13, v14, v15: pairs of f16.
    v[16:17], v[18:19]: u64. v20 and v[21:31]: poison, as are v32 and the following after the line.
    s4, s5: u32. s6, s[8:9]: small; s7: f32 2.5. The rest counts up.
    """
    rng = np.random.default_rng(seed)
    v = np.full((V_IN, LANES), POISON, dtype=np.uint32)

    def wide(register: int, values: NDArray[np.generic]) -> None:
        pairs = values.view(np.uint32).reshape(LANES, 2)
        v[register], v[register + 1] = pairs[:, 0], pairs[:, 1]

    for register in (0, 1, 2):
        v[register] = _fill(rng, _F32, rng.normal(0, 10, LANES), np.float32).view(np.uint32)
    for register in (4, 6, 8):
        wide(register, _fill(rng, _F64, rng.normal(0, 10, LANES), np.float64))
    for register in (10, 11, 12):
        v[register] = rng.integers(0, 1 << 32, LANES, dtype=np.uint32)
        v[register][: len(_U32)] = rng.permutation(np.array(_U32, dtype=np.uint32))
        v[register][16:32] = rng.permutation(np.array(_U32, dtype=np.uint32))
    for register in (13, 14, 15):
        low = _fill(rng, _F16, rng.normal(0, 10, LANES), np.float16).view(np.uint16).astype(np.uint32)
        high = rng.permutation(_fill(rng, _F16, rng.normal(0, 10, LANES), np.float16)).view(np.uint16).astype(np.uint32)
        v[register] = low | high << 16
    for register in (16, 18):
        values = rng.integers(0, 1 << 64, LANES, dtype=np.uint64)
        values[: len(_U64)] = rng.permutation(np.array(_U64, dtype=np.uint64))
        values[12:24] = rng.permutation(np.array(_U64, dtype=np.uint64))
        wide(register, values)
    s = np.arange(100, 116, dtype=np.uint32)
    s[0], s[1], s[2], s[4], s[5] = 0x80000001, 0x0000FFFF, 5, 7, 0
    s[3] = np.float32(2.5).view(np.uint32)
    return State(v=v, s=s, exec=exec_mask, scc=scc, vcc=vcc)


def both_masks() -> list[State]:
    """With all lanes active, and with some: two paths through the interpreter."""
    return [prepared(), prepared(exec_mask=SOME, seed=1)]


def same(got: NDArray[np.generic], expected: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Equal bit for bit, but any NaN for a NaN."""
    expected = expected.astype(got.dtype)
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    equal = got.view(unsigned) == expected.view(unsigned)
    if got.dtype.kind == "f":
        equal |= np.isnan(got) & np.isnan(expected)
    return equal


def close(got: NDArray[np.generic], expected: NDArray[np.float64], ulp: float) -> NDArray[np.bool_]:
    """Within `ulp` units in the last place of the format, or the same infinity or NaN."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(got.dtype)
        distance = np.abs(got.astype(np.float64) - expected)
        return same(got, rounded) | (distance <= ulp * np.abs(np.spacing(rounded).astype(np.float64)))
