"""Every atomic of every segment, with and without a returned value: what is left in memory, and what the lanes get."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from values import prepared
from waves import ALL, MEMORY_BYTES, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
Fold = Callable[[Array, Array, Array], Array]  # old, data, second data (what is compared with, a mask, a wrap) to new

LANES = 64
RNG = np.random.default_rng(11)
WORDS = RNG.integers(0, 1 << 32, MEMORY_BYTES // 4, dtype=np.uint32)
WORDS[:128:5] = 0

ADDRESS = (
    "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\nv_and_b32 v23, 1, v22\nv_lshlrev_b32 v22, 3, v22\n"
)
# What is compared with is what lies there, but in odd lanes it differs in a bit.
COMPARE = (
    "global_load_dwordx2 v[26:27], v22, s[20:21]\ns_waitcnt 0\nv_xor_b32 v26, v26, v23\n"
    "v_mov_b32 v24, {low}\nv_mov_b32 v25, {high}\n{narrow}"
)
PAIR = "v_mov_b32 v31, s21\nv_add_co_u32 v30, vcc, s20, v22\nv_addc_co_u32 v31, vcc, 0, v31, vcc\n"
BUFFER = "s_mov_b64 s[12:13], s[20:21]\ns_and_b32 s13, s13, 0xffff\ns_movk_i32 s14, 0x2000\ns_mov_b32 s15, 0x27000\n"
TO_LDS = "global_load_dwordx2 v[28:29], v22, s[20:21]\ns_waitcnt 0\nds_write_b64 v22, v[28:29]\ns_waitcnt 0\n"
FROM_LDS = "\ns_waitcnt 0\nds_read_b64 v[28:29], v22\ns_waitcnt 0\nglobal_store_dwordx2 v22, v[28:29], s[20:21]"


def signed(x: Array) -> Array:
    return x.view(f"i{x.dtype.itemsize}")


def floats(x: Array) -> Array:
    return x.view(f"f{x.dtype.itemsize}")


def wrapped(old: Array, data: Array, other: Array) -> Array:
    return np.where(old >= data, old - data, old + other)


FOLDS: dict[str, Fold] = {
    "swap": lambda old, v, c: v,
    "cmpswap": lambda old, v, c: np.where(old == c, v, old),
    "add": lambda old, v, c: old + v,
    "sub": lambda old, v, c: old - v,
    "rsub": lambda old, v, c: v - old,
    "smin": lambda old, v, c: np.where(signed(old) < signed(v), old, v),
    "umin": lambda old, v, c: np.minimum(old, v),
    "smax": lambda old, v, c: np.where(signed(old) > signed(v), old, v),
    "umax": lambda old, v, c: np.maximum(old, v),
    "and": lambda old, v, c: old & v,
    "or": lambda old, v, c: old | v,
    "xor": lambda old, v, c: old ^ v,
    "inc": lambda old, v, c: np.where(old >= v, 0, old + 1).astype(old.dtype),
    "dec": lambda old, v, c: np.where((old == 0) | (old > v), v, old - 1).astype(old.dtype),
    "mskor": lambda old, v, c: old & ~c | v,
    "wrap": wrapped,
    "fadd": lambda old, v, c: (floats(old) + floats(v)).view(old.dtype),
    "fmin": lambda old, v, c: np.where(floats(v) < floats(old), v, old),
    "fmax": lambda old, v, c: np.where(floats(v) > floats(old), v, old),
    "fcmpswap": lambda old, v, c: np.where(floats(old) == floats(c), v, old),
    "csub": lambda old, v, c: np.where(old < v, 0, old - v),
    "cond_sub": lambda old, v, c: np.where(old >= v, old - v, old),
    "fmin_num": lambda old, v, c: np.fmin(floats(old), floats(v)).view(old.dtype),
    "fmax_num": lambda old, v, c: np.fmax(floats(old), floats(v)).view(old.dtype),
    "pk_f16": lambda old, v, c: (old.view("f2") + v.view("f2")).view("u4"),
    "pk_bf16": lambda old, v, c: packed_bf16(old, v),
}


def packed_bf16(old: Array, v: Array) -> Array:
    import ml_dtypes

    return (old.view(ml_dtypes.bfloat16) + v.view(ml_dtypes.bfloat16)).view("u4")


@dataclass(frozen=True)
class Case:
    name: str  # of the instruction
    line: str
    fold: str
    bytes: int
    returns: bool


def data_registers(fold: str, size: int) -> str:
    if fold in ("cmpswap", "fcmpswap"):
        return "v[24:25]" if size == 4 else "v[24:27]"
    if fold == "pk_f16":
        return "v13"
    return "v10" if size == 4 else "v[16:17]"


def compare_setup(fold: str, size: int) -> str:
    if fold not in ("cmpswap", "fcmpswap"):
        return ""
    low, high = ("v10", "v26") if size == 4 else ("v16", "v17")
    return COMPARE.format(low=low, high=high, narrow="")


def memory_case(segment: str, name: str, fold: str, size: int, returns: bool) -> Case:
    result = "v20" if size == 4 else "v[20:21]"
    data = data_registers(fold, size)
    instruction = f"{segment}_atomic_{name}"
    if segment == "buffer":
        operands = f"{data}, v22, s[12:15], 0 offen" + (" sc0" if returns else "")
    else:
        address = f"v22, {data}, s[20:21]" if segment == "global" else f"v[30:31], {data}"
        operands = f"{result}, {address} sc0" if returns else address
    copy_data = ""
    if segment == "buffer":  # the result comes back in the data's registers
        first, words = int(data.strip("v[]").split(":")[0]), size // 4 * (2 if "cmpswap" in fold else 1)
        operands = operands.replace(data, f"v[40:{39 + words}]" if words > 1 else "v40", 1)
        copy_data = "".join(f"v_mov_b32 v{40 + n}, v{first + n}\n" for n in range(words))
        copy_back = "".join(f"\nv_mov_b32 v{20 + n}, v{40 + n}" for n in range(size // 4)) if returns else ""
    else:
        copy_back = ""
    line = (
        f"{ADDRESS}{PAIR}{BUFFER}{compare_setup(fold, size)}{copy_data}{instruction} {operands}\ns_waitcnt 0{copy_back}"
    )
    return Case(instruction, line, fold, size, returns)


def lds_case(name: str, fold: str, size: int, returns: bool) -> Case:
    result = "v20, " if size == 4 else "v[20:21], "
    first = data_registers(fold.replace("fcmpswap", "add").replace("cmpswap", "add"), size)
    second = "v11" if size == 4 else "v[18:19]"
    if fold in ("cmpswap", "fcmpswap"):
        operands = f"v22, {'v26' if size == 4 else 'v[26:27]'}, {first}"
    elif fold == "mskor":
        operands = f"v22, {second}, {first}"
    elif fold == "wrap":
        operands = f"v22, {first}, {second}"
    else:
        operands = f"v22, {first}"
    line = f"{ADDRESS}{TO_LDS}{compare_setup(fold, size)}{name} {result if returns else ''}{operands}{FROM_LDS}"
    return Case(name, line, fold, size, returns)


INTEGERS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")
NAMED = [(name + suffix, name, size) for name in INTEGERS for suffix, size in (("", 4), ("_x2", 8))]
NAMED += [("add_f32", "fadd", 4), ("add_f64", "fadd", 8), ("min_f64", "fmin", 8), ("max_f64", "fmax", 8)]
NAMED += [("pk_add_f16", "pk_f16", 4), ("pk_add_bf16", "pk_bf16", 4)]
IN_LDS = {
    "add": "add_u", "sub": "sub_u", "rsub": "rsub_u", "inc": "inc_u", "dec": "dec_u", "smin": "min_i", "umin": "min_u",
    "smax": "max_i", "umax": "max_u", "and": "and_b", "or": "or_b", "xor": "xor_b", "swap": "wrxchg_b", "fadd": "add_f",
    "fmin": "min_f", "fmax": "max_f", "cmpswap": "cmpst_b", "fcmpswap": "cmpst_f", "mskor": "mskor_b",
}  # fmt: skip
LDS_NAMED = [(f"{name}{bits}", fold, bits // 8) for fold, name in IN_LDS.items() for bits in (32, 64)]
LDS_NAMED += [("pk_add_f16", "pk_f16", 4), ("pk_add_bf16", "pk_bf16", 4)]


def lds_name(name: str, returns: bool) -> str:
    stem, _, kind = name.rpartition("_")
    return f"ds_{stem}_rtn_{kind}" if returns else f"ds_{name}"


CASES = [
    *(
        memory_case(segment, name, fold, size, returns)
        for segment in ("global", "flat", "buffer")
        for name, fold, size in NAMED
        for returns in (False, True)
        if not (segment == "buffer" and name == "pk_add_bf16")  # gfx950 has that one
    ),
    *(
        lds_case(lds_name(name, returns), fold, size, returns)
        for name, fold, size in LDS_NAMED
        for returns in (False, True)
        if not (fold == "swap" and not returns)  # spelled with _rtn only
    ),
    lds_case("ds_wrap_rtn_b32", "wrap", 4, returns=True),
]
GFX950 = [memory_case("buffer", "pk_add_bf16", "pk_bf16", 4, returns) for returns in (False, True)]


def state(mask: int) -> State:
    return replace(prepared(exec_mask=mask), memory=WORDS.tobytes())


def run(sandbox: Sandbox, cases: list[Case], target: str) -> dict[str, list[tuple[State, State]]]:
    given = [(case.line, state(mask)) for case in cases for mask in (ALL, SOME)]
    found: dict[str, list[tuple[State, State]]] = {}
    for (line, before), after in zip(given, run_waves(sandbox, given, target), strict=True):
        found.setdefault(line, []).append((before, after))
    return found


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> dict[str, list[tuple[State, State]]]:
    return run(sandbox, CASES, "gfx942") | run(sandbox, GFX950, "gfx950")


def columns(case: Case, before: State) -> tuple[Array, Array, Array]:
    """Old values, data and second data of all lanes, as unsigned integers."""
    pairs = WORDS[: 2 * LANES].reshape(LANES, 2)
    old: Array
    v: Array
    c: Array
    if case.bytes == 8:
        old, v, c = np.ascontiguousarray(pairs).view("u8")[:, 0], before.u64(16), before.u64(18)
    else:
        old, v, c = pairs[:, 0].copy(), before.u32(13 if case.fold == "pk_f16" else 10), before.u32(11)
    if case.fold in ("cmpswap", "fcmpswap"):
        c = old ^ (np.arange(LANES) % 2).astype(old.dtype)
    return old, v, c


def alike(case: Case, got: Array, expected: Array) -> Array:
    """Equal, with any NaN for a NaN."""
    if case.fold == "pk_f16":
        a, b = got.view("f2").reshape(-1, 2), expected.view("f2").reshape(-1, 2)
        return ((a.view("u2") == b.view("u2")) | (np.isnan(a) & np.isnan(b))).all(axis=1)
    if case.fold == "pk_bf16":
        a, b = got.view("u2").reshape(-1, 2), expected.view("u2").reshape(-1, 2)
        return ((a == b) | ((a & 0x7FFF) > 0x7F80) & ((b & 0x7FFF) > 0x7F80)).all(axis=1)
    same = got == expected
    return same | (np.isnan(floats(got)) & np.isnan(floats(expected))) if case.fold.startswith("f") else same


@each_row("case", [*CASES, *GFX950], ids=lambda case: case.name + ("-returning" if case.returns else ""))
def test_an_atomic_leaves_the_new_value_and_returns_the_old_one(results, case: Case) -> None:
    for before, after in results[case.line]:
        assert not after.fault, after.fault
        active = before.active()
        old, v, c = columns(case, before)
        with np.errstate(all="ignore"):
            new = np.where(active, FOLDS[case.fold](old, v, c).view(old.dtype), old)
        left = np.ascontiguousarray(np.frombuffer(after.memory, dtype="<u4")[: 2 * LANES].reshape(LANES, 2))
        got = left.view("u8")[:, 0] if case.bytes == 8 else left[:, 0].copy()
        bad = np.flatnonzero(~alike(case, got, new))
        assert not len(bad), f"{case.name}: lane {bad[0]} {got[bad[0]]:#x} instead of {new[bad[0]]:#x}"
        if case.returns:
            back = after.u64(20) if case.bytes == 8 else after.u32(20)
            assert np.array_equal(back[active], old[active]), case.name


EXCHANGES = {
    "ds_wrxchg2_rtn_b32 v[40:41], v22, v10, v11 offset0:0 offset1:1": (0, 1, 1),
    "ds_wrxchg2_rtn_b64 v[40:43], v22, v[16:17], v[18:19] offset0:0 offset1:64": (0, 128, 2),
    "ds_wrxchg2st64_rtn_b32 v[40:41], v22, v10, v11 offset0:0 offset1:2": (0, 128, 1),
    "ds_wrxchg2st64_rtn_b64 v[40:43], v22, v[16:17], v[18:19] offset0:0 offset1:1": (0, 128, 2),
}
FILL = "v_mov_b32 v24, 5\nv_mov_b32 v25, 6\nds_write_b64 v22, v[24:25]\nds_write_b64 v22, v[24:25] offset:512\ns_waitcnt 0\n"


@pytest.mark.parametrize("line", EXCHANGES)
def test_two_words_are_exchanged_at_once(sandbox: Sandbox, line: str) -> None:
    _, second, words = EXCHANGES[line]
    reads = "".join(
        f"ds_read_b32 v{48 + n}, v22 offset:{4 * at}\n" for n, at in enumerate((0, 1, second, second + 1)[: 2 * words])
    )
    if words == 1:
        reads = f"ds_read_b32 v48, v22\nds_read_b32 v49, v22 offset:{4 * second}\n"
    (after,) = run_waves(sandbox, [(f"{ADDRESS}{FILL}{line}\ns_waitcnt 0\n{reads}s_waitcnt 0", state(ALL))])
    before = state(ALL)
    assert not after.fault, after.fault
    sources = (10, 11) if words == 1 else (16, 17, 18, 19)
    for n, register in enumerate(sources):
        assert np.array_equal(after.u32(48 + n), before.u32(register)), line
    old = [5, 6] if second == 1 else [5, 5] if words == 1 else [5, 6, 5, 6]
    assert [int(after.u32(40 + n)[7]) for n in range(len(old))] == old


def test_append_and_consume_count_the_active_lanes(sandbox: Sandbox) -> None:
    line = (
        "v_mov_b32 v22, 0\nv_mov_b32 v24, 100\nds_write_b32 v22, v24 offset:8\ns_mov_b32 m0, 0x40000\n"
        "ds_append v20 offset:4\nds_consume v21 offset:4\nds_consume v23 offset:4\ns_waitcnt 0"
    )
    (after,) = run_waves(sandbox, [(line, state(SOME))])
    active = bin(SOME).count("1")
    first = int(np.flatnonzero(after.active())[0])
    assert [int(after.u32(n)[first]) for n in (20, 21, 23)] == [100, 100 + active, 100]


def test_lanes_find_their_own_words_by_m0(sandbox: Sandbox) -> None:
    line = (
        "s_mov_b32 m0, 16\nds_write_addtid_b32 v10 offset:4\ns_waitcnt 0\nds_read_addtid_b32 v20 offset:4\ns_waitcnt 0"
    )
    check = f"{line}\n{ADDRESS.replace('3, v22', '2, v22')}ds_read_b32 v21, v22 offset:20\ns_waitcnt 0"
    (after,) = run_waves(sandbox, [(check, state(ALL))])
    assert np.array_equal(after.u32(20), state(ALL).u32(10))
    assert np.array_equal(after.u32(21), state(ALL).u32(10))


def test_a_word_is_exchanged_where_the_top_bit_of_the_new_one_says_so(sandbox: Sandbox) -> None:
    line = f"{ADDRESS}{TO_LDS}ds_condxchg32_rtn_b64 v[40:41], v22, v[10:11]{FROM_LDS}"
    before = state(ALL)
    (after,) = run_waves(sandbox, [(line, before)])
    assert not after.fault, after.fault
    left = np.frombuffer(after.memory, dtype="<u4")[: 2 * LANES].reshape(LANES, 2)
    for word in (0, 1):
        old, new = WORDS[: 2 * LANES].reshape(LANES, 2)[:, word], before.u32(10 + word)
        assert np.array_equal(left[:, word], np.where(new >> 31, new & 0x7FFFFFFF, old))
        assert np.array_equal(after.u32(40 + word), old)
