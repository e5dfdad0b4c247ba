"""Rules of the diagnosis of an emulated kernel: one function each, a finding or the reason why it is none.

A finding has two witnesses: a count that shows the pattern, and the model's bound that shows that the pattern weighs.
Nothing here speaks of stalls or of measured time: the emulator has neither.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from amdkernel_mcp.measurement.counters import PcCounts
from amdkernel_mcp.profiling.hot_lines import most_wasteful_line
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.finding import finding
from amdkernel_mcp.results.kernels import Diagnosis

WEIGHS = 0.5
"""From this part of the modelled time on a bound is worth acting on."""


SCATTERED_LINES = 2
"""Lines of a mean access from which on its lanes are scattered."""

BYTES_WORTH_SPLITTING = 64
"""Data of a thread, from which on more threads could share its work; below it the problem itself is small."""


@dataclass(frozen=True)
class RuledOut:
    """Why a class of trouble is not this kernel's."""

    what: str
    because: str


Answer = Diagnosis | RuledOut | None
"""None: the question does not arise."""


def _wasteful_line(counts_of: Mapping[int, PcCounts]) -> str:
    """The line whose loads or stores touch most bytes that no lane asked for; empty where lines are not known."""
    line = most_wasteful_line(counts_of)
    if line is None:
        return ""
    counts = counts_of[line]
    asked, touched = counts.bytes / counts.executions, counts.lines / counts.executions
    return f"; line {line} asks for {asked:.0f} B an instruction and touches {touched:.1f} lines of 128 B for them"


