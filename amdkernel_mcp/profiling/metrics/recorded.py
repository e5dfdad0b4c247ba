"""Formulas over hardware counters, per architecture, in the words of ROCm Compute Profiler.

Names in a formula: counters; `GUI` = GRBM_GUI_ACTIVE / XCDs of the pass that counted the rest; `T` its duration in ns;
CUs, XCDs, SEs, L2_CHANNELS, WAVE_SLOTS, MHZ and HBM_GBPS of gpus.toml. TCC_EA is called TCC_EA0 from gfx940 on.
HBM_REACHED: the share of HBM_GBPS that benchmarks reach on that part.
Source of the formulas, unless a row says otherwise: ROCm/rocm-systems, rocprofiler-compute 3.3.0, analysis_configs.
"""

from functools import cache

from amdkernel_mcp.profiling.metrics.metric import Definition

COMPUTE_PROFILER = "ROCm Compute Profiler 3.3.0"
ROCPROFV3 = "rocprofiler-sdk, counter_defs.yaml"
OURS = "ours"

_REQUESTS = (
    "TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum"
    " + TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"
)
_EVERYWHERE = (
    ("SALU Utilization", "%", "100 * SQ_ACTIVE_INST_SCA / (GUI * CUs)"),
    ("VALU Utilization", "%", "100 * SQ_ACTIVE_INST_VALU / (GUI * CUs)"),
    ("VMEM Utilization", "%", "100 * (SQ_ACTIVE_INST_FLAT + SQ_ACTIVE_INST_VMEM) / (GUI * CUs)"),
    ("Branch Utilization", "%", "100 * SQ_ACTIVE_INST_MISC / (GUI * CUs)"),
    ("VALU Active Threads", "threads", "SQ_THREAD_CYCLES_VALU / SQ_ACTIVE_INST_VALU"),
    ("IPC", "instr/cycle", "SQ_INSTS / SQ_BUSY_CU_CYCLES"),
    ("LDS Bank Conflicts/Access", "conflicts/access",
     "SQ_LDS_BANK_CONFLICT / (SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT)"),
    ("LDS Utilization", "%", "100 * SQ_LDS_IDX_ACTIVE / (GUI * CUs)"),
    ("Theoretical LDS Bandwidth", "GB/s", "(SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT) * 4 * 32 / T"),
    ("vL1D Cache Hit Rate", "%", f"100 * (1 - ({_REQUESTS}) / TCP_TOTAL_CACHE_ACCESSES_sum)"),
    ("vL1D Cache BW", "GB/s", "{l1_line} * TCP_TOTAL_CACHE_ACCESSES_sum / T"),
    ("vL1D Coalescing", "%", "100 * 64 * TA_TOTAL_WAVEFRONTS_sum / (4 * TCP_TOTAL_ACCESSES_sum)"),
    ("vL1D Stalled on L2 Data", "%", "100 * TCP_PENDING_STALL_CYCLES_sum / TCP_GATE_EN1_sum"),
    ("L2 Cache Hit Rate", "%", "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)"),
    ("L2 Cache BW", "GB/s", "{l2_request} * TCC_REQ_sum / T"),
    ("L2-Fabric Read BW", "GB/s", "({fabric_read}) / T"),
    ("L2-Fabric Write BW", "GB/s", "({fabric_write}) / T"),
    ("L2-Fabric Read Latency", "cycles", "TCC_EA_RDREQ_LEVEL_sum / TCC_EA_RDREQ_sum"),
    ("L2-Fabric Write Latency", "cycles", "TCC_EA_WRREQ_LEVEL_sum / TCC_EA_WRREQ_sum"),
    ("sL1D Cache Hit Rate", "%", "100 * SQC_DCACHE_HITS / (SQC_DCACHE_HITS + SQC_DCACHE_MISSES)"),
    ("sL1D Cache BW", "GB/s", "64 * SQC_DCACHE_REQ / T"),
    ("L1I Hit Rate", "%", "100 * SQC_ICACHE_HITS / (SQC_ICACHE_HITS + SQC_ICACHE_MISSES)"),
    ("L1I BW", "GB/s", "64 * SQC_ICACHE_REQ / T"),
    ("L1I Fetch Latency", "cycles", "SQ_IFETCH_LEVEL_ACCUM / SQ_IFETCH"),
    ("VMEM Latency", "cycles", "SQ_INST_LEVEL_VMEM_ACCUM / SQ_INSTS_VMEM"),
    ("SMEM Latency", "cycles", "SQ_INST_LEVEL_SMEM_ACCUM / SQ_INSTS_SMEM"),
    ("LDS Latency", "cycles", "SQ_INST_LEVEL_LDS_ACCUM / SQ_INSTS_LDS"),
    ("Dependency Wait", "% of wave cycles", "100 * SQ_WAIT_ANY / SQ_WAVE_CYCLES"),
    ("Issue Wait", "% of wave cycles", "100 * SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES"),
    ("CU Utilization", "%", "100 * SQ_BUSY_CU_CYCLES / (GUI * CUs)"),
    ("Wavefront Occupancy", "waves", "SQ_LEVEL_WAVES_ACCUM / GUI_MERGED"),
    ("Wavefront Occupancy, % of peak", "%", "100 * SQ_LEVEL_WAVES_ACCUM / (GUI_MERGED * WAVE_SLOTS)"),
    ("Wavefront Occupancy, same-pass denominator", "waves", "SQ_LEVEL_WAVES_ACCUM / GUI"),
    ("Wavefront Occupancy, same-pass denominator, % of peak", "%", "100 * SQ_LEVEL_WAVES_ACCUM / (GUI * WAVE_SLOTS)"),
    ("GUI_ACTIVE per XCD at max_sclk", "ns", "1000 * GUI / MHZ"),
    ("GUI_ACTIVE time / Kernel Time", "ratio", "1000 * GUI / (MHZ * T)"),
    ("HBM read+write, % of peak", "%", "100 * ({fabric_read} + {fabric_write}) / (T * HBM_GBPS)"),
    ("HBM read+write, % of what benchmarks reach", "%",
     "100 * ({fabric_read} + {fabric_write}) / (T * HBM_GBPS * HBM_REACHED)"),
    ("LDS Bank Conflicts", "% of GPU time", "100 * SQ_LDS_BANK_CONFLICT / (GUI * CUs)"),
)  # fmt: skip

