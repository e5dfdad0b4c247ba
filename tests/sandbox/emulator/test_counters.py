"""What one line adds to the counters of a wave."""

from dataclasses import dataclass

import pytest
from values import prepared
from waves import SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

AWAKE = SOME.bit_count()
LANE = "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\n"


@dataclass(frozen=True)
class Case:
    line: str
    adds: dict[str, int]
    setup: str = ""
    exec_mask: int = SOME


def strided(bytes_: int) -> str:
    """v22 = lane * bytes, in LDS or from s[20:21]."""
    return f"{LANE}v_mul_u32_u24 v22, {bytes_}, v22\n"


ALL = (1 << 64) - 1


def lds_read(width: str, step: int, *, cycles: int, conflicts: int, lanes: int = ALL) -> Case:
    """Lanes `step` bytes apart; `cycles` without conflict."""
    result = {"b32": "v20", "b64": "v[20:21]", "b96": "v[20:22]", "b128": "v[20:23]"}[width]
    adds = {"SQ_LDS_IDX_ACTIVE": cycles + conflicts, "SQ_LDS_BANK_CONFLICT": conflicts, "SQ_LDS_ADDR_CONFLICT": 0}
    return Case(f"ds_read_{width} {result}, v22", adds, f"{strided(step)}v_and_b32 v22, 0xfff, v22\n", lanes)


