"""Scalar stores and scalar atomics of CDNA: what they leave in memory and in their register, once for the wave."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from values import prepared
from waves import SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

MASK = (1 << 32) - 1
WORDS = np.random.default_rng(7).integers(0, 1 << 32, 2048, dtype=np.uint32)
WORDS[4:8] = (9, 0, 9, 0)
# s[24:27]: a buffer of 64 bytes
DESCRIPTOR = "s_mov_b64 s[24:25], s[20:21]\ns_and_b32 s25, s25, 0xffff\ns_movk_i32 s26, 0x40\ns_mov_b32 s27, 0x27000\n"
DATA = "s_mov_b32 s8, 0x80000007\ns_mov_b32 s9, 5\ns_mov_b32 s10, 11\ns_mov_b32 s11, 12\n"
S8, S9 = 0x80000007, 5
DONE = "\ns_waitcnt lgkmcnt(0)\ns_dcache_wb"


def before() -> State:
    """EXEC has some lanes: a scalar instruction does not look at it."""
    return replace(prepared(exec_mask=SOME), memory=WORDS.tobytes())


def words_after(state: State) -> list[int]:
    return [int(word) for word in np.frombuffer(state.memory, dtype="<u4")]


# The line, and the words that it changes.
STORES: dict[str, dict[int, int]] = {
    "s_store_dword s8, s[20:21], 0x10": {4: S8},
    "s_store_dwordx2 s[8:9], s[20:21], 0x24": {9: S8, 10: S9},
    "s_movk_i32 s16, 0x20\ns_store_dwordx4 s[8:11], s[20:21], s16 glc": {8: S8, 9: S9, 10: 11, 11: 12},
    "s_movk_i32 s16, 0x20\ns_store_dword s9, s[20:21], s16 offset:0x8": {10: S9},
    "s_store_dword s9, s[20:21], 0x13": {4: S9},  # the low two bits are ignored
    f"{DESCRIPTOR}s_buffer_store_dword s9, s[24:27], 0x8": {2: S9},
    f"{DESCRIPTOR}s_buffer_store_dwordx2 s[8:9], s[24:27], 0x8": {2: S8, 3: S9},
    f"{DESCRIPTOR}s_buffer_store_dwordx4 s[8:11], s[24:27], 0x38": {14: S8, 15: S9},  # two words lie behind its end
    f"{DESCRIPTOR}s_buffer_store_dword s9, s[24:27], 0x40": {},
}


@pytest.mark.parametrize(
    "target", ["gfx942", *(pytest.param(t, marks=pytest.mark.thorough) for t in ("gfx90a", "gfx950"))]
)
def test_a_scalar_store_writes_its_registers(sandbox: Sandbox, target: str) -> None:
    given = [(f"{DATA}{line}{DONE}", before()) for line in STORES]
    for (line, changed), after in zip(STORES.items(), run_waves(sandbox, given, target), strict=True):
        assert not after.fault, after.fault
        assert words_after(after) == [changed.get(n, int(word)) for n, word in enumerate(WORDS)], line


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


FOLDS: dict[str, Callable[[int, int, int], int]] = {
    "swap": lambda old, v, bits: v,
    "add": lambda old, v, bits: old + v,
    "sub": lambda old, v, bits: old - v,
    "smin": lambda old, v, bits: min(old, v, key=lambda x: signed(x, bits)),
    "umin": lambda old, v, bits: min(old, v),
    "smax": lambda old, v, bits: max(old, v, key=lambda x: signed(x, bits)),
    "umax": lambda old, v, bits: max(old, v),
    "and": lambda old, v, bits: old & v,
    "or": lambda old, v, bits: old | v,
    "xor": lambda old, v, bits: old ^ v,
    "inc": lambda old, v, bits: 0 if old >= v else old + 1,
    "dec": lambda old, v, bits: v if old == 0 or old > v else old - 1,
}
# name, bits, of a buffer, whether the old value comes back
ATOMICS = [
    (name, bits, buffer, glc)
    for name in FOLDS
    for bits in (32, 64)
    for buffer in (False, True)
    for glc in (False, True)
]
ATOMIC_LINES = [
    f"{DESCRIPTOR if buffer else ''}s_{'buffer_' if buffer else ''}atomic_{name}{'_x2' if bits == 64 else ''} "
    f"{'s[8:9]' if bits == 64 else 's8'}, {'s[24:27]' if buffer else 's[20:21]'}, 0x8{' glc' if glc else ''}"
    for name, bits, buffer, glc in ATOMICS
]


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> list[State]:
    return run_waves(sandbox, [(f"{DATA}{line}{DONE}", before()) for line in ATOMIC_LINES])


@each_row("number", range(len(ATOMICS)), ids=ATOMIC_LINES)
def test_a_scalar_atomic_leaves_the_new_value_and_returns_the_old_one(results: list[State], number: int) -> None:
    (name, bits, _, glc), after, line = ATOMICS[number], results[number], ATOMIC_LINES[number]
    old, data = (int(WORDS[2]), S8) if bits == 32 else (int(WORDS[3]) << 32 | int(WORDS[2]), S9 << 32 | S8)
    new = FOLDS[name](old, data, bits) & ((1 << bits) - 1)
    assert not after.fault, after.fault
    expected = [int(word) for word in WORDS]
    expected[2] = new & MASK
    if bits == 64:
        expected[3] = new >> 32
    assert words_after(after) == expected, line
    left = old if glc else data
    second = left >> 32 if bits == 64 else S9
    assert (int(after.s[4]), int(after.s[5])) == (left & MASK, second), line


# Memory has 9, 0, 9, 0 from 0x10 on; the new value comes first, then what it is compared with.
EXCHANGES = {
    "s_mov_b32 s9, 9\ns_atomic_cmpswap s[8:9], s[20:21], 0x10 glc": (S8, 9),
    "s_mov_b32 s9, 8\ns_atomic_cmpswap s[8:9], s[20:21], 0x10 glc": (9, 9),
    "s_mov_b64 s[10:11], 9\ns_atomic_cmpswap_x2 s[8:11], s[20:21], 0x10 glc": (S8, 9),
    f"{DESCRIPTOR}s_mov_b32 s9, 9\ns_buffer_atomic_cmpswap s[8:9], s[24:27], 0x10": (S8, S8),
    f"{DESCRIPTOR}s_mov_b64 s[10:11], 8\ns_buffer_atomic_cmpswap_x2 s[8:11], s[24:27], 0x10 glc": (9, 9),
    f"{DESCRIPTOR}s_buffer_atomic_swap s8, s[24:27], 0x40 glc": (9, 0),  # behind its end
}


def test_a_scalar_compare_and_swap_replaces_only_what_matches(sandbox: Sandbox) -> None:
    given = [(f"{DATA}{line}{DONE}", before()) for line in EXCHANGES]
    for (line, (left, back)), after in zip(EXCHANGES.items(), run_waves(sandbox, given), strict=True):
        assert not after.fault, after.fault
        assert (words_after(after)[4], int(after.s[4])) == (left, back), line


FAULTS = {
    "s_mov_b64 s[10:11], 0\ns_store_dword s8, s[10:11], 0x0": "out_of_bounds",
    "s_movk_i32 s16, 0x2000\ns_store_dwordx2 s[8:9], s[20:21], s16": "out_of_bounds",
    "s_mov_b64 s[10:11], 0\ns_atomic_add s8, s[10:11], 0x0": "out_of_bounds",
    "s_atomic_add_x2 s[8:9], s[20:21], 0x4": "misaligned",
    "s_scratch_store_dword s8, s[20:21], 0x0": "not_emulated",
}


def test_a_scalar_store_that_goes_nowhere_is_a_fault_with_its_instruction(sandbox: Sandbox) -> None:
    given = [(f"{DATA}{line}", before()) for line in FAULTS]
    for (line, kind), after in zip(FAULTS.items(), run_waves(sandbox, given), strict=True):
        assert after.fault.startswith(kind), f"{line}: {after.fault}"
        assert line.splitlines()[-1].split()[0] in after.fault, after.fault


COUNTED = {
    "s_store_dwordx2 s[8:9], s[20:21], 0x8": {
        "SQ_INSTS_SMEM": 1,
        "SQC_DCACHE_REQ": 0,
        "bytes_stored": 8,
        "bytes_loaded": 0,
    },
    "s_atomic_inc s8, s[20:21], 0x8": {"SQ_INSTS_SMEM": 1, "bytes_stored": 4, "bytes_loaded": 4, "bytes_atomic": 4},
}


def test_a_scalar_store_counts_as_bytes_stored_and_not_as_a_scalar_load(sandbox: Sandbox) -> None:
    nothing, *after = run_waves(sandbox, [(line, before()) for line in ("s_nop 0", *COUNTED)])
    for (line, adds), state in zip(COUNTED.items(), after, strict=True):
        found = {name: state.counters.get(name, 0) - nothing.counters.get(name, 0) for name in adds}
        assert found == adds, line
