"""LDS reads and writes of every width, two at a time, and the reads that transpose a matrix."""

from dataclasses import replace

import numpy as np
import pytest
from values import prepared
from waves import ALL, MEMORY_BYTES, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
MEMORY = np.random.default_rng(21).integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
LDS = MEMORY[:4096]  # what the lines find in LDS
ADDRESS = "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\nv_lshlrev_b32 v22, 4, v22\n"
# Sixteen bytes a lane, four times: 4096 bytes from memory to LDS, in all lanes.
FILL = (
    "s_mov_b64 s[10:11], exec\ns_mov_b64 exec, -1\n" + ADDRESS
    + "".join(
        f"global_load_dwordx4 v[24:27], v22, s[20:21] offset:{1024 * n}\ns_waitcnt 0\nds_write_b128 v22, v[24:27] offset:{1024 * n}\n"
        for n in range(4)
    )
    + "s_waitcnt 0\nv_mov_b32 v24, v10\nv_mov_b32 v25, v10\nv_mov_b32 v26, v10\nv_mov_b32 v27, v10\ns_mov_b64 exec, s[10:11]\n"
)  # fmt: skip
# Line, and the bytes of LDS (offset from 16 * lane, count) that fill the registers, with how.
READS = [
    ("ds_read_b32 v24, v22 offset:4", [(4, 4)], "words"), ("ds_read_b64 v[24:25], v22 offset:8", [(8, 8)], "words"),
    ("ds_read_b96 v[24:26], v22 offset:16", [(16, 12)], "words"), ("ds_read_b128 v[24:27], v22 offset:32", [(32, 16)], "words"),
    ("ds_read_u8 v24, v22 offset:1", [(1, 1)], "zero"), ("ds_read_i8 v24, v22 offset:1", [(1, 1)], "sign"),
    ("ds_read_u16 v24, v22 offset:2", [(2, 2)], "zero"), ("ds_read_i16 v24, v22 offset:2", [(2, 2)], "sign"),
    ("ds_read_u8_d16 v24, v22 offset:1", [(1, 1)], "zero low"), ("ds_read_u8_d16_hi v24, v22 offset:1", [(1, 1)], "zero high"),
    ("ds_read_i8_d16 v24, v22 offset:1", [(1, 1)], "sign low"), ("ds_read_i8_d16_hi v24, v22 offset:1", [(1, 1)], "sign high"),
    ("ds_read_u16_d16 v24, v22 offset:2", [(2, 2)], "zero low"), ("ds_read_u16_d16_hi v24, v22 offset:2", [(2, 2)], "zero high"),
    ("ds_read2_b32 v[24:25], v22 offset0:3 offset1:8", [(12, 4), (32, 4)], "words"),
    ("ds_read2_b64 v[24:27], v22 offset0:3 offset1:8", [(24, 8), (64, 8)], "words"),
    ("ds_read2st64_b32 v[24:25], v22 offset0:1 offset1:3", [(256, 4), (768, 4)], "words"),
    ("ds_read2st64_b64 v[24:27], v22 offset0:1 offset1:3", [(512, 8), (1536, 8)], "words"),
]  # fmt: skip
# Line, and the bytes that it writes: offset from 16 * lane, register, first byte in it, count.
WRITES = [
    ("ds_write_b8 v22, v16 offset:3", [(3, 16, 0, 1)]), ("ds_write_b16 v22, v16 offset:2", [(2, 16, 0, 2)]),
    ("ds_write_b8_d16_hi v22, v16 offset:3", [(3, 16, 2, 1)]), ("ds_write_b16_d16_hi v22, v16 offset:2", [(2, 16, 2, 2)]),
    ("ds_write_b32 v22, v16 offset:4", [(4, 16, 0, 4)]), ("ds_write_b64 v22, v[16:17] offset:8", [(8, 16, 0, 8)]),
    ("ds_write_b96 v22, v[16:18]", [(0, 16, 0, 12)]), ("ds_write_b128 v22, v[16:19]", [(0, 16, 0, 16)]),
    ("ds_write2_b32 v22, v16, v18 offset0:1 offset1:3", [(4, 16, 0, 4), (12, 18, 0, 4)]),
    ("ds_write2_b64 v22, v[16:17], v[18:19] offset0:0 offset1:1", [(0, 16, 0, 8), (8, 18, 0, 8)]),
    ("ds_write2st64_b32 v22, v16, v18 offset0:1 offset1:5", [(256, 16, 0, 4), (1280, 18, 0, 4)]),
    ("ds_write2st64_b64 v22, v[16:17], v[18:19] offset0:0 offset1:4", [(0, 16, 0, 8), (2048, 18, 0, 8)]),
]  # fmt: skip
# Back to memory, all of LDS, in all lanes.
DUMP = "\ns_waitcnt 0\ns_mov_b64 exec, -1\n" + "".join(
    f"ds_read_b128 v[24:27], v22 offset:{1024 * n}\ns_waitcnt 0\nglobal_store_dwordx4 v22, v[24:27], s[20:21] offset:{1024 * n}\n"
    for n in range(4)
)