_VALU_FLOP = "64 * (" + " + ".join(
    f"SQ_INSTS_VALU_ADD_{w} + SQ_INSTS_VALU_MUL_{w} + SQ_INSTS_VALU_TRANS_{w} + 2 * SQ_INSTS_VALU_FMA_{w}"
    for w in ("F16", "F32", "F64")
) + ")"  # fmt: skip
_MFMA_FLOP = "512 * (" + " + ".join(f"SQ_INSTS_VALU_MFMA_MOPS_{k}" for k in ("F16", "BF16", "F32", "F64")) + "{f8})"
_FLOP = f"({_VALU_FLOP} + {_MFMA_FLOP})"
_WITH_MATRIX_CORES = (
    ("MFMA Utilization", "%", "100 * SQ_VALU_MFMA_BUSY_CYCLES / (GUI * CUs * 4)"),
    *((f"MFMA FLOPs ({kind})", "GFLOP/s", f"512 * SQ_INSTS_VALU_MFMA_MOPS_{kind} / T")
      for kind in ("BF16", "F16", "F32", "F64")),
    ("MFMA IOPs (Int8)", "GIOP/s", "512 * SQ_INSTS_VALU_MFMA_MOPS_I8 / T"),
    ("VALU FLOPs", "GFLOP/s", f"{_VALU_FLOP} / T"),
    ("VALU IOPs", "GIOP/s", "64 * (SQ_INSTS_VALU_INT32 + SQ_INSTS_VALU_INT64) / T"),
    ("FLOP rate", "GFLOP/s", f"{_FLOP} / T"),
    ("AI HBM", "flop/B", f"{_FLOP} / ({{fabric_read}} + {{fabric_write}})"),
    ("AI L2", "flop/B", f"{_FLOP} / ({{l1_line}} * ({_REQUESTS}))"),
    ("AI L1", "flop/B", f"{_FLOP} / ({{l1_line}} * TCP_TOTAL_CACHE_ACCESSES_sum)"),
    ("AI L2 (64 B line, as 3.3.0)", "flop/B", f"{_FLOP} / (64 * ({_REQUESTS}))"),
    ("AI L1 (64 B line, as 3.3.0)", "flop/B", f"{_FLOP} / (64 * TCP_TOTAL_CACHE_ACCESSES_sum)"),
)  # fmt: skip
# rocprofv3 sums the levels up itself; it has no counter for them that a formula could use.
_ACCUMULATED = (
    ("Wavefront Occupancy, of rocprofv3", "waves", "MeanOccupancyPerCU * CUs"),
    ("VMEM Latency, of rocprofv3", "cycles", "VmemLatency"),
    ("LDS Latency, of rocprofv3", "cycles", "LdsLatency"),
    ("L1I Fetch Latency, of rocprofv3", "cycles", "InstrFetchLatency"),
)
_WITH_F8 = (("MFMA FLOPs (F8)", "GFLOP/s", "512 * SQ_INSTS_VALU_MFMA_MOPS_F8 / T"),)
_WITH_F6F4 = (("MFMA FLOPs (F6F4)", "GFLOP/s", "512 * SQ_INSTS_VALU_MFMA_MOPS_F6F4 / T"),)

