"""What lies in a buffer and what beyond it: the range checks of CDNA, and those that RDNA's descriptors choose from."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from rdna_names import renamed
from values import prepared
from waves import ALL, MEMORY_BYTES, State, is_rdna, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Array = np.ndarray
LANE = np.arange(64)
BYTES = bytes((37 * n + n // 256) % 256 for n in range(MEMORY_BYTES))
WORDS = np.frombuffer(BYTES, dtype="<u4").astype(np.uint64)
CDNA, RDNA3, RDNA4 = ("gfx90a", "gfx942", "gfx950"), ("gfx1100",), ("gfx1201",)

TWELVE = "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\nv_mul_u32_u24 v22, 12, v22\n"  # 12 * lane
ONE = TWELVE.replace("v_mul_u32_u24 v22, 12, v22\n", "")
RDNA_RAW = 3 << 28


def descriptor(records: int, *, stride: int = 0, last: int = 0x27000) -> str:
    """s[12:15]: memory from its first byte on. Word 3 is gfx9's unless RDNA's way to check is set in it."""
    high = f"s_and_b32 s13, s13, 0xffff\ns_or_b32 s13, s13, {stride << 16:#x}\n"
    return f"s_mov_b64 s[12:13], s[20:21]\n{high}s_movk_i32 s14, {records}\ns_mov_b32 s15, {last:#x}\n"


def load(setup: str, instruction: str, words: int = 1) -> str:
    keep = "".join(f"v_mov_b32 v{24 + n}, v10\n" for n in range(words))
    return f"{setup}{keep}{instruction}\ns_waitcnt 0\nv_mov_b32 v20, v{23 + words}"


@dataclass(frozen=True)
class Case:
    name: str
    targets: tuple[str, ...]
    line: str
    expected: Array  # v20 of each lane


def read(at: Array, inside: Array) -> Array:
    return np.where(inside, WORDS[np.where(inside, at, 0) // 4], 0).astype(np.uint32)


def dword(n: int, records: int) -> Array:
    """The n-th of four dwords at 12 * lane."""
    at = 12 * LANE + 4 * n
    return read(at, at + 4 <= records)


FOUR = "buffer_load_dwordx4 v[24:27], v22, s[12:15], 0 offen"
SCALAR = f"s_movk_i32 s16, 100\n{'buffer_load_dword v24, v22, s[12:15], s16 offen'}"
INDEXED = "buffer_load_dword v24, v22, s[12:15], 0 idxen offset:4"
CASES = [
    *(
        Case(f"dword {n} of a load that a buffer's end cuts", (*CDNA, *RDNA3, *RDNA4),
             load(TWELVE + descriptor(400, last=0x27000 | RDNA_RAW), f"{FOUR}\ns_waitcnt 0\nv_mov_b32 v27, v{24 + n}", 4),
             dword(n, 400))
        for n in range(4)
    ),
    Case("a load whose first dword takes the place of its address", CDNA,
         load(TWELVE + descriptor(400), "buffer_load_dwordx4 v[22:25], v22, s[12:15], 0 offen\ns_waitcnt 0\nv_mov_b32 v24, v23"),
         dword(1, 400)),
    Case("a scalar offset makes a raw buffer smaller", (*CDNA, *RDNA3, *RDNA4),
         load(TWELVE + descriptor(400, last=0x27000 | RDNA_RAW), SCALAR), read(12 * LANE + 100, 12 * LANE + 104 <= 400)),
    Case("records alone are counted", CDNA, load(ONE + descriptor(40, stride=8, last=0x27004), INDEXED), read(8 * LANE + 4, LANE < 40)),
    Case("the stride of a swizzled cache leaves offsets as they are", CDNA, load(TWELVE + descriptor(400, stride=0x4000 | 256),
         "buffer_load_dword v24, v22, s[12:15], 0 offen"), read(12 * LANE, 12 * LANE + 4 <= 400)),
    Case("so does a swizzled buffer that is read without an index", CDNA, load(TWELVE + descriptor(400, stride=0xc000 | 256),
         "buffer_load_dword v24, v22, s[12:15], 0 offen"), read(12 * LANE, 12 * LANE + 4 <= 400)),
    Case("records are counted", (*RDNA3, *RDNA4), load(ONE + descriptor(40, stride=8, last=0x10027000), INDEXED),
         read(8 * LANE + 4, LANE < 40)),
    Case("what ends with its record lies within it", (*RDNA3, *RDNA4),
         load(ONE + descriptor(40, stride=8, last=0x27004), INDEXED), read(8 * LANE + 4, LANE < 40)),
    Case("what leaves its record lies beyond the buffer", (*RDNA3, *RDNA4),
         load(ONE + descriptor(40, stride=8, last=0x27004), INDEXED.replace("offset:4", "offset:8")), np.zeros(64, np.uint32)),
    Case("RDNA4 multiplies the stride", RDNA4, load(ONE + descriptor(40, stride=8, last=0x10027000 | 1 << 18), INDEXED),
         read(32 * LANE + 4, LANE < 40)),
    Case("nothing is checked", (*RDNA3, *RDNA4), load(TWELVE + descriptor(4, last=0x20027000),
         "buffer_load_dword v24, v22, s[12:15], 0 offen"), read(12 * LANE, LANE >= 0)),
    Case("an empty buffer has nothing", (*RDNA3, *RDNA4), load(TWELVE + descriptor(0, last=0x20027000),
         "buffer_load_dword v24, v22, s[12:15], 0 offen"), np.zeros(64, np.uint32)),
]  # fmt: skip
STORE = f"{TWELVE}{descriptor(400, last=0x27000 | RDNA_RAW)}buffer_store_dwordx3 v[10:12], v22, s[12:15], 0 offen\ns_waitcnt 0"


def run(sandbox: Sandbox, target: str, lines: list[str]) -> list[State]:
    given = [
        (renamed(line, target) if is_rdna(target) else line, replace(prepared(exec_mask=ALL), memory=BYTES))
        for line in lines
    ]
    return run_waves(sandbox, given, target)


@pytest.mark.parametrize("target", [*CDNA, *RDNA3, *RDNA4])
def test_a_load_brings_zero_for_what_the_range_check_refuses(sandbox: Sandbox, target: str) -> None:
    cases = [case for case in CASES if target in case.targets]
    for case, after in zip(cases, run(sandbox, target, [case.line for case in cases]), strict=True):
        assert not after.fault, f"{case.name}: {after.fault}"
        bad = np.flatnonzero(after.u32(20) != case.expected)
        assert not bad.size, f"{case.name}: lanes {bad[:4]} hold {after.u32(20)[bad[:4]]}, not {case.expected[bad[:4]]}"


@pytest.mark.parametrize("target", [*CDNA, *RDNA3, *RDNA4])
def test_a_store_that_a_buffers_end_cuts_writes_what_is_before_it(sandbox: Sandbox, target: str) -> None:
    (after,) = run(sandbox, target, [STORE])
    before = prepared(exec_mask=ALL)
    expected = np.frombuffer(BYTES, dtype="<u4").copy()
    for lane in LANE:
        for n in range(3):
            if 12 * lane + 4 * n + 4 <= 400:
                expected[3 * lane + n] = before.v[10 + n][lane]
    assert not after.fault, after.fault
    assert after.memory == expected.tobytes()
