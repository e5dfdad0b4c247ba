"""The name of an emulator counter on each GPU: rocprofv3's name there, else one of ours.

The emulator and all formulas use one name for a count on every GPU: the name on gfx942 where it has one. On other GPUs
rocprof lacks some of them and names some differently. In an answer, a name in capitals is one that rocprofv3 knows on
that GPU; a name in lower case is ours. Source: rocprofiler-sdk, counter_defs.yaml of ROCm 7.
"""

from collections.abc import Mapping

from amdkernel_mcp.measurement.counters import MATRIX_TYPES
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS

_RDNA = {
    "SQ_LDS_BANK_CONFLICT": "SQC_LDS_BANK_CONFLICT",
    "SQ_LDS_IDX_ACTIVE": "SQC_LDS_IDX_ACTIVE",
    "TCC_HIT_sum": "GL2C_HIT_sum",
    "TCC_MISS_sum": "GL2C_MISS_sum",
    "TCC_EA0_WRREQ_64B_sum": "GL2C_EA_WRREQ_64B_sum",
} | {name: name for name in (
    "SQ_WAVES", "SQ_WAVE32_INSTS", "SQ_WAVE64_INSTS", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS",
    "SQ_INSTS_FLAT",
)}  # fmt: skip

_ROCPROF: dict[str, Mapping[str, str]] = {
    "gfx90a": {
        "TCC_EA0_RDREQ_sum": "TCC_EA_RDREQ_sum",
        "TCC_EA0_WRREQ_sum": "TCC_EA_WRREQ_sum",
        "TCC_EA0_WRREQ_64B_sum": "TCC_EA_WRREQ_64B_sum",
    },
    "gfx1100": _RDNA
    | {
        "TCC_EA0_RDREQ_sum": "GL2C_MC_RDREQ_sum",
        "TCC_BUBBLE_sum": "GL2C_EA_RDREQ_128B_sum",
        "TCC_EA0_WRREQ_sum": "GL2C_MC_WRREQ_sum",
    },
    "gfx1201": _RDNA | {"TCC_EA0_WRREQ_sum": "GL2C_EA_WRREQ_sum"},
}
"""Where rocprof's name differs; for RDNA, all that it has."""

_UNKNOWN_TO_ROCPROF: dict[str, frozenset[str]] = {
    "gfx90a": frozenset(
        {f"SQ_INSTS_LDS_{kind}" for kind in ("LOAD", "STORE", "ATOMIC")}
        | {f"SQ_INSTS_VALU_MFMA_{kind}" for kind in ("F8", "XF32", "F6F4", "MOPS_F8", "MOPS_XF32", "MOPS_F6F4")}
    ),
    "gfx942": frozenset(
        {f"SQ_INSTS_LDS_{kind}" for kind in ("LOAD", "STORE", "ATOMIC")}
        | {f"SQ_INSTS_VALU_MFMA_{kind}" for kind in ("XF32", "F6F4", "MOPS_XF32", "MOPS_F6F4")}
        | {"SQ_INSTS_FLAT_LDS_ONLY"}
    ),
    "gfx950": frozenset({"SQ_INSTS_FLAT_LDS_ONLY"}),
}
"""On CDNA. rocprof has all other counters there, under our name or that of `_ROCPROF`."""

_OF_RDNA = frozenset({"SQ_WAVE32_INSTS", "SQ_WAVE64_INSTS"})
"""Only on RDNA: on CDNA SQ_INSTS is the same."""

_OURS: dict[str, str] = {
    "SQ_ITEMS": "work_items",
    "SQ_INSTS_VMEM": "vector_memory_instructions",
    "SQ_INSTS_VMEM_RD": "vector_loads",
    "SQ_INSTS_VMEM_WR": "vector_stores",
    "SQ_INSTS_FLAT_LDS_ONLY": "flat_instructions_in_lds",
    "SQ_INSTS_MFMA": "wmma_instructions",
    "SQ_INSTS_BRANCH": "branches",
    "SQ_INSTS_SENDMSG": "messages",
    "SQ_INSTS_LDS_LOAD": "lds_loads",
    "SQ_INSTS_LDS_STORE": "lds_stores",
    "SQ_INSTS_LDS_ATOMIC": "lds_atomics",
    "SQ_INSTS_VALU_INT32": "valu_int32",
    "SQ_INSTS_VALU_INT64": "valu_int64",
    "SQ_INSTS_VALU_CVT": "valu_conversions",
    "SQ_LDS_ADDR_CONFLICT": "lds_address_conflicts",
    "SQC_DCACHE_REQ": "scalar_loads",
    "SQC_DCACHE_HITS": "scalar_cache_hits",
    "SQC_DCACHE_MISSES": "scalar_cache_misses",
    "TCC_REQ_sum": "l2_requests",
    "TCC_READ_sum": "l2_reads",
    "TCC_WRITE_sum": "l2_writes",
    "TCC_ATOMIC_sum": "l2_atomics",
    "TCC_EA0_RDREQ_sum": "fabric_lines_read",
    **{f"SQC_DCACHE_REQ_READ_{n}": f"scalar_loads_of_{n}" for n in (1, 2, 4, 8, 16)},
    **{
        f"SQ_INSTS_VALU_{kind}_{width}": f"valu_{kind}_{width}".lower()
        for kind in ("ADD", "MUL", "FMA", "TRANS")
        for width in ("F16", "F32", "F64")
    },
}
"""Where rocprof has no name. A counter without a name here either is left out: it says nothing on that GPU."""


def shown_name(name: str, gfx: str) -> str | None:
    """The name of the emulator's counter `name` in an answer for `gfx`; None where it is left out."""
    if name not in COUNTERS or not name[0].isupper():
        return name
    cdna = gfx in _UNKNOWN_TO_ROCPROF
    if cdna and name in _OF_RDNA:
        return None
    renamed = _ROCPROF.get(gfx, {}).get(name)
    if renamed or (cdna and name not in _UNKNOWN_TO_ROCPROF[gfx]):
        return renamed or name
    return _OURS.get(name) or _of_matrices(name, "mfma" if cdna else "wmma")


def _of_matrices(name: str, unit: str) -> str | None:
    for kind in MATRIX_TYPES:
        if name == f"SQ_INSTS_VALU_MFMA_{kind}":
            return f"{unit}_{kind.lower()}"
        if name == f"SQ_INSTS_VALU_MFMA_MOPS_{kind}":
            return f"{unit}_mops_{kind.lower()}"
    return None


ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


def other_names(name: str) -> dict[str, tuple[str, ...]]:
    """Names other than `name`, each with its architectures; those that leave it out are under ``."""
    found: dict[str, tuple[str, ...]] = {}
    for gfx in ARCHITECTURES:
        shown = shown_name(name, gfx) or ""
        if shown != name:
            found[shown] = (*found.get(shown, ()), gfx)
    return found