CASES = [
    Case("v_add_f32 v20, v0, v1", {
        "SQ_INSTS": 1, "SQ_INSTS_VALU": 1, "SQ_INSTS_VALU_ADD_F32": 1, "active_lanes_valu": AWAKE,
        "SQ_THREAD_CYCLES_VALU": AWAKE}),
    Case("v_fma_f64 v[20:21], v[4:5], v[6:7], v[8:9]", {"SQ_INSTS_VALU": 1, "SQ_INSTS_VALU_FMA_F64": 1}),
    Case("v_pk_mul_f16 v20, v13, v14", {"SQ_INSTS_VALU": 1, "SQ_INSTS_VALU_MUL_F16": 2}),
    Case("v_pk_fma_f32 v[20:21], v[2:3], v[4:5], v[6:7]", {"SQ_INSTS_VALU": 1, "SQ_INSTS_VALU_FMA_F32": 2}),
    Case("v_exp_f32 v20, v0", {"SQ_INSTS_VALU": 1, "SQ_INSTS_VALU_TRANS_F32": 1}),
    Case("v_mfma_f32_16x16x16_f16 v[20:23], v[2:3], v[4:5], 0", {
        "SQ_INSTS_VALU": 1, "SQ_INSTS_MFMA": 1, "SQ_INSTS_VALU_MFMA_MOPS_F16": 16, "active_lanes_valu": 0}),
    Case("s_add_u32 s10, s4, s5", {"SQ_INSTS": 1, "SQ_INSTS_SALU": 1, "SQ_INSTS_VALU": 0}),
    Case("v_add_u32 v20, v0, v1", {"SQ_INSTS_VALU_INT32": 1, "SQ_INSTS_VALU_INT64": 0}),
    Case("v_lshl_add_u64 v[20:21], v[4:5], 0, v[6:7]", {"SQ_INSTS_VALU_INT64": 1}),
    Case("v_lshlrev_b64 v[20:21], 3, v[4:5]", {"SQ_INSTS_VALU_INT32": 0, "SQ_INSTS_VALU_INT64": 0}),
    Case("v_cvt_f16_f32 v20, v0", {"SQ_INSTS_VALU_CVT": 1, "SQ_INSTS_VALU_INT32": 0}),
    Case("v_mfma_f32_16x16x8_xf32 v[20:23], v[2:3], v[4:5], 0", {
        "SQ_INSTS_VALU_MFMA_XF32": 1, "SQ_INSTS_VALU_MFMA_MOPS_XF32": 8, "SQ_INSTS_VALU_MFMA_MOPS_F32": 0}),
    Case("v_mfma_f32_32x32x16_fp8_bf8 v[20:35], v[2:3], v[4:5], 0", {"SQ_INSTS_VALU_MFMA_MOPS_F8": 64}),
    Case("v_smfmac_f32_16x16x32_f16 v[20:23], v[2:3], v[4:7], v8", {"SQ_INSTS_VALU_MFMA_MOPS_F16": 32}),
    Case("s_waitcnt vmcnt(0)", {"SQ_INSTS": 1, "waits": 1, "SQ_INSTS_SALU": 0}),
    Case("s_and_saveexec_b64 s[10:11], s[4:5]", {"branches_divergent": 1}, "s_mov_b64 s[4:5], 0xff0\n"),
    Case("s_and_saveexec_b64 s[10:11], -1", {"branches_divergent": 0, "SQ_INSTS_SALU": 1}),
    Case("s_mov_b64 exec, 0", {"branches_divergent": 0}),
    Case("s_andn2_b64 exec, exec, s[4:5]", {"branches_divergent": 1}, "s_mov_b64 s[4:5], 1\n"),
    Case("v_cmpx_lt_u32 vcc, v22, 7", {"branches_divergent": 1}, LANE),
    Case("s_branch 0", {"SQ_INSTS_BRANCH": 1, "branches_taken": 1, "SQ_INSTS_SALU": 0}),
    Case("s_cbranch_execz 0", {"SQ_INSTS_BRANCH": 1, "branches_taken": 0}),
    Case("s_barrier", {"SQ_INSTS": 1, "barriers": 1}),
    Case("s_load_dword s10, s[20:21], 0x0", {"SQ_INSTS_SMEM": 1, "SQC_DCACHE_REQ_READ_1": 1}),
    Case("s_load_dwordx8 s[8:15], s[20:21], 0x0", {
        "SQC_DCACHE_REQ": 1, "SQC_DCACHE_REQ_READ_8": 1, "scalar_bytes_loaded": 32}),
    Case("global_load_dword v20, v22, s[20:21]", {
        "SQ_INSTS_VMEM_RD": 1, "SQ_INSTS_FLAT": 1, "TA_FLAT_READ_WAVEFRONTS_sum": 1, "SQ_INSTS_LDS": 0,
        "bytes_loaded": 256, "cache_lines_loaded": 2, "TCP_TOTAL_ACCESSES_sum": 16,
        "TCP_TOTAL_CACHE_ACCESSES_sum": 4}, strided(4), ALL),
    Case("global_load_dword v20, v22, s[20:21]", {
        "bytes_loaded": 256, "cache_lines_loaded": 32, "TCP_TOTAL_ACCESSES_sum": 64,
        "TCP_TOTAL_CACHE_ACCESSES_sum": 32}, strided(64), ALL),
    Case("global_load_dwordx2 v[20:21], v22, s[20:21]", {
        "cache_lines_loaded": 4, "TCP_TOTAL_READ_sum": 64, "TCP_TOTAL_CACHE_ACCESSES_sum": 16}, strided(8), ALL),
    Case("global_load_dwordx4 v[20:23], v22, s[20:21]", {
        "cache_lines_loaded": 8, "TCP_TOTAL_CACHE_ACCESSES_sum": 16}, strided(16), ALL),
    Case("global_load_dword v20, v22, s[20:21] offset:128", {"cache_lines_loaded": 1}, strided(0), ALL),
    Case("flat_load_dword v20, v[22:23]", {
        "SQ_INSTS_LDS": 1, "SQ_INSTS_FLAT": 1, "SQ_INSTS_FLAT_LDS_ONLY": 1, "bytes_loaded": 0, "lds_bytes": 256,
        "cache_lines_loaded": 0, "SQ_LDS_IDX_ACTIVE": 2},
        strided(4) + "s_mov_b64 s[10:11], src_shared_base\nv_mov_b32 v23, s11\n", ALL),
    Case("scratch_store_dword off, v10, off", {
        "SQ_INSTS_FLAT": 1, "scratch_bytes_stored": 4 * AWAKE, "bytes_stored": 0}),
    Case("global_store_dwordx2 v22, v[10:11], s[20:21]", {
        "SQ_INSTS_VMEM_WR": 1, "bytes_stored": 8 * AWAKE, "bytes_loaded": 0}, strided(8)),
    Case("global_atomic_add v22, v10, s[20:21]", {
        "SQ_INSTS_VMEM_WR": 1, "SQ_INSTS_VMEM_RD": 0, "bytes_loaded": 256, "bytes_stored": 256, "bytes_atomic": 256,
        "TA_FLAT_ATOMIC_WAVEFRONTS_sum": 1, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 4}, strided(4), ALL),
    Case("global_atomic_add v20, v22, v10, s[20:21] sc0", {"SQ_INSTS_VMEM_WR": 0, "SQ_INSTS_VMEM_RD": 1}, strided(4), ALL),
    # Conflicts of an MI300X, counted with rocprof for 64 reads: nod-ai/amd-shark-ai, docs/empirical-lds/cdna3info.md.
    *(lds_read("b32", step, cycles=2, conflicts=many) for step, many in ((4, 0), (8, 2), (16, 6), (32, 14), (64, 30),
                                                                         (128, 62))),
    *(lds_read("b64", step, cycles=4, conflicts=many) for step, many in ((8, 0), (16, 4), (32, 12), (64, 28))),
    *(lds_read("b128", step, cycles=8, conflicts=many) for step, many in ((16, 0), (32, 8), (64, 24))),
    # One active lane takes two cycles, two on one bank three (ROCm Compute Profiler, "LDS examples", MI250).
    lds_read("b32", 128, cycles=2, conflicts=0, lanes=1),
    lds_read("b32", 128, cycles=2, conflicts=1, lanes=3),
    lds_read("b32", 0, cycles=2, conflicts=0),
    Case("ds_write_b128 v22, v[10:13]", {
        "SQ_INSTS_LDS_STORE": 1, "lds_bytes": 1024, "SQ_LDS_IDX_ACTIVE": 8, "SQ_LDS_BANK_CONFLICT": 0}, strided(16), ALL),
    Case("ds_write_b128 v22, v[10:13]", {"SQ_LDS_BANK_CONFLICT": 24}, strided(64), ALL),
    Case("ds_read2_b32 v[20:21], v22 offset1:1", {
        "SQ_INSTS_LDS": 1, "lds_bytes": 512, "SQ_LDS_IDX_ACTIVE": 4}, strided(4), ALL),
    Case("ds_read_b64 v[20:21], v22", {"lds_misaligned_lanes": 32}, strided(4), ALL),
    Case("ds_read_b64 v[20:21], v22", {"lds_misaligned_lanes": 0}, strided(8), ALL),
    Case("ds_read_b32 v20, v22", {"lds_misaligned_lanes": 0}, strided(4), ALL),
    Case("ds_add_u32 v22, v10", {
        "SQ_INSTS_LDS_ATOMIC": 1, "SQ_LDS_ADDR_CONFLICT": 62, "SQ_LDS_BANK_CONFLICT": 0}, strided(0), ALL),
]  # fmt: skip