_READ_64 = "64 * (TCC_EA_RDREQ_sum - TCC_EA_RDREQ_32B_sum) + 32 * TCC_EA_RDREQ_32B_sum"
_READ_BUBBLE = (
    "128 * TCC_BUBBLE_sum + 64 * (TCC_EA_RDREQ_sum - TCC_BUBBLE_sum - TCC_EA_RDREQ_32B_sum) + 32 * TCC_EA_RDREQ_32B_sum"
)
_READ_128 = "32 * TCC_EA_RDREQ_32B_sum + 64 * TCC_EA_RDREQ_64B_sum + 128 * TCC_EA_RDREQ_128B_sum"
_WRITE = "64 * TCC_EA_WRREQ_64B_sum + 32 * (TCC_EA_WRREQ_sum - TCC_EA_WRREQ_64B_sum)"

# On gfx950 all fabric reads may be 128 B with TCC_BUBBLE at 0, so the formula of gfx942 would halve them.
_PARTS: dict[str, dict[str, str]] = {
    "gfx908": {"l1_line": "64", "l2_request": "64", "fabric_read": _READ_64, "f8": ""},
    "gfx90a": {"l1_line": "64", "l2_request": "128", "fabric_read": _READ_64, "f8": ""},
    "gfx942": {"l1_line": "128", "l2_request": "128", "fabric_read": _READ_BUBBLE,
               "f8": " + SQ_INSTS_VALU_MFMA_MOPS_F8"},
    "gfx950": {"l1_line": "128", "l2_request": "128", "fabric_read": _READ_128,
               "f8": " + SQ_INSTS_VALU_MFMA_MOPS_F8 + SQ_INSTS_VALU_MFMA_MOPS_F6F4"},
}  # fmt: skip
# RDNA 3.5; source: ROCm/rocm-systems, pull requests 4794 and 5423. The SQ metrics above are of CDNA only.
_GL2_READ = "32 * GL2C_EA_RDREQ_32B + 64 * GL2C_EA_RDREQ_64B + 96 * GL2C_EA_RDREQ_96B + 128 * GL2C_EA_RDREQ_128B"
_GL2_WRITE = "64 * GL2C_EA_WRREQ_64B + 32 * (GL2C_MC_WRREQ - GL2C_EA_WRREQ_64B)"
_RDNA35 = (
    ("L2 Cache Hit Rate", "%", "100 * GL2C_HIT / (GL2C_HIT + GL2C_MISS)"),
    ("L2-Fabric Read BW", "GB/s", f"({_GL2_READ}) / T"),
    ("L2-Fabric Write BW", "GB/s", f"({_GL2_WRITE}) / T"),
    ("HBM read+write, % of peak", "%", f"100 * ({_GL2_READ} + {_GL2_WRITE}) / (T * HBM_GBPS)"),
    ("HBM read+write, % of what benchmarks reach", "%",
     f"100 * ({_GL2_READ} + {_GL2_WRITE}) / (T * HBM_GBPS * HBM_REACHED)"),
)  # fmt: skip
# RDNA 3 and 4; source: rocprofiler-sdk, counter_defs.yaml (L2CacheHit, LDSBankConflict, WAVE_DEP_WAIT, WAVE_ISSUE_WAIT,
# MeanOccupancyPerCU, FETCH_SIZE, WRITE_SIZE, VALUInsts; gfx12: VALUBusy, LdsUtil, L0CacheHit). A WGP is two CUs.
_RDNA = (
    ("L2 Cache Hit Rate", "%", "100 * GL2C_HIT / (GL2C_HIT + GL2C_MISS)"),
    ("LDS Bank Conflicts", "% of LDS cycles", "100 * SQC_LDS_BANK_CONFLICT / SQC_LDS_IDX_ACTIVE"),
    ("Dependency Wait", "% of wave cycles", "100 * SQ_WAIT_ANY / SQ_WAVE_CYCLES"),
    ("Issue Wait", "% of wave cycles", "100 * SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES"),
    ("Wavefront Occupancy, same-pass denominator", "waves", "SQ_WAVE_CYCLES / GUI"),
    ("Wavefront Occupancy, same-pass denominator, % of peak", "%", "100 * SQ_WAVE_CYCLES / (GUI * WAVE_SLOTS)"),
    *((f"{kind} Instructions per Wave", "instructions", f"SQ_INSTS_{kind} / SQ_WAVES")
      for kind in ("VALU", "SALU", "SMEM", "LDS", "FLAT")),
    ("GUI_ACTIVE per XCD at max_sclk", "ns", "1000 * GUI / MHZ"),
    ("GUI_ACTIVE time / Kernel Time", "ratio", "1000 * GUI / (MHZ * T)"),
)  # fmt: skip
_GFX1100 = (*_RDNA, *_RDNA35[1:], ("LDS Latency, of rocprofv3", "cycles", "LdsLatency"))
_GFX1201 = (
    *_RDNA,
    ("VALU Utilization", "%", "100 * SQ_INST_CYCLES_VALU / (GUI * CUs / 2)"),
    ("LDS Utilization", "%", "100 * SQC_LDS_IDX_ACTIVE / (GUI * CUs / 2)"),
    ("L0 Cache Hit Rate", "%", "100 * (1 - TCP_REQ_MISS / TCP_REQ)"),
    ("L2-Fabric Read BW", "GB/s", "(32 * GL2C_EA_RDREQ_32B + 64 * GL2C_EA_RDREQ_64B + 128 * GL2C_EA_RDREQ_128B) / T"),
)
_KIB = "1024 * (FETCH_SIZE + WRITE_SIZE)"
_GIVEN: dict[str, str] = {
    "SALU Utilization": "SALUBusy",
    "VALU Utilization": "VALUBusy",
    "VALU Active Threads": "64 * VALUUtilization / 100",
    "MFMA Utilization": "MfmaUtil",
    "L2 Cache Hit Rate": "L2CacheHit",
    "L2-Fabric Read BW": "1024 * FETCH_SIZE / T",
    "L2-Fabric Write BW": "1024 * WRITE_SIZE / T",
    "HBM read+write, % of peak": f"100 * {_KIB} / (T * HBM_GBPS)",
    "HBM read+write, % of what benchmarks reach": f"100 * {_KIB} / (T * HBM_GBPS * HBM_REACHED)",
    "LDS Bank Conflicts": "LDSBankConflict",
    "Wavefront Occupancy, same-pass denominator, % of peak": "OccupancyPercent",
    "Memory Unit Busy": "MemUnitBusy",
    "Memory Unit Stalled": "MemUnitStalled",
}
"""What rocprofv3 computes itself under another name, for recordings that have that alone. Sizes are in KiB."""
_GIVEN_ALONE = (
    ("VALU Utilization", "%"), ("L2 Cache Hit Rate", "%"), ("L2-Fabric Read BW", "GB/s"),
    ("L2-Fabric Write BW", "GB/s"), ("HBM read+write, % of peak", "%"),
    ("HBM read+write, % of what benchmarks reach", "%"), ("LDS Bank Conflicts", "%"),
    ("Wavefront Occupancy, same-pass denominator, % of peak", "%"),
    ("Memory Unit Busy", "%"), ("Memory Unit Stalled", "%"),
)  # fmt: skip
"""Rows of every architecture that has no formula of its own for them."""
_ROWS_OF_RDNA = {"gfx1151": _RDNA35, "gfx1100": _GFX1100, "gfx1201": _GFX1201}
CDNA = tuple(_PARTS)
ARCHITECTURES = (*CDNA, *_ROWS_OF_RDNA)
_SAME_AS = {"gfx940": "gfx942", "gfx941": "gfx942"} | dict.fromkeys(("gfx1150", "gfx1152", "gfx1153"), "gfx1151")
_SAME_AS |= {"gfx1101": "gfx1100", "gfx1102": "gfx1100", "gfx1200": "gfx1201"}
_OURS = ("same-pass", "% of peak", "benchmarks reach", "AI ", "FLOP rate", "GUI_ACTIVE")
_MEANINGS = {
    "Wavefront Occupancy": "as the tool prints it: in a merged recording the denominator comes from another pass",
    "vL1D Cache Hit Rate": "counts several requests to one line as hits: 50 % and more without any reuse",
    "L2 Cache Hit Rate": "counts writes as hits",
    "HBM read+write, % of peak": "fabric traffic; Infinity Cache may serve a part of it",
    "HBM read+write, % of what benchmarks reach": "the same, of what a copy of AMD's benchmarks reaches on that part",
    "Memory Unit Busy": "time in which the busiest address unit had work, waits for data included",
    "VALU FLOPs": "inactive lanes count too",
    "GUI_ACTIVE time / Kernel Time": "by how much work outside the kernel dilutes each percentage of GUI",
}


