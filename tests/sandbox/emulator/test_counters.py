"""What one line adds to the counters of a wave."""

from dataclasses import dataclass

import pytest
from values import prepared
from waves import SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

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
    Case("s_branch 0", {"SQ_INSTS_BRANCH": 1, "branches_taken": 1, "SQ_INSTS_SALU": 0}),
    Case("s_cbranch_execz 0", {"SQ_INSTS_BRANCH": 1, "branches_taken": 0}),
    Case("s_barrier", {"SQ_INSTS": 1, "barriers": 1}),
    Case("s_load_dword s10, s[20:21], 0x0", {"SQ_INSTS_SMEM": 1}),
    Case("global_load_dword v20, v22, s[20:21]", {
        "SQ_INSTS_VMEM_RD": 1, "SQ_INSTS_FLAT": 0, "bytes_loaded": 256, "cache_lines_loaded": 2}, strided(4), ALL),
    Case("global_load_dword v20, v22, s[20:21]", {"bytes_loaded": 256, "cache_lines_loaded": 32}, strided(64), ALL),
    Case("global_store_dwordx2 v22, v[10:11], s[20:21]", {
        "SQ_INSTS_VMEM_WR": 1, "bytes_stored": 8 * AWAKE, "bytes_loaded": 0}, strided(8)),
    Case("global_atomic_add v22, v10, s[20:21]", {
        "SQ_INSTS_VMEM_WR": 1, "SQ_INSTS_VMEM_RD": 0, "bytes_loaded": 256, "bytes_stored": 256}, strided(4), ALL),
    Case("global_atomic_add v20, v22, v10, s[20:21] sc0", {"SQ_INSTS_VMEM_WR": 0, "SQ_INSTS_VMEM_RD": 1}, strided(4), ALL),
    Case("ds_read_b32 v20, v22", {
        "SQ_INSTS_LDS": 1, "lds_bytes": 256, "SQ_LDS_IDX_ACTIVE": 2, "SQ_LDS_BANK_CONFLICT": 0}, strided(4), ALL),
    Case("ds_read_b32 v20, v22", {"SQ_LDS_IDX_ACTIVE": 4, "SQ_LDS_BANK_CONFLICT": 2}, strided(8), ALL),
    Case("ds_read_b32 v20, v22", {"SQ_LDS_IDX_ACTIVE": 32, "SQ_LDS_BANK_CONFLICT": 30}, strided(64), ALL),
    Case("ds_read_b64 v[20:21], v22", {"SQ_LDS_IDX_ACTIVE": 4, "SQ_LDS_BANK_CONFLICT": 0}, strided(8), ALL),
    Case("ds_write_b128 v22, v[10:13]", {
        "lds_bytes": 1024, "SQ_LDS_IDX_ACTIVE": 8, "SQ_LDS_BANK_CONFLICT": 0}, strided(16), ALL),
    Case("ds_read2_b32 v[20:21], v22 offset1:1", {"SQ_INSTS_LDS": 1, "lds_bytes": 512}, strided(4), ALL),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> list[tuple[State, State]]:
    """Counters without and with the line."""
    given = []
    for case in CASES:
        before = prepared(exec_mask=case.exec_mask)
        given += [(case.setup or "s_nop 0", before), ((case.setup or "s_nop 0\n") + case.line, before)]
    after = run_waves(sandbox, given, modelled=True)
    return list(zip(after[::2], after[1::2], strict=True))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.line} {case.adds}" for case in CASES])
def test_a_line_adds_to_the_counters_what_hardware_would_count(results: list[tuple[State, State]], number: int) -> None:
    without, with_line = results[number]
    assert not with_line.fault, with_line.fault
    case = CASES[number]
    added = {name: with_line.counters[name] - without.counters[name] for name in case.adds}
    assert added == case.adds, case.line
