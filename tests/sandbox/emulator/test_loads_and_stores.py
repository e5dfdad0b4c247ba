"""Every vector load and store, in every segment: global, flat, buffer and scratch."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from values import prepared
from waves import ALL, MEMORY_BYTES, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
MEMORY = np.random.default_rng(5).integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
STRIDE = 16  # bytes from lane to lane
AT = 16  # offset of what is loaded or stored
DATA, RESULT = 16, 24  # v[16:19] is stored, v[24:27] is loaded over v10

ADDRESS = "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\nv_lshlrev_b32 v22, 4, v22\n"
PAIR = "v_mov_b32 v23, s21\nv_add_co_u32 v22, vcc, s20, v22\nv_addc_co_u32 v23, vcc, 0, v23, vcc\n"
BUFFER = "s_mov_b64 s[12:13], s[20:21]\ns_and_b32 s13, s13, 0xffff\ns_movk_i32 s14, 0x2000\ns_mov_b32 s15, 0x27000\n"
KEEP = "".join(f"v_mov_b32 v{RESULT + n}, v10\n" for n in range(4))
BACK = "".join(f"scratch_load_dword v{28 + n}, off, off offset:{AT + 4 * n}\n" for n in range(4)) + "s_waitcnt 0"
SEGMENTS = {
    "global": (ADDRESS, "v22, s[20:21] offset:16"),
    "flat": (ADDRESS + PAIR, "v[22:23] offset:16"),
    "buffer": (ADDRESS + BUFFER, "v22, s[12:15], 0 offen offset:16"),
    "scratch": ("", "off, off offset:16"),
}
# Suffix, bytes, how they fill a register: whole words, zero or sign extended, the low or the high half.
LOADS = [
    ("dword", 4, "words"), ("dwordx2", 8, "words"), ("dwordx3", 12, "words"), ("dwordx4", 16, "words"),
    ("ubyte", 1, "zero"), ("sbyte", 1, "sign"), ("ushort", 2, "zero"), ("sshort", 2, "sign"),
    ("ubyte_d16", 1, "zero low"), ("ubyte_d16_hi", 1, "zero high"), ("sbyte_d16", 1, "sign low"),
    ("sbyte_d16_hi", 1, "sign high"), ("short_d16", 2, "zero low"), ("short_d16_hi", 2, "zero high"),
]  # fmt: skip
STORES = [
    ("dword", 4, 0), ("dwordx2", 8, 0), ("dwordx3", 12, 0), ("dwordx4", 16, 0), ("byte", 1, 0), ("short", 2, 0),
    ("byte_d16_hi", 1, 2), ("short_d16_hi", 2, 2),
]  # fmt: skip
TO_LDS = [("dword", 4), ("ubyte", 1), ("sbyte", 1), ("ushort", 2), ("sshort", 2)]


@dataclass(frozen=True)
class Case:
    line: str
    segment: str
    bytes: int
    how: str = "words"
    shift: int = 0  # bytes of the data register below what is stored
    target: str = "gfx942"


def registers(first: int, size: int) -> str:
    return f"v{first}" if size <= 4 else f"v[{first}:{first + size // 4 - 1}]"


def load_case(segment: str, suffix: str, size: int, how: str) -> Case:
    setup, where = SEGMENTS[segment]
    fill = f"scratch_store_dwordx4 off, v[{DATA}:{DATA + 3}], off offset:16\n" if segment == "scratch" else ""
    line = f"{KEEP}{setup}{fill}s_waitcnt 0\n{segment}_load_{suffix} {registers(RESULT, size)}, {where}\ns_waitcnt 0"
    return Case(line, segment, size, how)


def store_case(segment: str, suffix: str, size: int, shift: int) -> Case:
    setup, where = SEGMENTS[segment]
    data = registers(DATA, size)
    if segment == "scratch":
        zeros = "v_mov_b32 v28, 0\n" + "".join(
            f"scratch_store_dword off, v28, off offset:{AT + 4 * n}\n" for n in range(4)
        )
        return Case(
            f"{zeros}scratch_store_{suffix} off, {data}, off offset:16\ns_waitcnt 0\n{BACK}", segment, size, shift=shift
        )
    operands = f"{data}, {where}" if segment == "buffer" else where.replace(" offset", f", {data} offset", 1)
    if segment == "global":
        operands = f"v22, {data}, s[20:21] offset:16"
    return Case(f"{setup}{segment}_store_{suffix} {operands}\ns_waitcnt 0", segment, size, shift=shift)


def lds_case(segment: str, suffix: str, size: int, target: str = "gfx942") -> Case:
    setup, where = SEGMENTS[segment]
    stride = max(4, size) if size <= 4 else 16  # three dwords leave out a fourth
    if segment == "scratch":
        setup = f"scratch_store_dwordx4 off, v[{DATA}:{DATA + 3}], off offset:16\ns_waitcnt 0\n{ADDRESS}"
    flag = segment == "buffer" or target == "gfx90a"  # else an instruction of its own
    name = f"{segment}_load_{suffix}" if flag else f"{segment}_load_lds_{suffix}"
    line = (
        f"{setup}s_mov_b32 m0, 0\n{name} {where.replace('16', '0') if segment != 'scratch' else where}"
        f"{' lds' if flag else ''}\ns_waitcnt 0\nv_mul_u32_u24 v22, {stride}, v22\nv_lshrrev_b32 v22, 4, v22\n"
        + (f"v_add_u32 v22, {AT}, v22\n" if segment == "scratch" else "")
        + "".join(f"ds_read_b32 v{RESULT + n}, v22 offset:{4 * n}\n" for n in range(max(4, size) // 4))
        + "s_waitcnt 0"
    )
    return Case(
        line, segment, size, "sign" if suffix.startswith("s") else "zero" if size < 4 else "words", target=target
    )


LOAD_CASES = [load_case(segment, *load) for segment in SEGMENTS for load in LOADS]
STORE_CASES = [store_case(segment, *store) for segment in SEGMENTS for store in STORES]
LDS_CASES = [
    *(lds_case(segment, *one) for segment in ("global", "buffer", "scratch") for one in TO_LDS),
    *(lds_case(segment, f"dwordx{n}", 4 * n, "gfx950") for segment in ("global", "buffer") for n in (3, 4)),
    *(lds_case("global", *one, "gfx90a") for one in TO_LDS),
]
CASES = [*LOAD_CASES, *STORE_CASES, *LDS_CASES]


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> dict[str, list[tuple[State, State]]]:
    found: dict[str, list[tuple[State, State]]] = {}
    for target in ("gfx942", "gfx950", "gfx90a"):
        given = [
            (case.line, replace(prepared(exec_mask=mask), memory=MEMORY.tobytes()))
            for case in CASES
            for mask in (ALL, SOME)
            if case.target == target and not (case in LDS_CASES and mask != ALL)
        ]
        for (line, before), after in zip(given, run_waves(sandbox, given, target), strict=True):
            assert not after.fault, f"{line}: {after.fault}"
            found.setdefault(line, []).append((before, after))
    return found


def raw_data(state: State) -> Array:
    """v[16:19] of each lane as 16 bytes."""
    return np.ascontiguousarray(state.v[DATA : DATA + 4].T).view(np.uint8).reshape(64, 16)


def source_bytes(case: Case, before: State, offset: int) -> Array:
    if case.segment == "scratch":
        return raw_data(before)[:, : case.bytes]
    return np.array([MEMORY[STRIDE * lane + offset :][: case.bytes] for lane in range(64)])


def filled(how: str, raw: Array, old: Array) -> Array:
    """Registers, shape (64, words), after a load of `raw` over `old`."""
    if how == "words":
        return np.ascontiguousarray(raw).view("<u4")
    kind = ("i" if how.startswith("sign") else "u") + str(raw.shape[1])
    value = np.ascontiguousarray(raw).view(f"<{kind}").astype(np.int64)
    if how.endswith("low"):
        value = old & 0xFFFF0000 | value & 0xFFFF
    elif how.endswith("high"):
        value = old & 0xFFFF | (value & 0xFFFF) << 16
    return (value & 0xFFFFFFFF).astype(np.uint32)


@each_row("case", LOAD_CASES, ids=lambda case: case.line.splitlines()[-2].split()[0])
def test_a_load_fills_the_registers_of_active_lanes(results, case: Case) -> None:
    check_load(results, case, keeps_half=False)


def check_load(results, case: Case, keeps_half: bool) -> None:
    """A load of 16 bits into one half clears the other where registers have ECC, as on CDNA."""
    for before, after in results[case.line]:
        old = before.u32(10).astype(np.int64).reshape(64, 1) * keeps_half
        expected = filled(case.how, source_bytes(case, before, AT), old)
        got = after.v[RESULT : RESULT + expected.shape[1]].T
        active = before.active()
        assert np.array_equal(got[active], expected[active]), case.line
        assert np.array_equal(after.v[RESULT][~active], before.v[RESULT][~active]), "an inactive lane changed"


@each_row("case", STORE_CASES, ids=lambda case: f"{case.segment}-{case.bytes}-{case.shift}")
def test_a_store_writes_the_bytes_of_active_lanes(results, case: Case) -> None:
    for before, after in results[case.line]:
        data, active = raw_data(before)[:, case.shift : case.shift + case.bytes], before.active()
        if case.segment == "scratch":
            expected = np.zeros((64, 16), dtype=np.uint8)
            expected[:, : case.bytes] = data
            got = np.ascontiguousarray(after.v[28:32].T).view(np.uint8).reshape(64, 16)
            assert np.array_equal(got[active], expected[active]), case.line
            continue
        memory = MEMORY.copy()
        for lane in np.flatnonzero(active):
            memory[STRIDE * lane + AT :][: case.bytes] = data[lane]
        assert after.memory == memory.tobytes(), case.line


@each_row("case", LDS_CASES, ids=lambda case: f"{case.segment}-{case.bytes}-{case.how}-{case.target}")
def test_a_load_can_go_to_lds_past_the_registers(results, case: Case) -> None:
    for before, after in results[case.line]:
        expected = filled(case.how, source_bytes(case, before, 0), np.zeros((64, 1), dtype=np.int64))
        got = after.v[RESULT : RESULT + expected.shape[1]].T
        assert np.array_equal(got, expected), case.line
