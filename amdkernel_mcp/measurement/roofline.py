"""How long a dispatch would take on a GPU if one resource alone bounded it: a model, never a measurement.

Every bound is a lower bound of the time, from the emulator's counts and the GPU's peak rates; the modelled time is the
largest of them. What the model leaves out makes real kernels slower: latency of dependent instructions, contention of
atomics, clocks below the peak, the cost of a launch. Traffic is that of the emulator's cache model.

Sources: the GPU's figures in hardware/gpus.toml; CDNA3 instruction set manual and ROCm Compute Profiler, "Compute
unit", "Local data share" and "Vector L1 cache" for the rates per CU of CDNA; for RDNA the AMD RDNA white paper ("Dual
compute unit") and LLVM, SISchedule.td (from GFX11 on there is a unit of its own for transcendentals). docs/metrics.md
explains each bound.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Literal, get_args

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import MATRIX_TYPES, Dispatch

Resource = Literal[
    "memory", "infinity_cache", "l2_cache", "l1_cache", "lds", "vector_alu", "matrix_cores", "scalar_unit", "wave_issue"
]

LINE_BYTES = 128  # of L2 and Infinity Cache
LDS_BYTES_PER_CLOCK_CU = 128  # 32 banks of 4 bytes
TRANSCENDENTAL = 4  # times the clocks of an addition: exp, log, rcp, sqrt, sin run at a quarter of the rate
MOPS_FLOPS = 512  # one unit of SQ_INSTS_VALU_MFMA_MOPS_*


@dataclass(frozen=True)
class Pipelines:
    """How the units of a CU differ between CDNA and RDNA, besides the figures of gpus.toml."""

    issue_clocks: int
    """Between two instructions of a wave."""
    simds_per_scalar_unit: int
    transcendentals_apart: bool
    """In a unit of their own, so that they overlap with the rest."""
    cus_per_workgroup: int
    """RDNA: the two of a workgroup processor, as hipcc compiles by default."""


CDNA = Pipelines(issue_clocks=4, simds_per_scalar_unit=4, transcendentals_apart=False, cus_per_workgroup=1)
RDNA = Pipelines(issue_clocks=1, simds_per_scalar_unit=1, transcendentals_apart=True, cus_per_workgroup=2)


def pipelines(gpu: Gpu) -> Pipelines:
    """Of the GPU's family."""
    return RDNA if gpu.family.startswith("RDNA") else CDNA


WHAT_IT_IS: dict[str, str] = {
    "memory": "(memory_bytes_read + memory_bytes_written) / memory bandwidth",
    "infinity_cache": "128 B * (mall_hits + mall_misses) read, 64 or 32 B a write / its bandwidth, if known",
    "l2_cache": "L2 requests (128 B read, 64 B written or atomic) / (one per clock and L2 channel)",
    "l1_cache": "tag lookups of the vL1D / (one per clock and busy CU): 64 B each where lanes read in order; RDNA: "
    "lines of 128 B that an instruction touches",
    "lds": "max(SQ_LDS_IDX_ACTIVE, lds_bytes / 128) clocks per busy CU: bank conflicts are in it",
    "vector_alu": "CDNA: 4 clocks per VALU instruction of a wave, 16 per transcendental, per busy SIMD; RDNA: 1 for 32 "
    "lanes, 4 in a separate unit per transcendental; f64 as its peak says",
    "matrix_cores": "512 * MFMA_MOPS of each type / (peak flop per clock and CU) per busy CU",
    "scalar_unit": "one SALU, SMEM or branch instruction per clock and busy CU; RDNA: and busy SIMD",
    "wave_issue": "4 clocks (RDNA: 1) per instruction of a wave, with the waves that are resident at once",
}
assert set(WHAT_IT_IS) == set(get_args(Resource))


@dataclass(frozen=True)
class Model:
    """A modelled time in microseconds, the resource that holds most of it, and all bounds."""

    time_us: float
    limiter: Resource | None
    bounds_us: Mapping[Resource, float]
    dispatches: int