def run(sandbox: Sandbox, lines: list[str], target: str = "gfx942") -> list[tuple[State, State]]:
    """Each line with all lanes active and with some, one after the other."""
    given = [
        (line, replace(prepared(exec_mask=mask), memory=MEMORY.tobytes())) for line in lines for mask in (ALL, SOME)
    ]
    return [(before, after) for (_, before), after in zip(given, run_waves(sandbox, given, target), strict=True)]


def filled(how: str, raw: Array, old: int) -> list[int]:
    if how == "words":
        return [int(x) for x in raw.view("<u4")]
    value = int.from_bytes(raw.tobytes(), "little", signed=how.startswith("sign"))
    if how.endswith("low"):
        value = old & 0xFFFF0000 | value & 0xFFFF
    elif how.endswith("high"):
        value = old & 0xFFFF | (value & 0xFFFF) << 16
    return [value & 0xFFFFFFFF]


@pytest.fixture(scope="module")
def reads(sandbox: Sandbox) -> list[tuple[State, State]]:
    return run(sandbox, [f"{FILL}{line}\ns_waitcnt 0" for line, *_ in READS])


@each_row("number", range(len(READS)), ids=[line for line, *_ in READS])
def test_a_read_fills_registers_of_active_lanes(reads, number: int) -> None:
    check_read(reads, number, keeps_half=False)


def check_read(reads, number: int, keeps_half: bool) -> None:
    """A read of 16 bits into one half clears the other where registers have ECC, as on CDNA."""
    line, spans, how = READS[number]
    for before, after in reads[2 * number : 2 * number + 2]:
        assert not after.fault, after.fault
        for lane in np.flatnonzero(before.active()):
            raw = np.concatenate([LDS[16 * lane + at :][:size] for at, size in spans])
            expected = filled(how, raw, int(before.u32(10)[lane]) * keeps_half)
            assert [int(after.v[24 + n][lane]) for n in range(len(expected))] == expected, f"{line}: lane {lane}"
        inactive = ~before.active()
        assert np.array_equal(after.v[24][inactive], before.u32(10)[inactive]), line


@pytest.fixture(scope="module")
def writes(sandbox: Sandbox) -> list[tuple[State, State]]:
    return run(sandbox, [f"{FILL}{line}{DUMP}" for line, _ in WRITES])


@each_row("number", range(len(WRITES)), ids=[line for line, _ in WRITES])
def test_a_write_changes_the_bytes_of_active_lanes(writes, number: int) -> None:
    line, spans = WRITES[number]
    for before, after in writes[2 * number : 2 * number + 2]:
        assert not after.fault, after.fault
        expected = LDS.copy()
        data = np.ascontiguousarray(before.v[16:20].T).view(np.uint8).reshape(64, 16)
        for at, register, first, size in spans:
            for lane in np.flatnonzero(before.active()):
                start = 4 * (register - 16) + first
                expected[16 * lane + at :][:size] = data[lane][start : start + size]
        assert after.memory[: len(LDS)] == expected.tobytes(), line


# Sixteen lanes read 16 columns; a lane's elements are a column. Line and bits of an element.
TRANSPOSING = {
    "ds_read_b64_tr_b16 v[24:25], v22 offset:16": 16, "ds_read_b64_tr_b8 v[24:25], v22 offset:16": 8,
    "ds_read_b64_tr_b4 v[24:25], v22 offset:16": 4, "ds_read_b96_tr_b6 v[24:26], v22 offset:16": 6,
}  # fmt: skip


@pytest.mark.parametrize("line", TRANSPOSING)
def test_sixteen_lanes_read_the_columns_of_a_matrix(sandbox: Sandbox, line: str) -> None:
    bits = TRANSPOSING[line]
    size = 12 if bits == 6 else 8
    half = 0xFFFF0000FFFF  # two groups of sixteen lanes
    given = [
        (f"{FILL}{line}\ns_waitcnt 0", replace(prepared(exec_mask=m), memory=MEMORY.tobytes())) for m in (ALL, half, 1)
    ]
    everything, some, one = run_waves(sandbox, given, "gfx950")
    assert one.fault.startswith("not_emulated"), "lanes of a group that sleep"
    for (_, before), after in zip(given[:2], (everything, some), strict=True):
        assert not after.fault, after.fault
        for group in range(4):
            if not before.active()[16 * group]:
                continue
            lanes = [LDS[16 * (16 * group + n) + 16 :][:size] for n in range(16)]
            flags = np.unpackbits(np.array(lanes), axis=1, bitorder="little")
            matrix = flags.reshape(-1, 16, bits)  # rows of 16 columns, lanes side by side
            for column in range(16):
                raw = np.packbits(matrix[:, column].reshape(-1), bitorder="little").view("<u4")
                got = [int(after.v[24 + n][16 * group + column]) for n in range(len(raw))]
                assert got == [int(x) for x in raw], f"{line}: group {group}, column {column}"