# gfx950: 64 banks; phases of 64, 32 and 16 lanes, and which 16 (the same measurements, cdna4info.md).
ON_GFX950 = [
    lds_read("b32", 4, cycles=1, conflicts=0),
    lds_read("b32", 64, cycles=1, conflicts=15),
    lds_read("b64", 8, cycles=2, conflicts=0),
    lds_read("b64", 64, cycles=2, conflicts=14),
    lds_read("b128", 16, cycles=4, conflicts=0),
    lds_read("b128", 32, cycles=4, conflicts=4),
    # Lanes 0 and 8, 256 bytes apart, are in different phases; in a phase of neighbours they would meet.
    lds_read("b128", 32, cycles=4, conflicts=0, lanes=1 | 1 << 8),
    lds_read("b128", 32, cycles=4, conflicts=1, lanes=1 | 1 << 24),
    # Loads of 12 bytes and stores of 8 have 32 banks (HazyResearch/HipKittens, analysis/paper_experiments/phases).
    lds_read("b96", 128, cycles=8, conflicts=1, lanes=1 | 1 << 21),
    lds_read("b96", 128, cycles=8, conflicts=0, lanes=1 | 1 << 4),
    Case("ds_write_b64 v22, v[10:11]", {"SQ_LDS_IDX_ACTIVE": 8, "SQ_LDS_BANK_CONFLICT": 4}, strided(16), ALL),
    Case("ds_write_b64 v22, v[10:11]", {"SQ_LDS_IDX_ACTIVE": 4, "SQ_LDS_BANK_CONFLICT": 0}, strided(8), ALL),
]