@dataclass(frozen=True)
class BusyUnits:
    """How much of the machine the launch can use at most; fractions come from an uneven last round of workgroups."""

    cus: float
    simds: float
    resident_waves: float


def busy_units(dispatch: Dispatch, gpu: Gpu, *, waves_per_simd: int | None = None) -> BusyUnits:
    """Units that work at the average, when the unit with most work sets the end.

    A workgroup lives on one CU, so the fullest CU has ceil(workgroups / CUs) of them: with 305 workgroups on 304 CUs
    half of the machine waits for one CU. On RDNA it lives on a pair of CUs. `waves_per_simd` is the kernel's occupancy
    limit.
    """
    together = pipelines(gpu).cus_per_workgroup
    groups = max(dispatch.workgroups, 1)
    waves = dispatch.count("SQ_WAVES") or groups * ceil(prod(dispatch.block) / gpu.wave_size)
    fullest = ceil(groups * together / gpu.cus)
    waves_there = ceil(fullest * waves / groups)
    fullest_simd = ceil(waves_there / (gpu.simds_per_cu * together))
    slots = gpu.simds * (waves_per_simd or gpu.waves_per_simd)
    if dispatch.lds_bytes:
        groups_at_once = gpu.cus // together * max(1, together * gpu.lds_kib_per_cu * 1024 // dispatch.lds_bytes)
        slots = min(slots, ceil(groups_at_once * waves / groups))
    return BusyUnits(together * groups / fullest, waves / fullest_simd, min(waves, slots))


def dispatch_bounds(dispatch: Dispatch, gpu: Gpu, *, waves_per_simd: int | None = None) -> dict[Resource, float]:
    """Lower bounds in microseconds."""
    has, busy = pipelines(gpu), busy_units(dispatch, gpu, waves_per_simd=waves_per_simd)
    per_cu = 1 / (busy.cus * gpu.clock_mhz)  # microseconds per clock of all busy CUs
    per_simd = 1 / (busy.simds * gpu.clock_mhz)
    per_scalar_unit = per_cu if has.simds_per_scalar_unit > 1 else per_simd
    count = dispatch.count
    bounds: dict[Resource, float] = {
        "memory": (count("memory_bytes_read") + count("memory_bytes_written")) / (gpu.memory_gbps * 1e3),
        "l1_cache": l1_lookups(dispatch, gpu) * per_cu,
        "lds": max(count("SQ_LDS_IDX_ACTIVE"), count("lds_bytes") / LDS_BYTES_PER_CLOCK_CU) * per_cu,
        "vector_alu": vector_clocks(dispatch, gpu) * per_simd,
        "matrix_cores": matrix_clocks(dispatch, gpu) * per_cu,
        "scalar_unit": scalar_instructions(dispatch) * per_scalar_unit,
        "wave_issue": count("SQ_INSTS") * has.issue_clocks / max(busy.resident_waves, 1) / gpu.clock_mhz,
    }
    if gpu.l2_channels:
        bounds["l2_cache"] = count("TCC_REQ_sum") / gpu.l2_channels / gpu.clock_mhz
    if gpu.mall_gbps:
        bounds["infinity_cache"] = fabric_bytes(dispatch) / (gpu.mall_gbps * 1e3)
    return bounds


def fabric_bytes(dispatch: Dispatch) -> float:
    """Bytes between the L2 and the fabric of a part with an Infinity Cache."""
    writes, full = dispatch.count("TCC_EA0_WRREQ_sum"), dispatch.count("TCC_EA0_WRREQ_64B_sum")
    read = LINE_BYTES * (dispatch.count("mall_hits") + dispatch.count("mall_misses"))
    return read + 64 * full + 32 * (writes - full)


