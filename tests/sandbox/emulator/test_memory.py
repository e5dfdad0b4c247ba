"""Global, flat, scratch, buffer and LDS accesses, atomics, and what happens outside of memory."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from lanes import Case, each_case, table
from rdna_names import renamed
from values import prepared
from waves import ALL, MEMORY_BYTES, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
LANE = np.arange(64, dtype=np.uint32)
BYTES = bytes((37 * n + n // 256) % 256 for n in range(MEMORY_BYTES))
MEMORY = np.frombuffer(BYTES, dtype=np.uint8)

ADDRESS = "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\nv_mul_u32_u24 v22, 12, v22\n"  # 12 * lane
PAIR = ADDRESS + "v_mov_b32 v23, s21\nv_add_co_u32 v22, vcc, s20, v22\nv_addc_co_u32 v23, vcc, 0, v23, vcc\n"


def words(offset: int, dtype: str = "<u4", stride: int = 12) -> Array:
    """What each lane finds at stride * lane + offset."""
    size = np.dtype(dtype).itemsize
    return np.array([MEMORY[stride * n + offset :][:size].view(dtype)[0] for n in range(64)])


def copy(load: str) -> str:
    """A load into v20 from 12 * lane, over v10 beforehand."""
    return f"{ADDRESS}v_mov_b32 v20, v10\n{load}\ns_waitcnt 0"


def low(value: Array) -> Callable[[State], Array]:
    """Alone: registers with ECC cannot keep the other half."""
    return always(value.astype(np.int64) & 0xFFFF)


def high(value: Array) -> Callable[[State], Array]:
    return always((value.astype(np.int64) & 0xFFFF) << 16)


def always(value: Array) -> Callable[[State], Array]:
    return lambda _: (value.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)


def small(prefix: str, operands: str, offset: int) -> list[tuple[str, Callable[[State], Array]]]:
    names = ("u8", "i8", "u16", "i16") if prefix == "ds_read_" else ("ubyte", "sbyte", "ushort", "sshort")
    short = "u16_d16" if prefix == "ds_read_" else "short_d16"
    kinds = dict(zip(names, ("<u1", "<i1", "<u2", "<i2"), strict=True))
    rows = [(f"{prefix}{name} v20, {operands}", always(words(offset, kind))) for name, kind in kinds.items()]
    rows += [(f"{prefix}{name}_d16 v20, {operands}", low(words(offset, kinds[name]))) for name in names[:2]]
    rows += [(f"{prefix}{name}_d16_hi v20, {operands}", high(words(offset, kinds[name]))) for name in names[:2]]
    rows += [(f"{prefix}{short} v20, {operands}", low(words(offset, "<u2")))]
    return [*rows, (f"{prefix}{short}_hi v20, {operands}", high(words(offset, "<u2")))]


LOADS = [
    *((copy(line), value) for line, value in small("global_load_", "v22, s[20:21] offset:5", 5)),
    (copy("global_load_dword v20, v22, s[20:21] offset:6"), always(words(6))),
    (f"{PAIR}global_load_dword v20, v[22:23], off offset:4\ns_waitcnt 0", always(words(4))),
    (f"{PAIR}global_load_dwordx4 v[20:23], v[22:23], off\ns_waitcnt 0", always(words(0))),
    (f"{PAIR}global_load_dwordx3 v[24:26], v[22:23], off\ns_waitcnt 0\nv_mov_b32 v20, v26", always(words(8))),
    (f"{PAIR}flat_load_dword v20, v[22:23] offset:4\ns_waitcnt 0", always(words(4))),
    (f"{PAIR}flat_load_sbyte v20, v[22:23]\ns_waitcnt 0", always(words(0, "<i1"))),
    (copy("v_mov_b32 v24, v11\nds_write_b32 v22, v24\nds_read_b32 v20, v22"), lambda s: s.u32(11)),
    (copy("ds_write2_b32 v22, v11, v12 offset0:1 offset1:2\nds_read_b64 v[20:21], v22 offset:4"), lambda s: s.u32(11)),
    (copy("ds_write_b64 v22, v[10:11] offset:256\nds_read2st64_b32 v[24:25], v22 offset1:1\ns_waitcnt 0\nv_mov_b32 v20, v25"),
     lambda s: s.u32(10)),
    (copy("ds_write_b96 v22, v[10:12]\nds_read_b96 v[24:26], v22\ns_waitcnt 0\nv_mov_b32 v20, v26"), lambda s: s.u32(12)),
    (copy("v_lshlrev_b32 v22, 2, v22\nds_write_b128 v22, v[10:13]\nds_read2_b64 v[24:27], v22 offset1:1\n"
          "s_waitcnt 0\nv_mov_b32 v20, v27"), lambda s: s.u32(13)),
    (copy("ds_write_b32 v22, v11\nds_write_b8 v22, v12 offset:1\nds_write_b8_d16_hi v22, v12 offset:2\n"
          "ds_read_b32 v20, v22"),
     lambda s: s.u32(11) & 0xFF0000FF | (s.u32(12) & 255) << 8 | (s.u32(12) >> 16 & 255) << 16),
    (copy("ds_write_b32 v22, v11\nds_write_b16_d16_hi v22, v12\nds_read_u16 v20, v22"), lambda s: s.u32(12) >> 16),
    (copy("v_lshrrev_b32 v22, 1, v22\nscratch_store_dword off, v11, off offset:8\nscratch_load_dword v20, off, off offset:8"),
     lambda s: s.u32(11)),
    (copy("s_mov_b32 s10, 4\nv_mov_b32 v24, 12\nscratch_store_dwordx2 v24, v[12:13], off\n"
          "s_waitcnt 0\nscratch_load_dword v20, off, s10 offset:12"), lambda s: s.u32(13)),
    (copy("s_mov_b64 s[10:11], src_shared_base\nv_mov_b32 v25, s11\nv_mov_b32 v24, v22\nds_write_b32 v22, v11\n"
          "s_waitcnt 0\nflat_load_dword v20, v[24:25]"), lambda s: s.u32(11)),
    (copy("s_mov_b64 s[10:11], src_private_base\nv_mov_b32 v25, s11\nv_mov_b32 v24, 20\n"
          "flat_store_dword v[24:25], v11\ns_waitcnt 0\nscratch_load_dword v20, off, off offset:20"), lambda s: s.u32(11)),
]  # fmt: skip

# A result may overwrite the register that the addresses lie in.
OVERWRITING = [
    (copy("ds_write2_b32 v22, v11, v12 offset0:1 offset1:2\nds_read2_b32 v[22:23], v22 offset0:1 offset1:2\ns_waitcnt 0\n"
          "v_xor_b32 v20, v22, v23"), lambda s: s.u32(11) ^ s.u32(12)),
    (copy("ds_write2_b32 v22, v11, v12 offset0:1 offset1:2\nv_mov_b32 v23, v22\n"
          "ds_read2_b32 v[22:23], v23 offset0:1 offset1:2\ns_waitcnt 0\nv_xor_b32 v20, v22, v23"),
     lambda s: s.u32(11) ^ s.u32(12)),
    (copy("ds_write_b96 v22, v[10:12]\nds_read_b96 v[22:24], v22\ns_waitcnt 0\nv_mov_b32 v20, v24"), lambda s: s.u32(12)),
    (f"{PAIR}global_load_dwordx4 v[20:23], v[22:23], off\ns_waitcnt 0\nv_mov_b32 v20, v23", always(words(12))),
    (f"{ADDRESS}global_load_dwordx2 v[22:23], v22, s[20:21]\ns_waitcnt 0\nv_mov_b32 v20, v23", always(words(4))),
]  # fmt: skip
# Lanes side by side, and sixteen at one place.
LANE_TIMES_4 = ADDRESS.replace("12", "4")
QUARTER = LANE_TIMES_4 + "v_and_b32 v22, 0xc0, v22\n"  # 64 * (lane / 16)
PATTERNS = [
    (f"{LANE_TIMES_4}global_load_dword v20, v22, s[20:21] offset:8\ns_waitcnt 0", always(words(8, stride=4))),
    (f"{QUARTER}global_load_dword v20, v22, s[20:21]\ns_waitcnt 0", always(words(0, stride=4)[LANE // 16 * 16])),
]

BUFFER = "s_mov_b64 s[12:13], s[20:21]\ns_and_b32 s13, s13, 0xffff\ns_movk_i32 s14, 400\ns_mov_b32 s15, 0x27000\n"
BUFFERS = [
    (copy(f"{BUFFER}buffer_load_dword v20, v22, s[12:15], 0 offen offset:4"),
     always(np.where(12 * LANE + 8 <= 400, words(4), 0))),
    (copy(f"{BUFFER}buffer_load_ubyte v20, v22, s[12:15], 0 offen"), always(np.where(12 * LANE < 400, words(0, "<u1"), 0))),
    (copy(f"{BUFFER}buffer_load_dword v20, off, s[12:15], 0 offset:8"), always(np.full(64, words(8)[0]))),
]  # fmt: skip

CASES = table("u32", [*LOADS, *OVERWRITING, *PATTERNS, *BUFFERS])


@pytest.fixture(scope="module", params=[False, True], ids=["bare", "modelled"])
def results(sandbox: Sandbox, request: pytest.FixtureRequest) -> dict[str, list[tuple[State, State]]]:
    lines = [case.line for case in CASES] + [line for line, _ in STORES] + [line for line, *_ in ATOMICS]
    before = [(line, replace(prepared(exec_mask=mask), memory=BYTES)) for line in lines for mask in (ALL, SOME)]
    found: dict[str, list[tuple[State, State]]] = {}
    for (line, state), after in zip(before, run_waves(sandbox, before, modelled=request.param), strict=True):
        assert not after.fault, f"{line}: {after.fault}"
        found.setdefault(line, []).append((state, after))
    return found


@each_case(CASES)
def test_loads_bring_active_lanes_what_lies_there(results, case: Case) -> None:
    for before, after in results[case.line]:
        got, expected = after.u32(20), case.expected(before).astype(np.uint32)
        bad = np.flatnonzero(before.active() & (got != expected))
        assert not len(bad), f"{case.line}: lanes {bad[:4]} {got[bad[:4]]} instead of {expected[bad[:4]]}"


def stored(value: Callable[[State], Array], offset: int, size: int) -> Callable[[State], bytes]:
    def expected(s: State) -> bytes:
        memory = MEMORY.copy()
        raw = value(s).astype("<u4").view(np.uint8).reshape(64, -1)
        for lane in np.flatnonzero(s.active()):
            memory[12 * lane + offset :][:size] = raw[lane][:size]
        return memory.tobytes()

    return expected


STORES = [
    (f"{ADDRESS}global_store_dword v22, v11, s[20:21] offset:8", stored(lambda s: s.u32(11), 8, 4)),
    (f"{ADDRESS}global_store_short v22, v11, s[20:21] offset:3", stored(lambda s: s.u32(11), 3, 2)),
    (f"{ADDRESS}global_store_byte_d16_hi v22, v11, s[20:21]", stored(lambda s: s.u32(11) >> 16, 0, 1)),
    (f"{ADDRESS}global_store_short_d16_hi v22, v11, s[20:21]", stored(lambda s: s.u32(11) >> 16, 0, 2)),
    (f"{PAIR}global_store_dwordx3 v[22:23], v[10:12], off",
     stored(lambda s: np.stack([s.u32(10), s.u32(11), s.u32(12)], axis=1), 0, 12)),
    (f"{PAIR}flat_store_dwordx2 v[22:23], v[10:11]", stored(lambda s: np.stack([s.u32(10), s.u32(11)], axis=1), 0, 8)),
]  # fmt: skip


@each_row(("line", "expected"), STORES, ids=[line.splitlines()[-1] for line, _ in STORES])
def test_stores_touch_the_bytes_of_active_lanes_only(results, line: str, expected: Callable[[State], bytes]) -> None:
    for before, after in results[line]:
        assert after.memory == expected(before), line


def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, v: old + v, "sub": lambda old, v: old - v, "smin": lambda old, v: min(old, v, key=signed),
    "umin": min, "smax": lambda old, v: max(old, v, key=signed), "umax": max, "and": lambda old, v: old & v,
    "or": lambda old, v: old | v, "xor": lambda old, v: old ^ v, "swap": lambda _, v: v,
    "inc": lambda old, v: 0 if old >= v else old + 1, "dec": lambda old, v: v if old == 0 or old > v else old - 1,
}  # fmt: skip
LDS_NAMES = {
    "smin": "min_rtn_i32", "umin": "min_rtn_u32", "smax": "max_rtn_i32", "umax": "max_rtn_u32", "and": "and_rtn_b32",
    "or": "or_rtn_b32", "xor": "xor_rtn_b32", "swap": "wrxchg_rtn_b32",
}  # fmt: skip
# All lanes at one address, in order: v20 gets what each found, and s10 what is left.
ATOMICS = [
    *((f"v_mov_b32 v22, 0\nglobal_atomic_{name} v20, v22, v10, s[20:21] sc0\ns_waitcnt 0\n"
       "global_load_dword v23, v22, s[20:21]\ns_waitcnt 0\nv_readfirstlane_b32 s10, v23", fold, int(words(0)[0]))
      for name, fold in FOLDS.items()),
    *((f"v_mov_b32 v22, 0\nv_mov_b32 v23, 77\nds_write_b32 v22, v23\n"
       f"ds_{LDS_NAMES.get(name, name + '_rtn_u32')} v20, v22, v10\n"
       "ds_read_b32 v23, v22\ns_waitcnt 0\nv_readfirstlane_b32 s10, v23", fold, 77) for name, fold in FOLDS.items()),
]  # fmt: skip


@each_row(
    ("line", "fold", "start"),
    ATOMICS,
    ids=[line.splitlines()[-5][:40] + line.splitlines()[-4][:24] for line, *_ in ATOMICS],
)
def test_atomics_of_a_wave_follow_each_other(results, line: str, fold: Callable[[int, int], int], start: int) -> None:
    for before, after in results[line]:
        value = start
        for lane in np.flatnonzero(before.active()):
            assert after.u32(20)[lane] == value, f"{line}: lane {lane}"
            value = fold(value, int(before.u32(10)[lane])) & 0xFFFFFFFF
        assert int(after.s[6]) == value, line


FLOAT_ATOMICS = {
    "global_atomic_add_f32 v22, v0, s[20:21]": ("<f4", lambda s: s.f32(0)),
    "global_atomic_add_f64 v22, v[4:5], s[20:21]": ("<f8", lambda s: s.f64(4)),
    "global_atomic_pk_add_f16 v22, v13, s[20:21]": ("<f2", lambda s: s.halves(13).view(np.float16)),
}


@pytest.mark.parametrize("line", FLOAT_ATOMICS)
def test_float_atomics_add_to_what_is_there(sandbox: Sandbox, line: str) -> None:
    dtype, value = FLOAT_ATOMICS[line]
    before = replace(prepared(), memory=np.full(MEMORY_BYTES // np.dtype(dtype).itemsize, 1.5, dtype=dtype).tobytes())
    setup = ADDRESS.replace("12", "8")
    (after,) = run_waves(sandbox, [(f"{setup}{line}\ns_waitcnt 0", before)])
    got = np.frombuffer(after.memory, dtype=dtype)
    stride = 8 // np.dtype(dtype).itemsize
    with np.errstate(all="ignore"):
        expected = value(before).reshape(64, -1) + np.dtype(dtype).type(1.5)
    width = expected.shape[1]
    found = got[: 64 * stride].reshape(64, stride)[:, :width]
    assert np.array_equal(found, expected.astype(dtype), equal_nan=True)


def test_compare_and_swap_replaces_only_what_matches(sandbox: Sandbox) -> None:
    memory = np.arange(MEMORY_BYTES // 4, dtype="<u4")
    before = replace(prepared(), memory=memory.tobytes())
    line = (
        f"{ADDRESS.replace('12', '4')}v_mov_b32 v24, 99\nv_mov_b32 v25, 5\n"
        "global_atomic_cmpswap v20, v22, v[24:25], s[20:21] sc0\ns_waitcnt 0"
    )
    (after,) = run_waves(sandbox, [(line, before)])
    memory[5] = 99
    assert after.memory == memory.tobytes()
    assert (after.u32(20) == LANE).all(), "each lane gets the old value"


FAULTS = {
    "global_load_dword v20, v10, s[20:21] offset:4095": "out_of_bounds",
    "v_mov_b32 v22, 0\nv_mov_b32 v23, 0\nglobal_store_dword v[22:23], v10, off": "out_of_bounds",
    "v_mov_b32 v22, 1\nglobal_atomic_add v22, v10, s[20:21]": "misaligned",
    "v_mov_b32 v22, 0x1000\nds_write_b32 v22, v10": "out_of_bounds",
    "v_mov_b32 v22, 0x1000\nds_add_rtn_u32 v20, v22, v10": "out_of_bounds",
    "v_mov_b32 v22, 0xfff\nds_read_b32 v20, v22": "out_of_bounds",
    "v_mov_b32 v22, 61\nscratch_load_dword v20, v22, off": "out_of_bounds",
    "s_mov_b64 s[10:11], 0\ns_load_dword s12, s[10:11], 0x0": "out_of_bounds",
    "s_mov_b64 s[10:11], 64\ns_setpc_b64 s[10:11]": "bad_pc",
    "s_trap 2": "trap",
    "ds_gws_barrier v0 gds": "not_emulated",
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0\nv_add_f16 v20, v10, v11": "not_emulated",
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0\nv_fma_mix_f32 v20, v10, v11, v12 op_sel_hi:[1,0,0]": "not_emulated",
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0\nv_cvt_pkrtz_f16_f32 v20, v10, v11": "not_emulated",
    "s_branch 65535": "step_limit",
}


def test_what_cannot_be_done_is_a_fault_with_its_instruction(sandbox: Sandbox) -> None:
    after = run_waves(sandbox, [(line, prepared()) for line in FAULTS])
    found = {line: state.fault for line, state in zip(FAULTS, after, strict=True)}
    for line, kind in FAULTS.items():
        assert found[line].startswith(kind), f"{line}: {found[line]}"
        assert line.splitlines()[-1].split()[0] in found[line], f"{line}: {found[line]}"


# What an address is decides the register, without the offset: below the aperture of LDS there is nothing.
BELOW_LDS = "s_mov_b64 s[10:11], src_shared_base\ns_add_u32 s11, s11, -1\nv_mov_b32 v25, s11\nv_mov_b32 v24, -4\n"
IN_LDS = BELOW_LDS.replace("s_add_u32 s11, s11, -1\n", "").replace("v24, -4", "v24, 0")


@pytest.mark.parametrize("target", ["gfx942", "gfx1100/64", "gfx1201/64"])
def test_a_flat_address_is_one_of_lds_or_not_before_its_offset_is_added(sandbox: Sandbox, target: str) -> None:
    load = "flat_load_dword v20, v[24:25] offset:4\ns_waitcnt 0"
    lines = [f"{place}{load}" for place in (BELOW_LDS, IN_LDS)]
    lines = lines if target == "gfx942" else [renamed(line, target) for line in lines]
    below, within = run_waves(sandbox, [(line, prepared()) for line in lines], target)
    assert below.fault.startswith("out_of_bounds: flat_load")
    assert within.fault == ""


# Lane 20 alone is sent far on: into LDS's last bytes and beyond, off the end of memory, out of a buffer of 4096 bytes.
def sent_on(bytes_on: int) -> str:
    return (
        "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_cmp_eq_u32 vcc_lo, 20, v22\nv_lshlrev_b32 v22, 2, v22\n"
        f"v_mov_b32 v23, {bytes_on}\nv_cndmask_b32 v22, v22, v23, vcc_lo\n"
    )


BEYOND_IN_ONE_LANE = {
    f"{sent_on(4096)}ds_write_b32 v22, v10": "out_of_bounds",
    f"{sent_on(4094)}ds_read_b32 v20, v22": "out_of_bounds",
    f"{sent_on(4088)}ds_write2_b32 v22, v10, v11 offset1:2": "out_of_bounds",
    f"{sent_on(4096)}ds_add_u32 v22, v10": "out_of_bounds",
    f"{sent_on(8192)}global_load_dword v20, v22, s[20:21]": "out_of_bounds",
    f"{sent_on(8189)}global_store_dword v22, v10, s[20:21]": "out_of_bounds",
    f"{sent_on(61)}scratch_load_dword v20, v22, off": "out_of_bounds",
    f"{sent_on(4092)}ds_write_b32 v22, v10": "",
    f"{sent_on(8188)}global_store_dword v22, v10, s[20:21]": "",
}


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_a_lane_in_the_upper_half_of_32_cannot_leave_its_memory_either(sandbox: Sandbox, target: str) -> None:
    lines = [renamed(line, target) for line in BEYOND_IN_ONE_LANE]
    after = run_waves(sandbox, [(line, prepared()) for line in lines], target)
    for line, state, kind in zip(lines, after, BEYOND_IN_ONE_LANE.values(), strict=True):
        assert state.fault.partition(":")[0] == kind, f"{line}: {state.fault}"


def test_a_load_from_beyond_lds_brings_zero_to_its_lanes_alone(sandbox: Sandbox) -> None:
    """v22: the first 32 lanes at their dword of LDS, the others far beyond its end."""
    place = (
        "v_mbcnt_lo_u32_b32 v24, -1, 0\nv_mbcnt_hi_u32_b32 v24, -1, v24\nv_lshlrev_b32 v22, 2, v24\n"
        "ds_write_b32 v22, v24\ns_waitcnt 0\nv_cmp_lt_u32 vcc, 31, v24\n"
        "v_mov_b32 v23, 0x10000\nv_cndmask_b32 v22, v22, v23, vcc\n"
    )
    lines = [f"{place}ds_read_b32 v20, v22\ns_waitcnt 0", f"{place}ds_read2_b32 v[20:21], v22 offset1:1\ns_waitcnt 0"]
    one, two = run_waves(sandbox, [(line, prepared()) for line in lines])
    expected = np.where(LANE < 32, LANE, 0)
    assert (one.fault, two.fault) == ("", "")
    assert (one.u32(20) == expected).all()
    assert (two.u32(20) == expected).all()
    assert (two.u32(21) == np.where(LANE < 32, LANE + 1, 0)).all()
