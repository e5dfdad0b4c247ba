"""Rules on instructions: matrix cores, overhead, inactive lanes, LDS bank conflicts."""

from amdkernel_mcp.profiling.rules.answer import Answer, RuledOut, finding
from amdkernel_mcp.profiling.rules.facts import Facts


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
        advice=f"{_MATRIX_ADVICE[unit]}; for f16 inputs its peak is {_gain(facts):.0f} times that of the vector ALU",
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


def instruction_overhead(facts: Facts) -> Answer:
    """A kernel that streams data, but is bound by instructions."""
    intensity, share = facts.metric("Arithmetic Intensity"), facts.share("vector_alu", "scalar_unit", "wave_issue")
    per_byte = facts.metric("Instructions per Byte")
    because = f"{per_byte:.1f} instructions per lane and requested byte; instructions are {share:.0%} of modelled time"
    if facts.model.limiter not in ("vector_alu", "scalar_unit", "wave_issue"):
        return RuledOut("instruction overhead", because)
    if intensity > 16:
        return None
    if facts.busy.simds < 0.5 * facts.gpu.simds:
        return RuledOut("instruction overhead", f"{because}, but too few waves run for instructions to be the cause")
    return finding(
        "A streaming kernel is bound by instructions, not by memory",
        because=f"{because}, at {intensity:.2f} flop per compulsory byte",
        advice="use wider loads and several elements per thread, move index arithmetic out of the loop, unroll, use "
        "the fast forms of exp, division and sqrt where the tolerance allows",
        docs=("instruction throughput optimization", "loop unrolling", "fast math intrinsics __expf"),
    )


def inactive_lanes(facts: Facts) -> Answer:
    """Lanes that are inactive while vector instructions execute."""
    used = facts.metric("VALU Lane Utilization")
    if not used:
        return None
    share = facts.share("vector_alu", "wave_issue", "scalar_unit")
    because = f"a mean vector instruction has {used:.0f} % of its lanes active"
    if used >= 75:
        return RuledOut("divergence", because)
    if share < 0.3 and facts.model.limiter == "memory":
        return RuledOut("divergence", f"{because}, but instructions are {share:.0%} of the modelled time")
    x, y, z = facts.largest_dispatch.block
    threads, lanes = x * y * z, facts.wave_size
    partial = threads % lanes
    cause = f"; a block of {threads} threads leaves {lanes - partial} lanes of its last wave unused" if partial else ""
    return finding(
        "Many lanes are inactive",
        because=f"{because}; instruction issue is {share:.0%} of the modelled time{cause}",
        advice=f"use blocks of a multiple of {lanes} threads, make branch conditions uniform over {lanes} lanes, and "
        "share a reduction or a long row among all lanes of a wave",
        docs=("warp divergence control flow", f"wavefront size {lanes} block size"),
    )


def lds_bank_conflicts(facts: Facts) -> Answer:
    """LDS accesses that take several cycles. Conflicts alone do not show that they cost time."""
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


def _conflicting_line(facts: Facts) -> str:
    line = facts.lines.most_conflicting_line
    if line is None:
        return ""
    counts = facts.lines.lds[line]
    return f"; line {line} loses {counts.lds_conflicts:,} of {counts.lds_cycles:,} LDS cycles"


def _conflict_advice(facts: Facts) -> str:
    if facts.counter("SQ_INSTS_LDS_ATOMIC") > 0.5 * facts.counter("SQ_INSTS_LDS"):
        return (
            "the data chooses the addresses of the atomics: give each wave, or every few lanes, a copy of its own and "
            "add up the copies at the end; first sum in a register what a thread has for one address"
        )
    return (
        "pad each row of the LDS array by one element, or swizzle the column with the row, so that lanes that access "
        "LDS together hit different banks"
    )