# RDNA: two waves of 32 lanes, so everything twice. Phases as timed on W7900 and RX 9070 XT (the same, rdna3info.md and
# rdna4info.md).
BOTH = 1 | 1 << 32
RDNA_LANE = "v_mbcnt_lo_u32_b32 v22, -1, 0\n"


def rdna(line: str, adds: dict[str, int], *, step: int = 0, lanes: int = ALL, setup: str = "") -> Case:
    """A line in two waves, with lanes `step` bytes apart in v22."""
    setup += f"{RDNA_LANE}v_mul_u32_u24 v22, {step}, v22\n"
    return Case(line, {name: 2 * n for name, n in adds.items()}, setup, lanes)


def rdna_read(width: str, step: int, *, cycles: int, conflicts: int, lanes: int = ALL) -> Case:
    result = {"b32": "v20", "b64": "v[20:21]", "b96": "v[20:22]", "b128": "v[20:23]"}[width]
    adds = {"SQ_LDS_IDX_ACTIVE": cycles + conflicts, "SQ_LDS_BANK_CONFLICT": conflicts}
    return rdna(f"ds_load_{width} {result}, v22", adds, step=step, lanes=lanes)


ON_RDNA = [
    *(rdna_read("b32", step, cycles=1, conflicts=many) for step, many in ((4, 0), (8, 1), (32, 7), (128, 31))),
    *(rdna_read("b64", step, cycles=2, conflicts=many) for step, many in ((8, 0), (16, 2), (64, 14), (128, 30))),
    *(rdna_read("b128", step, cycles=4, conflicts=many) for step, many in ((16, 0), (32, 4), (64, 12), (128, 28))),
    rdna_read("b32", 128, cycles=1, conflicts=0, lanes=BOTH),
    rdna("ds_store_b128 v22, v[10:13]", {"SQ_LDS_IDX_ACTIVE": 16, "SQ_LDS_BANK_CONFLICT": 12}, step=64),
    rdna("v_add_f32 v20, v0, v1", {
        "SQ_WAVE32_INSTS": 1, "SQ_WAVE64_INSTS": 0, "SQ_INSTS_VALU_ADD_F32": 1, "active_lanes_valu": 32}),
    rdna("v_dual_add_f32 v20, v0, v1 :: v_dual_mul_f32 v21, v2, v3", {
        "SQ_INSTS_VALU": 1, "SQ_INSTS_VALU_ADD_F32": 1, "SQ_INSTS_VALU_MUL_F32": 1}),
    rdna("global_load_b32 v20, v22, s[20:21]", {
        "SQ_INSTS_VMEM_RD": 1, "bytes_loaded": 128, "cache_lines_loaded": 1, "TCP_TOTAL_ACCESSES_sum": 0}, step=4),
    rdna("global_load_b32 v20, v22, s[20:21]", {"bytes_loaded": 128, "cache_lines_loaded": 16}, step=64),
    rdna("global_load_b128 v[20:23], v22, s[20:21]", {"bytes_loaded": 512, "cache_lines_loaded": 4}, step=16),
    rdna("global_store_b64 v22, v[10:11], s[20:21]", {"bytes_stored": 256, "cache_lines_stored": 2}, step=8),
]  # fmt: skip
# Lanes 0 and 20 share a phase of wide loads on RDNA3, lanes 0 and 4 on RDNA4; in steps of 32 bytes all have one bank.
WMMA = {"SQ_INSTS_VALU": 1, "SQ_INSTS_MFMA": 1, "SQ_INSTS_VALU_MFMA_MOPS_F16": 16, "active_lanes_valu": 0}
ON_RDNA3 = [
    rdna(
        "v_wmma_f32_16x16x16_f16 v[32:39], v[40:47], v[48:55], v[32:39]",
        WMMA,
        setup="".join(f"v_mov_b32 v{n}, 0\n" for n in range(40, 56)),  # both halves of the wave must hold the same
    ),
    rdna_read("b128", 32, cycles=4, conflicts=1, lanes=BOTH | BOTH << 20),
    rdna_read("b128", 32, cycles=4, conflicts=0, lanes=BOTH | BOTH << 4),
]
ON_RDNA4 = [
    rdna("v_wmma_f32_16x16x16_f16 v[32:39], v[40:43], v[44:47], v[32:39]", WMMA),
    rdna("v_wmma_f32_16x16x16_fp8_bf8 v[32:39], v[40:41], v[42:43], v[32:39]", {"SQ_INSTS_VALU_MFMA_MOPS_F8": 16}),
    rdna("v_swmmac_f32_16x16x32_f16 v[32:39], v[40:43], v[44:51], v20", {"SQ_INSTS_VALU_MFMA_MOPS_F16": 32}),
    rdna_read("b128", 32, cycles=4, conflicts=0, lanes=BOTH | BOTH << 20),
    rdna_read("b128", 32, cycles=4, conflicts=1, lanes=BOTH | BOTH << 4),
]


