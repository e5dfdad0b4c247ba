"""Metrics of a kernel from the emulator's counts: exact counts are `emulated`, figures of a cost model `modelled`."""

from collections.abc import Iterable, Mapping, Sequence

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import MATRIX_TYPES, Dispatch, moved_bytes
from amdkernel_mcp.measurement.roofline import model_case
from amdkernel_mcp.measurement.time_interval import time_interval
from amdkernel_mcp.profiling.metrics.counter_names import shown_name
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS
from amdkernel_mcp.profiling.metrics.metric import Definition, quantity
from amdkernel_mcp.results.kernels import KernelResources
from amdkernel_mcp.results.quantity import Metric

EMULATOR = "emulator: counted per wave instruction as it executes"
COST_MODEL = "emulator: lines of one wave instruction's addresses"
CACHE_MODEL = "emulator: model of the part's caches"
ROOFLINE = "measurement/roofline.py"
SIMULATION = "emulator: simulation of a unit"
PROFILER = "as ROCm Compute Profiler defines it, over the emulator's counts"

MAIN_COUNTERS = (
    "SQ_WAVES", "SQ_INSTS", "SQ_WAVE32_INSTS", "SQ_WAVE64_INSTS", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM",
    "SQ_INSTS_LDS", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_INSTS_MFMA", "bytes_loaded", "bytes_stored",
    "cache_lines_loaded", "cache_lines_stored", "SQ_LDS_BANK_CONFLICT",
)  # fmt: skip

_EVEN_IF_ZERO = frozenset(MAIN_COUNTERS) - {"SQ_WAVE32_INSTS", "SQ_WAVE64_INSTS"}

_VALU_FLOP = " + ".join(
    f"SQ_INSTS_VALU_ADD_{w} + SQ_INSTS_VALU_MUL_{w} + SQ_INSTS_VALU_TRANS_{w} + 2 * SQ_INSTS_VALU_FMA_{w}"
    for w in ("F16", "F32", "F64")
)
_MFMA_FLOP = " + ".join(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}" for kind in MATRIX_TYPES)
_FLOP = f"(wave_size * ({_VALU_FLOP}) + 512 * ({_MFMA_FLOP}))"

SLOTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "issued, VALU": (("slots_vector",), "of a mean SIMD: a vector instruction was issued"),
    "issued, MFMA": (("slots_matrix",), "a matrix instruction was issued"),
    "issued, others": (
        ("slots_scalar", "slots_lds", "slots_memory", "slots_other"),
        "a scalar, LDS or memory instruction, a branch, a wait or a barrier was issued, and neither of the two",
    ),
    "wait: vL1D": (("slots_wait_l1", "slots_wait_address_unit"), "nothing was issued: data from the vL1D"),
    "wait: L2": (("slots_wait_l2",), "nothing was issued: data from the L2"),
    "wait: Infinity Cache": (("slots_wait_infinity_cache",), "nothing was issued: data from the Infinity Cache"),
    "wait: memory": (("slots_wait_memory", "slots_wait_stores"), "nothing was issued: data from memory, or stores"),
    "wait: scalar loads": (("slots_wait_scalar_loads",), "nothing was issued: scalar loads"),
    "wait: LDS": (("slots_wait_lds",), "nothing was issued: the LDS"),
    "wait: MFMA": (("slots_wait_matrix_pipe",), "nothing was issued: the matrix core was busy"),
    "wait: VALU": (
        ("slots_wait_results", "slots_wait_vector_pipe"),
        "nothing was issued: a result, or a slow instruction that kept the vector ALU",
    ),
    "wait: barriers": (("slots_wait_barriers",), "nothing was issued: waves of a workgroup that are uneven"),
    "wait: branches": (("slots_wait_fetch",), "nothing was issued: the instruction behind a branch"),
    "nothing to run": (("slots_nothing_to_run",), "no wave was there: starts, ends, too few waves"),
}
"""What the issue slots of the simulated unit went to; at a barrier, to what held up its last wave."""