def model_case(dispatches: Sequence[Dispatch], gpu: Gpu, *, waves_per_simd: Mapping[str, int] | None = None) -> Model:
    """Modelled time of a case whose dispatches run one after the other.

    The time is the sum of the dispatches' times, so two launches that are bound by different resources take the time
    of both. `waves_per_simd` is the occupancy limit by kernel name.
    """
    limits = waves_per_simd or {}
    time_us, held_by, total = 0.0, dict[Resource, float](), dict[Resource, float]()
    for dispatch in dispatches:
        bounds = dispatch_bounds(dispatch, gpu, waves_per_simd=limits.get(dispatch.kernel))
        for resource, bound_us in bounds.items():
            total[resource] = total.get(resource, 0.0) + bound_us
        if limiter := largest(bounds):
            time_us += bounds[limiter]
            held_by[limiter] = held_by.get(limiter, 0.0) + bounds[limiter]
    return Model(time_us, largest(held_by), total, len(dispatches))


def largest(bounds: Mapping[Resource, float]) -> Resource | None:
    """The resource with the largest figure; None where nothing is bounded."""
    resource = max(bounds, key=lambda name: bounds[name], default=None)
    return resource if resource is not None and bounds[resource] > 0 else None


def l1_lookups(dispatch: Dispatch, gpu: Gpu) -> float:
    """Clocks in which a CU's first cache looks up lines. RDNA's groups of lanes are not known: a line at least once."""
    if pipelines(gpu) is CDNA:
        return dispatch.count("TCP_TOTAL_CACHE_ACCESSES_sum")
    return dispatch.count("cache_lines_loaded") + dispatch.count("cache_lines_stored")


def vector_clocks(dispatch: Dispatch, gpu: Gpu) -> float:
    """SIMD clocks of all VALU instructions that are not MFMA or WMMA."""
    count, wave = dispatch.count, wave_size(dispatch, gpu)
    clocks, double = (_clocks_of_an_fma(gpu, f"vector_{kind}", wave) for kind in ("f32", "f64"))
    slow = sum(count(f"SQ_INSTS_VALU_{kind}_F64") for kind in ("ADD", "MUL", "FMA"))
    trans = count("SQ_INSTS_VALU_TRANS_F16") + count("SQ_INSTS_VALU_TRANS_F32")
    slow_trans = count("SQ_INSTS_VALU_TRANS_F64")
    plain = max(count("SQ_INSTS_VALU") - count("SQ_INSTS_MFMA") - slow - trans - slow_trans, 0)
    ordinary = plain * clocks + slow * double
    transcendental = TRANSCENDENTAL * (trans * clocks + slow_trans * double)
    if pipelines(gpu).transcendentals_apart:
        return max(ordinary + (trans + slow_trans) * clocks, transcendental)
    return ordinary + transcendental


def wave_size(dispatch: Dispatch, gpu: Gpu) -> int:
    """Lanes of the dispatch's waves."""
    return 64 if dispatch.count("SQ_WAVE64_INSTS") else gpu.wave_size


def _clocks_of_an_fma(gpu: Gpu, unit: str, wave: int) -> float:
    """Of one wave on one SIMD, from the peak of the CU; of a type that the part lacks in the table, as f32."""
    rate = gpu.flops_per_clock_cu.get(unit) or gpu.flops_per_clock_cu["vector_f32"]
    return 2 * wave * gpu.simds_per_cu / rate


def matrix_flops(dispatch: Dispatch) -> float:
    """Flop (integer operations for I8) of all MFMA instructions, masked lanes included as the hardware does."""
    return MOPS_FLOPS * sum(dispatch.count(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}") for kind in MATRIX_TYPES)


def matrix_clocks(dispatch: Dispatch, gpu: Gpu) -> float:
    """CU clocks of all MFMA instructions at the part's peak rate; types that the part lacks count nothing."""
    clocks = 0.0
    for kind in MATRIX_TYPES:
        rate = gpu.flops_per_clock_cu.get(f"matrix_{kind.lower()}")
        if rate:
            clocks += MOPS_FLOPS * dispatch.count(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}") / rate
    return clocks


def scalar_instructions(dispatch: Dispatch) -> float:
    """Instructions that a scalar unit takes one by one."""
    return sum(dispatch.count(name) for name in ("SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_BRANCH"))