def uncoalesced_loads(facts: Facts) -> Answer:
    """A wave's load touches many more lines than its bytes fill: one line that is not filled is no worse than full."""
    used, lines = facts.metric("Load Coalescing"), facts.metric("Lines per Load")
    share = facts.share("l1_cache", "l2_cache")
    if not used:
        return None
    because = f"a load touches {lines:.1f} lines of 128 B and uses {used:.0f} % of their bytes"
    if used >= 50 or lines < SCATTERED_LINES:
        return RuledOut("uncoalesced loads", because)
    if share < WEIGHS:
        return RuledOut("uncoalesced loads", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return finding(
        "Loads are not coalesced",
        because=f"{because}; cache requests are {share:.0%} of the modelled time{_wasteful_line(facts.lines.loads)}",
        advice="let neighbouring lanes (threadIdx.x) read neighbouring addresses; where the layout forbids it, load a "
        "tile in order and transpose it through LDS",
        docs=("coalesced global memory access", "shared memory tile transpose"),
    )


def uncoalesced_stores(facts: Facts) -> Answer:
    """The same for stores, which write through to the L2."""
    used, lines = facts.metric("Store Coalescing"), facts.metric("Lines per Store")
    share = facts.share("l1_cache", "l2_cache")
    if not used:
        return None
    because = f"a store touches {lines:.1f} lines of 128 B and fills {used:.0f} % of their bytes"
    if used >= 50 or lines < SCATTERED_LINES:
        return RuledOut("uncoalesced stores", because)
    if share < WEIGHS:
        return RuledOut("uncoalesced stores", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return finding(
        "Stores are not coalesced",
        because=f"{because}; cache requests are {share:.0%} of the modelled time{_wasteful_line(facts.lines.stores)}",
        advice="let neighbouring lanes write neighbouring addresses, if need be after a transpose through LDS",
        docs=("coalesced global memory access", "shared memory tile transpose"),
    )


def _conflicting_line(facts: Facts) -> str:
    line = facts.lines.most_conflicting_line
    if line is None:
        return ""
    counts = facts.lines.lds[line]
    return f"; line {line} loses {counts.lds_conflicts:,} of {counts.lds_cycles:,} LDS cycles"


def lds_bank_conflicts(facts: Facts) -> Answer:
    """LDS accesses that take several turns; conflicts alone are no share of time."""
    if not facts.counter("SQ_INSTS_LDS") or not facts.known("LDS Bank Conflicts/Access"):
        return None
    conflicts, share = facts.metric("LDS Bank Conflicts/Access"), facts.share("lds")
    because = f"{conflicts:.2f} conflict cycles per access cycle; LDS is {share:.0%} of the modelled time"
    if conflicts < 0.25 or share < 0.4:
        return RuledOut("LDS bank conflicts", because)
    return finding(
        "LDS bank conflicts",
        because=because + _conflicting_line(facts),
        advice=_conflict_advice(facts),
        docs=("LDS bank conflicts padding",),
    )


def _conflict_advice(facts: Facts) -> str:
    if facts.counter("SQ_INSTS_LDS_ATOMIC") > 0.5 * facts.counter("SQ_INSTS_LDS"):
        return (
            "atomics to places that the data choose: give each wave, or a few lanes each, a copy of its own and add up "
            "the copies at the end; sum what a thread has for one place in a register first"
        )
    return (
        "pad the rows of the LDS array by one element (or swizzle the column with the row), so that lanes of a phase "
        "hit different banks"
    )


def idle_lanes(facts: Facts) -> Answer:
    """Lanes that are switched off while instructions execute."""
    used = facts.metric("VALU Lane Utilization")
    if not used:
        return None
    share = facts.share("vector_alu", "wave_issue", "scalar_unit")
    because = f"a vector instruction works on {used:.0f} % of its lanes at the mean"
    if used >= 75:
        return RuledOut("divergence", because)
    if share < 0.3 and facts.model.limiter == "memory":
        return RuledOut("divergence", f"{because}, but instructions are {share:.0%} of the modelled time")
    x, y, z = facts.largest_dispatch.block
    lanes = facts.wave_size
    partial = x * y * z % lanes
    cause = (
        f"; the block of {x * y * z} threads leaves {lanes - partial} lanes of its last wave unused" if partial else ""
    )
    return finding(
        "Many lanes are switched off",
        because=f"{because}; instruction issue is {share:.0%} of the modelled time{cause}",
        advice=f"use blocks of a multiple of {lanes}, make branch conditions uniform over {lanes} lanes, and "
        "let all lanes of a wave share a reduction or a long row",
        docs=("warp divergence control flow", f"wavefront size {lanes} block size"),
    )


def spills(facts: Facts) -> Answer:
    """Registers that do not fit live in scratch memory."""
    if facts.resources is None:
        return None
    kernel = facts.resources
    if not kernel.scratch_bytes:
        return RuledOut("register spills", "no scratch memory is used")
    what = "Registers spill to scratch memory" if kernel.vgpr_spills else "A local array lives in scratch memory"
    return finding(
        what,
        because=f"{kernel.scratch_bytes} B of scratch per work-item and {kernel.vgpr_spills} spilled VGPRs "
        f"with {kernel.vgpr} VGPRs in use",
        advice="index local arrays by constants only (unroll the loop fully), use smaller tiles, or allow more "
        "registers with __launch_bounds__",
        docs=("register spilling scratch memory", "__launch_bounds__"),
    )


def low_occupancy(facts: Facts) -> Answer:
    """Few waves per SIMD although the launch has more."""
    if facts.resources is None:
        return None
    waves, limit = facts.resources.occupancy_waves_per_simd, facts.resources.occupancy_limit
    launched = facts.metric("Waves per SIMD Slot")
    most = facts.gpu.waves_per_simd
    because = f"{waves} of {most} waves fit on a SIMD ({limit} decides); the launch has {launched:.1f} per SIMD"
    if waves > 2 or launched <= waves:
        return RuledOut("occupancy", because)
    return finding(
        "Few waves are resident to hide memory latency with",
        because=because,
        advice=f"lower the need for {limit}, or, if it must be, keep several independent loads in flight per wave; "
        "matrix kernels can be fast at this occupancy",
        docs=("occupancy registers LDS waves per SIMD",),
    )


def small_launch(facts: Facts) -> Answer:
    """Too few waves, or a last round of workgroups that leaves most of the machine idle."""
    gpu, dispatch, busy = facts.gpu, facts.largest_dispatch, facts.busy
    part = busy.simds / gpu.simds
    because = (
        f"workgroups: {dispatch.workgroups}, waves: {dispatch.count('SQ_WAVES'):.0f}; they keep {busy.simds:.0f} of "
        f"{gpu.simds} SIMDs ({busy.cus:.0f} of {gpu.cus} CUs) of an {gpu.name} busy"
    )
    each = facts.metric("Compulsory Bytes") / len(facts.dispatches) / (dispatch.workgroups * prod(dispatch.block))
    if part >= 0.75:
        return RuledOut("too little parallelism", because)
    if each < BYTES_WORTH_SPLITTING:
        small = f"but a thread has {each:.0f} B of the data: the case is too small for this GPU, not the launch"
        return RuledOut("too little parallelism", f"{because}, {small}")
    return finding(
        "The launch cannot fill the GPU",
        because=f"{because}: {part:.0%} of the machine, while each thread has {each:.0f} B of the data to itself",
        advice="give every output element or row its own threads, split the long dimension over workgroups and combine "
        "the parts, or use smaller workgroups",
        docs=("grid size workgroups compute units occupancy", "split-k parallel reduction"),
    )


def reread_memory(facts: Facts) -> Answer:
    """Data that leave the caches and come back: the working set between two uses is too large."""
    moved, least = facts.metric("Memory Bytes"), facts.metric("Compulsory Bytes")
    if not moved or not least:
        return None
    share = facts.share("memory")
    because = f"the cache model moves {moved:.4g} B from and to memory, {moved / least:.1f} times the compulsory"
    if moved < 1.5 * least or share < WEIGHS:
        return RuledOut("more than compulsory traffic", f"{because}; memory is {share:.0%} of the modelled time")
    return finding(
        "Data leave the caches before they are used again",
        because=f"{because}; the L2 finds {facts.metric('L2 Hit Rate'):.0f} % of its requests",
        advice="let workgroups that share data run at the same time (order of blockIdx, tiles of tiles), keep more of "
        "it in registers or LDS, or fill whole lines of 128 B",
        docs=("L2 cache reuse workgroup order", *(["MI300X XCD L2 workgroup mapping"] if facts.gpu.xcds > 1 else [])),
    )


def no_matrix_cores(facts: Facts) -> Answer:
    """Dense multiply-add work done by the vector ALU."""
    unit = "WMMA" if facts.gpu.family.startswith("RDNA") else "MFMA"
    if facts.counter("SQ_INSTS_MFMA"):
        return RuledOut("missing matrix instructions", f"{facts.counter('SQ_INSTS_MFMA'):.0f} {unit} instructions ran")
    fma = {kind: facts.counter(f"SQ_INSTS_VALU_FMA_{kind}") for kind in ("F16", "F32", "F64")}
    valu, intensity = facts.counter("SQ_INSTS_VALU"), facts.metric("Arithmetic Intensity")
    if not valu or intensity < 16 or sum(fma.values()) < 0.15 * valu:
        return None
    return finding(
        "A matrix product without matrix instructions",
        because=f"{sum(fma.values()) / valu:.0%} of the vector instructions are multiply-adds at {intensity:.0f} flop "
        f"per compulsory byte, and no {unit} instruction ran",
        advice=f"{_MATRIX_ADVICE[unit]}; for f16 inputs the peak is {_gain(facts):.0f} times that of the vector ALU",
        docs=(f"{unit} matrix core intrinsics", "rocWMMA fragment"),
    )


_MATRIX_ADVICE = {
    "MFMA": "use MFMA: the __builtin_amdgcn_mfma_f32_16x16x16f16 family, rocWMMA, or Composable Kernel",
    "WMMA": "use WMMA, which takes f16, bf16 and 8-bit inputs, if their precision suffices: "
    "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32 (gfx12: ..._w32_gfx12), or rocWMMA",
}


def _gain(facts: Facts) -> float:
    rates = facts.gpu.flops_per_clock_cu
    return rates.get("matrix_f16", 0) / rates.get("vector_f32", 1)


def redundant_traffic(facts: Facts) -> Answer:
    """The same bytes asked for again and again."""
    times, share = facts.metric("Request Amplification"), facts.share("l1_cache")
    if not times:
        return None
    because = f"every byte is asked for {times:.1f} times"
    if times < 4:
        return RuledOut("redundant loads", because)
    if share < WEIGHS:
        return RuledOut("redundant loads", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return finding(
        "The same data are loaded many times",
        because=f"{because} ({facts.metric('Bytes Requested'):.3g} B for {facts.metric('Compulsory Bytes'):.3g} B); L1 "
        f"requests are {share:.0%} of the modelled time",
        advice="keep a tile in LDS or registers and let the whole workgroup use it; fuse passes over the same data",
        docs=("shared memory tiling data reuse", "matrix multiplication LDS tile"),
    )


def narrow_loads(facts: Facts) -> Answer:
    """Coalesced but narrow loads where requests or instructions weigh."""
    loads, size = facts.counter("SQ_INSTS_VMEM_RD"), facts.metric("Bytes per Load")
    if not loads or facts.metric("Load Coalescing") < 50:
        return None
    part = loads / max(facts.counter("SQ_INSTS"), 1)
    if size > 512 or part < 0.05:
        return RuledOut("narrow loads", f"a load brings {size:.0f} B per wave; loads are {part:.0%} of instructions")
    if facts.metric("Load Coalescing") > 150:
        return _uniform_loads(facts, part)
    return finding(
        "Loads are narrow",
        because=f"a load brings {size:.0f} B per wave ({size / facts.wave_size:.1f} B per lane), and {part:.0%} "
        "of all instructions are loads",
        advice="load 16 B per lane (float4, or a vector of eight halves): a quarter of the load and address "
        "instructions, and more bytes in flight",
        docs=("vectorized memory access float4 global_load_dwordx4",),
    )


def _uniform_loads(facts: Facts, part: float) -> Answer:
    return finding(
        "Many lanes load the same address",
        because=f"lanes ask for {facts.metric('Load Coalescing'):.0f} % of the bytes of the lines that they touch, and "
        f"{part:.0%} of all instructions are vector loads",
        advice="let the compiler see that the address is uniform (const __restrict__, an index from blockIdx only, "
        "__builtin_amdgcn_readfirstlane) so that it loads through the scalar cache; or read it once into LDS",
        docs=("scalar load uniform s_load readfirstlane",),
    )


def instruction_overhead(facts: Facts) -> Answer:
    """A kernel that streams data, yet is bound by instructions."""
    intensity, share = facts.metric("Arithmetic Intensity"), facts.share("vector_alu", "scalar_unit", "wave_issue")
    limiter = facts.model.limiter
    per_byte = facts.metric("Instructions per Byte")
    because = f"{per_byte:.1f} instructions per lane and byte asked for; instructions are {share:.0%} of modelled time"
    if limiter not in ("vector_alu", "scalar_unit", "wave_issue"):
        return RuledOut("instruction overhead", because)
    if intensity > 16:
        return None
    if facts.busy.simds < 0.5 * facts.gpu.simds:
        return RuledOut("instruction overhead", f"{because}, but too few waves run to call instructions the trouble")
    return finding(
        "Instructions, not memory, bound a kernel that only streams data",
        because=f"{because}, at {intensity:.2f} flop per compulsory byte",
        advice="wider loads, several elements per thread, index arithmetic out of the loop, unrolling, and the fast "
        "forms of exp, division and sqrt where the tolerance allows",
        docs=("instruction throughput optimization", "loop unrolling", "fast math intrinsics __expf"),
    )


def at_the_roof(facts: Facts) -> Answer:
    """Nothing but compulsory traffic is left."""
    second = max((us for name, us in facts.model.bounds_us.items() if name != "memory"), default=0.0)
    moved, least = facts.metric("Memory Bytes"), facts.metric("Compulsory Bytes")
    if facts.model.limiter != "memory" or second > 0.7 * facts.model.time_us or moved > 1.25 * least:
        return None
    return finding(
        "The model sees no bound but the memory traffic that the problem needs",
        because=f"{moved:.4g} B ({least:.4g} compulsory) take {facts.model.time_us:.2f} us at the memory's peak; the "
        f"next bound is {second / facts.model.time_us:.0%} of that",
        advice=f"measure on a GPU: what remains is latency{_contention(facts)}, which the emulator does not see; "
        "moving fewer bytes (fusion, narrower types) is what can still help for certain",
        docs=("memory bandwidth bound kernel fusion",),
    )


def _contention(facts: Facts) -> str:
    return " and the turns of atomics on the same words" if facts.counter("bytes_atomic") else ""


RULES: tuple[Callable[[Facts], Answer], ...] = (
    small_launch,
    uncoalesced_loads,
    uncoalesced_stores,
    redundant_traffic,
    reread_memory,
    no_matrix_cores,
    lds_bank_conflicts,
    spills,
    idle_lanes,
    instruction_overhead,
    narrow_loads,
    low_occupancy,
    at_the_roof,
)
"""Most telling first."""