def added_by(sandbox: Sandbox, cases: list[Case], target: str) -> list[tuple[State, State]]:
    """Counters without and with the line of each case."""
    given = []
    for case in cases:
        before = prepared(exec_mask=case.exec_mask)
        given += [(case.setup or "s_nop 0", before), ((case.setup or "s_nop 0\n") + case.line, before)]
    after = run_waves(sandbox, given, target, modelled=True)
    return list(zip(after[::2], after[1::2], strict=True))


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> list[tuple[State, State]]:
    return added_by(sandbox, CASES, "gfx942")


@pytest.fixture(scope="module")
def results_on_gfx950(sandbox: Sandbox) -> list[tuple[State, State]]:
    return added_by(sandbox, ON_GFX950, "gfx950")


def check(case: Case, result: tuple[State, State]) -> None:
    without, with_line = result
    assert not with_line.fault, with_line.fault
    added = {name: with_line.counters[name] - without.counters[name] for name in case.adds}
    assert added == case.adds, case.line


@each_row("number", range(len(CASES)), ids=[f"{case.line} {case.adds}" for case in CASES])
def test_a_line_adds_to_the_counters_what_hardware_would_count(results: list[tuple[State, State]], number: int) -> None:
    check(CASES[number], results[number])


@each_row("number", range(len(ON_GFX950)), ids=[f"{case.line} {case.adds}" for case in ON_GFX950])
def test_the_lds_of_gfx950_has_its_own_banks_and_phases(
    results_on_gfx950: list[tuple[State, State]], number: int
) -> None:
    check(ON_GFX950[number], results_on_gfx950[number])


@pytest.mark.parametrize(("target", "cases"), [("gfx1100", ON_RDNA + ON_RDNA3), ("gfx1201", ON_RDNA + ON_RDNA4)])
def test_waves_of_32_lanes_are_counted_by_the_rules_of_rdna(sandbox: Sandbox, target: str, cases: list[Case]) -> None:
    for case, result in zip(cases, added_by(sandbox, cases, target), strict=True):
        check(case, result)