@cache
def definitions(gfx: str | None) -> tuple[Definition, ...]:
    """The metrics of an architecture, in the order of a report; of an unknown one those that the profiler computed."""
    gfx = _SAME_AS.get(gfx or "", gfx or "")
    rows = [*_ROWS_OF_RDNA[gfx]] if gfx in _ROWS_OF_RDNA else _of_cdna(gfx) if gfx in _PARTS else []
    known = {name for name, _, _ in rows}
    rows += [(name, unit, "") for name, unit in _GIVEN_ALONE if name not in known]
    if gfx != "gfx1151" and gfx in _ROWS_OF_RDNA:
        return tuple(_definition(*row, ROCPROFV3) for row in rows)
    return tuple(_definition(*row, COMPUTE_PROFILER) for row in rows)


def _of_cdna(gfx: str) -> list[tuple[str, str, str]]:
    rows = list(_EVERYWHERE)
    if gfx != "gfx908":  # its SQ has no counters of VALU types
        rows += (*_WITH_MATRIX_CORES, *_ACCUMULATED)
    if gfx in ("gfx942", "gfx950"):
        rows += _WITH_F8
    if gfx == "gfx950":
        rows += _WITH_F6F4
    parts = _PARTS[gfx] | {"fabric_write": _WRITE}
    return [(name, unit, text.format(**parts)) for name, unit, text in rows]


def _definition(name: str, unit: str, text: str, source: str) -> Definition:
    source = _source(name, source) if text else ROCPROFV3
    return Definition(name, unit, text, "measured", source, _MEANINGS.get(name, ""), _GIVEN.get(name, ""))


def _source(name: str, source: str) -> str:
    if name in ("AI L2 (64 B line, as 3.3.0)", "AI L1 (64 B line, as 3.3.0)"):
        return COMPUTE_PROFILER
    if name.endswith(", of rocprofv3") or name == "LDS Bank Conflicts":
        return ROCPROFV3
    return OURS if any(mark in name for mark in _OURS) else source