DERIVED: tuple[Definition, ...] = (
    Definition("VALU Active Threads", "threads", "active_lanes_valu / (SQ_INSTS_VALU - SQ_INSTS_MFMA)", "emulated",
               PROFILER, "active lanes in a mean VALU instruction other than MFMA and WMMA, of 64 or 32"),
    Definition("VALU Lane Utilization", "%", "100 * active_lanes_valu / (wave_size * (SQ_INSTS_VALU - SQ_INSTS_MFMA))",
               "emulated", EMULATOR,
               "the same as a share; the rest is divergence or unused threads"),
    Definition("FLOP", "flop", _FLOP, "emulated", PROFILER,
               "floating-point operations (I8: integer); inactive lanes count too, as on the GPU"),
    Definition("Bytes Requested", "B", "bytes_loaded + bytes_stored", "emulated", EMULATOR,
               "global bytes that active lanes request"),
    Definition("Compulsory Bytes", "B", "compulsory_bytes", "emulated", ROOFLINE,
               "each buffer once, at most what was requested: no kernel for this problem moves less"),
    Definition("Request Amplification", "ratio", "(bytes_loaded + bytes_stored) / compulsory_bytes", "emulated",
               EMULATOR, "how often the mean byte is requested; above 1, caches or LDS must provide reuse"),
    Definition("Arithmetic Intensity", "flop/B", f"{_FLOP} / compulsory_bytes", "emulated", ROOFLINE,
               "flop per compulsory byte: the best that this algorithm can have at the memory roof"),
    Definition("Arithmetic Intensity L1", "flop/B", f"{_FLOP} / (bytes_loaded + bytes_stored)", "emulated", EMULATOR,
               "flop per requested byte"),
    Definition("Load Coalescing", "%", "100 * (bytes_loaded - bytes_atomic) / (128 * cache_lines_loaded)", "modelled",
               COST_MODEL, "requested bytes as a share of the lines that loads touch, without atomics; above 100 where "
               "lanes read the same bytes"),
    Definition("Store Coalescing", "%", "100 * bytes_stored / (128 * cache_lines_stored)", "modelled", COST_MODEL,
               "stored bytes as a share of the lines that stores touch"),
    Definition("Lines per Load", "lines", "cache_lines_loaded / SQ_INSTS_VMEM_RD", "modelled", COST_MODEL,
               "128-byte lines that a mean load instruction of a wave touches: 2 for one float per lane in order"),
    Definition("Lines per Store", "lines", "cache_lines_stored / SQ_INSTS_VMEM_WR", "modelled", COST_MODEL,
               "the same for stores"),
    Definition("LDS Bank Conflicts/Access", "conflicts/access",
               "SQ_LDS_BANK_CONFLICT / (SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT)", "modelled", PROFILER,
               "extra LDS cycles per cycle without conflict"),
    Definition("L1 Hit Rate", "%", "100 * l1_line_hits / cache_lines_loaded", "modelled", CACHE_MODEL,
               "lines of loads found in the vL1D; lanes of one instruction that share a line count once"),
    Definition("vL1D Hit Rate", "%", "100 * (1 - (TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum + "
               "TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum) / TCP_TOTAL_CACHE_ACCESSES_sum)",
               "modelled", PROFILER, "50 or 62.5 % for a copy without any reuse, as the profiler counts"),
    Definition("Graphics L1 Hit Rate", "%", "100 * gl1_hits / (gl1_hits + gl1_misses)", "modelled", CACHE_MODEL,
               "of the lines that missed in L0 or scalar cache (gfx1100)"),
    Definition("L2 Hit Rate", "%", "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", "modelled", PROFILER,
               "a third for a copy without any reuse: the second half of each stored line counts as a hit"),
    Definition("Infinity Cache Hit Rate", "%", "100 * mall_hits / (mall_hits + mall_misses)", "modelled", CACHE_MODEL,
               "of the lines that the L2 reads; holds lines of earlier dispatches of the run"),
    Definition("Reads across XCDs", "%", "100 * reads_across_xcds / (mall_hits + mall_misses)", "modelled", CACHE_MODEL,
               "of the lines that the L2s read, those that the L2 of another XCD read before in the same launch"),
    Definition("FETCH_SIZE", "KiB", "(128 * TCC_BUBBLE_sum + 64 * (TCC_EA0_RDREQ_sum - TCC_BUBBLE_sum)) / 1024",
               "modelled", "rocprofiler-sdk, derived counters", "read through the fabric"),
    Definition("WRITE_SIZE", "KiB",
               "(64 * TCC_EA0_WRREQ_64B_sum + 32 * (TCC_EA0_WRREQ_sum - TCC_EA0_WRREQ_64B_sum)) / 1024", "modelled",
               "rocprofiler-sdk, derived counters", "written through the fabric"),
    Definition("Memory Bytes", "B", "memory_bytes_read + memory_bytes_written", "modelled", CACHE_MODEL,
               "from and to memory, behind all caches"),
    Definition("Instructions per Wave", "instructions", "SQ_INSTS / SQ_WAVES", "emulated", EMULATOR),
    Definition("Instructions per Byte", "instructions/B", "SQ_INSTS * wave_size / (bytes_loaded + bytes_stored)",
               "emulated", EMULATOR, "wave instructions * lanes of a wave per requested byte"),
    Definition("Bytes per Load", "B", "bytes_loaded / SQ_INSTS_VMEM_RD", "emulated", EMULATOR,
               "bytes of a mean load instruction of a wave: 256 for one float per lane, 1024 for 16 bytes per lane"),
    Definition("Waves per SIMD Slot", "waves", "SQ_WAVES / simds", "emulated", ROOFLINE,
               "waves of the launch per SIMD of the GPU; below 1 a part of the GPU is idle"),
    *(
        Definition(f"Issue Slots: {name}", "%", f"100 * ({' + '.join(counters)}) / simulated_clocks", "modelled",
                   SIMULATION, what)
        for name, (counters, what) in SLOTS.items()
    ),
)  # fmt: skip


