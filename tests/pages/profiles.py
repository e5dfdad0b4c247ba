"""A profile of a small emulated kernel, made without a sandbox, whose every text tries to be markup."""

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.counters import MATRIX_TYPES, CaseRun, Dispatch, Footprint, PcCounts
from amdkernel_mcp.profiling.detail import KernelDetail, detail
from amdkernel_mcp.profiling.profile import answer_of, facts_of
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.results.kernels import ProfileResult

HOSTILE = "<img src=x onerror=alert(1)> </script><script>alert(1)</script> {{ 7 * 7 }}"
MI300X = gpu_by_name("MI300X")
MIB, WAVES = 1 << 20, 4096
_FLOP = [f"SQ_INSTS_VALU_{op}_{width}" for op in ("ADD", "MUL", "FMA", "TRANS") for width in ("F16", "F32", "F64")]
_FLOP += [f"SQ_INSTS_VALU_MFMA_MOPS_{kind}" for kind in MATRIX_TYPES]
COUNTERS = dict.fromkeys(("SQ_INSTS_MFMA", "SQ_INSTS_SALU", *_FLOP), 0) | {
    "SQ_WAVES": WAVES, "SQ_INSTS": 20 * WAVES, "SQ_INSTS_VALU": 8 * WAVES, "SQ_INSTS_VALU_FMA_F32": 2 * WAVES,
    "SQ_INSTS_VMEM_RD": WAVES, "SQ_INSTS_VMEM_WR": WAVES, "SQ_INSTS_LDS": WAVES, "active_lanes_valu": 512 * WAVES,
    "bytes_loaded": 256 * WAVES, "bytes_stored": 256 * WAVES, "lds_bytes": 256 * WAVES, "l1_line_hits": WAVES,
    "cache_lines_loaded": 2 * WAVES, "cache_lines_stored": 64 * WAVES, "SQ_LDS_IDX_ACTIVE": 8 * WAVES,
    "SQ_LDS_BANK_CONFLICT": 6 * WAVES, "TCP_TOTAL_CACHE_ACCESSES_sum": 70 * WAVES, "TCP_TCC_READ_REQ_sum": WAVES,
    "TCC_REQ_sum": 66 * WAVES, "TCC_WRITE_sum": 64 * WAVES, "TCC_HIT_sum": 60 * WAVES, "TCC_MISS_sum": 6 * WAVES,
    "TCC_EA0_WRREQ_sum": 4 * WAVES, "TCC_EA0_WRREQ_64B_sum": 4 * WAVES, "mall_hits": WAVES, "mall_misses": WAVES,
    "memory_bytes_read": MIB, "memory_bytes_written": MIB,
}  # fmt: skip


class Lines:
    def line_of(self, address: int) -> int | None:
        return {0x10: 2, 0x14: 2, 0x18: 3}.get(address)


def hostile_facts(**changed: float) -> list[Facts]:
    """What is known of the kernel; `changed` counters."""
    pcs = {
        0x10: PcCounts(WAVES, 64 * WAVES, 256 * WAVES, lines=2 * WAVES, l1_hits=WAVES),
        0x14: PcCounts(WAVES, 64 * WAVES, 256 * WAVES, lines=64 * WAVES, lines_stored=64 * WAVES),
        0x18: PcCounts(WAVES, 64 * WAVES, 256 * WAVES, lds_cycles=8 * WAVES, lds_conflicts=6 * WAVES),
    }
    launch = Dispatch(HOSTILE, (1024, 1, 1), (256, 1, 1), COUNTERS | changed, Footprint(MIB, MIB), pcs)
    source = f"void k() {{ // {HOSTILE}\n  load(); store();\n  lds();\n}}"
    return facts_of(runs=[CaseRun("n", (launch,))], resources=[], source=source, lines=Lines(), gpu=MI300X)


def hostile_profile(**changed: float) -> tuple[ProfileResult, list[KernelDetail]]:
    """The answer and what the page shows besides; `changed` counters."""
    facts = hostile_facts(**changed)
    answer = answer_of(facts, gpu=MI300X, target="emulator:gfx942").model_copy(update={"warnings": [HOSTILE]})
    code = [Instruction(at, f"v_nop {HOSTILE}") for at in (0x10, 0x14, 0x18, 0x1C)]
    return answer, [detail(each, code=code, line_of=Lines().line_of) for each in facts]