FIRST = (
    "Modelled Time",
    "SQ_WAVES",
    "SQ_INSTS_VALU",
    "SQ_INSTS_MFMA",
    "SQ_INSTS_SALU",
    "SQ_INSTS_SMEM",
    "SQ_INSTS_LDS",
    "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR",
)
"""Shown first: the time and the exact counts by instruction family."""


def total_counters(dispatches: Iterable[Dispatch]) -> dict[str, float]:
    """Each counter, summed over the dispatches that have it."""
    total: dict[str, float] = {}
    for dispatch in dispatches:
        for name, value in dispatch.counters.items():
            total[name] = total.get(name, 0) + value
    return total


def raw_counters(dispatches: Sequence[Dispatch], gfx: str) -> dict[str, Metric]:
    """The counters as metrics, under the names of `gfx`, without zeros of rare events."""
    total = total_counters(dispatches)
    return {
        shown: quantity(total[name], unit, how)
        for name, (unit, how, _) in COUNTERS.items()
        if name in total and (total[name] or name in _EVEN_IF_ZERO) and (shown := shown_name(name, gfx))
    }


def main_counters(dispatches: Sequence[Dispatch], gfx: str) -> dict[str, Metric]:
    """The most important counters, for an answer without room for all."""
    counted = raw_counters(dispatches, gfx)
    return {shown: counted[shown] for name in MAIN_COUNTERS if (shown := shown_name(name, gfx)) in counted and shown}


def emulated_metrics(
    dispatches: Sequence[Dispatch], gpu: Gpu, *, resources: KernelResources | None = None
) -> dict[str, Metric]:
    """All metrics of one kernel over its dispatches, in the order in which a truncated answer keeps them."""
    values = formula_inputs(dispatches, gpu, resources)
    modelled = model_metrics(dispatches, gpu, resources)
    absent = "vL1D Hit Rate" if gpu.family.startswith("RDNA") else "Graphics L1 Hit Rate"
    metrics = {definition.name: definition.metric(values) for definition in DERIVED if definition.name != absent}
    metrics = {name: each for name, each in metrics.items() if each.value or not name.startswith("Issue Slots: ")}
    metrics |= modelled | static_metrics(resources) | raw_counters(dispatches, gpu.gfx)
    first = (shown_name(name, gpu.gfx) for name in FIRST)
    return {name: metrics[name] for name in first if name in metrics} | metrics


def formula_inputs(dispatches: Sequence[Dispatch], gpu: Gpu, resources: KernelResources | None) -> dict[str, float]:
    """The counters and the other inputs of the formulas."""
    values = total_counters(dispatches)
    values.setdefault("bytes_atomic", 0.0)
    values["compulsory_bytes"] = sum(moved_bytes(dispatch) for dispatch in dispatches)
    values["wave_size"] = resources.wavefront_size if resources else gpu.wave_size
    values["simds"] = gpu.simds * max(len(dispatches), 1)
    return values


def model_metrics(dispatches: Sequence[Dispatch], gpu: Gpu, resources: KernelResources | None) -> dict[str, Metric]:
    """The modelled time and its bounds in microseconds."""
    limits = {resources.name: resources.occupancy_waves_per_simd} if resources else {}
    model = model_case(dispatches, gpu, waves_per_simd=limits)
    if model.limiter is None:
        return {"Modelled Time": quantity(None, "us", "modelled")}
    metrics = {
        "Modelled Time": quantity(time_interval(dispatches, gpu, waves_per_simd=limits).likely_us, "us", "modelled")
    }
    for resource, bound_us in sorted(model.bounds_us.items(), key=lambda item: -item[1]):
        metrics[f"Bound: {resource}"] = quantity(bound_us, "us", "modelled")
    return metrics


def static_metrics(resources: KernelResources | None) -> dict[str, Metric]:
    """What the code object says; empty without it."""
    if resources is None:
        return {}
    rows: Mapping[str, tuple[float, str]] = {
        "VGPRs": (resources.vgpr, "registers"),
        "AGPRs": (resources.agpr, "registers"),
        "SGPRs": (resources.sgpr, "registers"),
        "LDS": (resources.lds_bytes, "B"),
        "Scratch": (resources.scratch_bytes, "B"),
        "VGPR Spills": (resources.vgpr_spills, "registers"),
        "Occupancy Limit": (resources.occupancy_waves_per_simd, "waves/SIMD"),
    }
    return {name: quantity(value, unit, "static") for name, (value, unit) in rows.items()}
