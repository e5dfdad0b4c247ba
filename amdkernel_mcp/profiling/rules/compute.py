"""Rules on instructions: matrix cores, precision, division, overhead, inactive lanes, the instruction cache."""

from amdkernel_mcp.counted import counted
from amdkernel_mcp.measurement.roofline import TRANSCENDENTAL
from amdkernel_mcp.profiling.rules.answer import WEIGHS, Answer, RuledOut, costly
from amdkernel_mcp.profiling.rules.facts import Facts

_MEMORIES = ("memory", "infinity_cache", "l2_cache", "l1_cache")
_KINDS = ("F16", "F32", "F64")
SHARED = 4
"""Times that a product of matrices asks for a mean element, from memory and LDS together: its lanes share rows and
columns. Polynomials and recurrences ask once."""
UNIFORM_LOADS = 180
"""Percent of the bytes in touched lines that lanes ask for: 200 where all lanes load one word, 133 where half of the
loads do so and the others are in order, as in a product of matrices without tiles."""
LEAST_PRODUCTS, MOST_PRODUCTS = 0.4, 16
"""Multiply-adds per loaded word: half of one without tiles, 8 with 16 x 16 sums in registers."""
INSTRUCTION_CACHE_KIB = {"CDNA3": 64, "CDNA4": 64}
"""Shared by two CUs; 32 of the other families."""
MOST_TRANSCENDENTAL = 0.01
"""Of the vector instructions: a product of matrices has some in its epilogue; an n-body sum has one for each pair."""


LIBRARY_SHARE, FAST_FORMS = 0.4, 0.75
"""Of the vector instructions: from which share on lines with the math library are reported, and how much of their work
the fast forms save (expf has 12 instructions for 3 of __expf, powf 160 for 5)."""
LITTLE_ARITHMETIC = 0.25
"""Of the vector instructions: below this the others are the work, however many operations there are for each byte."""
STREAMING = 32
"""Instructions per lane and requested byte: with more of them a kernel does not stream."""


def no_matrix_cores(facts: Facts) -> Answer:
    """Dense multiply-add work done by the vector ALU."""
    unit = "WMMA" if facts.gpu.family.startswith("RDNA") else "MFMA"
    if facts.counter("SQ_INSTS_MFMA"):
        return RuledOut("missing matrix instructions", f"{facts.counter('SQ_INSTS_MFMA'):.0f} {unit} instructions ran")
    valu, products, compulsory = facts.counter("SQ_INSTS_VALU"), _products(facts), facts.metric("Compulsory Bytes")
    intensity = max(
        facts.metric("Arithmetic Intensity"), 2 * products * facts.wave_size / compulsory if compulsory else 0
    )
    if not valu or intensity < 16 or products < 0.15 * valu:
        return None
    loaded = (facts.counter("lds_bytes") + facts.counter("bytes_loaded")) / 4 / facts.wave_size
    if not facts.counter("lds_bytes") and facts.metric("Load Coalescing") > UNIFORM_LOADS:
        return RuledOut("missing matrix instructions", "all lanes of a wave load one operand, and none the other")
    if compulsory * SHARED > facts.counter("lds_bytes") + facts.counter("bytes_loaded"):
        return RuledOut("missing matrix instructions", "no lane uses what another one loaded")
    if facts.counter("lds_bytes") < 0.25 * facts.counter("bytes_loaded") and facts.metric("Load Coalescing") < 130:
        return RuledOut("missing matrix instructions", "the lanes of a wave share no operands")
    if not LEAST_PRODUCTS * loaded <= products <= MOST_PRODUCTS * loaded:
        return RuledOut("missing matrix instructions", f"a loaded value is used in {products / loaded:.1f} products")
    transcendental = sum(facts.counter(f"SQ_INSTS_VALU_TRANS_{kind}") for kind in _KINDS)
    if transcendental > MOST_TRANSCENDENTAL * valu:
        return RuledOut("missing matrix instructions", "square roots, exponentials or divisions are part of the sums")
    gain = _gain(facts)
    if gain < 1.5:
        return RuledOut("missing matrix instructions", f"for these types {unit} is {gain:.1f} times as fast at most")
    return costly(
        facts.time_us * (1 - 1 / gain),
        "A matrix product without matrix instructions",
        because=f"{products / valu:.2g} multiply-adds for each vector instruction, at {intensity:.0f} flop "
        f"per compulsory byte, each loaded value meets {products / loaded:.1f} of them, and no {unit} instruction ran",
        advice=f"{_MATRIX_ADVICE[unit]}; for these types its peak is {gain:.0f} times that of the vector ALU",
    )


def slow_matrix_shape(facts: Facts) -> Answer:
    """Matrix instructions of a shape that is slower than others of its type. The simulation sees what that costs."""
    if not facts.units or not facts.counter("SQ_INSTS_MFMA"):
        return None
    because = f"at the peak rate of their type they save {facts.costs('slow_matrix'):.0%}"
    return RuledOut("slow shapes of matrix instructions", because)


_MATRIX_ADVICE = {
    "MFMA": "use MFMA: the __builtin_amdgcn_mfma_f32_16x16x16f16 family, rocWMMA, or Composable Kernel",
    "WMMA": "use WMMA, which takes f16, bf16 and 8-bit inputs, if their precision suffices: "
    "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32 (gfx12: ..._w32_gfx12), or rocWMMA",
}


def _products(facts: Facts) -> float:
    """Multiply-adds of waves. clang makes packed products of some and adds them up one by one (LLVM 21)."""
    fused = sum(facts.counter(f"SQ_INSTS_VALU_FMA_{kind}") for kind in _KINDS) + facts.code.count("v_pk_fma_")
    fused += 2 * facts.code.count("v_dot2", "v_dual_dot2")
    multiplied = facts.code.count("v_mul_f") + 2 * facts.code.count("v_pk_mul_f")
    added = facts.code.count("v_add_f") + 2 * facts.code.count("v_pk_add_f")
    return fused + min(multiplied, added)


def _gain(facts: Facts) -> float:
    """Peak of the matrix cores over that of the vector instructions that ran, for the type of the operands."""
    rates = facts.gpu.flops_per_clock_cu
    packed = facts.code.count("v_pk_fma_f32") > facts.code.count("v_fma_f32", "v_fmac_f32")
    if facts.counter("SQ_INSTS_VALU_FMA_F64"):
        return rates.get("matrix_f64", 0) / rates.get("vector_f64", 1)
    vector = rates.get("vector_f32_packed" if packed else "vector_f32", 0) or rates.get("vector_f32", 1)
    return rates.get("matrix_f16" if _halves(facts) else "matrix_f32", 0) / vector


def _halves(facts: Facts) -> bool:
    """Operands of 16 bits: conversions, mixed instructions, loads of short words, or words whose upper half is cut."""
    known = facts.counter("SQ_INSTS_VALU_FMA_F16") or facts.code.count("v_fma_mix", "v_cvt_f32_f16", "v_dot2")
    return bool(known or facts.code.count("global_load_ushort", "global_load_short", "v_lshlrev_b32_sdwa"))


def double_precision(facts: Facts) -> Answer:
    """fp64 arithmetic: often a literal without `f`, which widens its whole expression."""
    wide, narrow = (
        sum(facts.counter(f"SQ_INSTS_VALU_{op}_{kind}") for op in ("ADD", "MUL", "FMA", "TRANS") for kind in kinds)
        for kinds in (("F64",), ("F16", "F32"))
    )
    valu = facts.counter("SQ_INSTS_VALU")
    if not wide or not valu or facts.counter("SQ_INSTS_VALU_MFMA_F64"):
        return None
    share = facts.share("vector_alu", "wave_issue")
    because = f"{wide / valu:.0%} of the vector instructions are fp64 arithmetic, {narrow / valu:.0%} narrower"
    if wide < 0.05 * valu or share < WEIGHS:
        return RuledOut("fp64 arithmetic", f"{because}; instructions are {share:.0%} of the modelled time")
    if facts.code.executions and not facts.code.count("v_cvt_f64_f32", "v_cvt_f32_f64"):
        return RuledOut("fp64 arithmetic", f"{because}; the data are fp64: nothing is converted from or to fp32")
    rates = facts.gpu.flops_per_clock_cu
    slower = rates.get("vector_f32", 0) / rates["vector_f64"] if rates.get("vector_f64") else 0
    cost = f"; its peak is 1/{slower:.0f} of that of fp32" if slower > 1 else ""
    return costly(
        0.9 * facts.time_us,
        "The arithmetic is in double precision",
        because=f"{because}; instructions are {share:.0%} of the modelled time{cost}",
        advice="unless the problem needs it, write literals with f (0.5f), and call the f forms of functions (expf)",
    )


def instruction_overhead(facts: Facts) -> Answer:
    """A kernel that streams data, but is bound by instructions."""
    intensity, share = facts.metric("Arithmetic Intensity"), facts.share("vector_alu", "scalar_unit", "wave_issue")
    per_byte = facts.metric("Instructions per Byte")
    because = f"{per_byte:.1f} instructions per lane and requested byte; instructions are {share:.0%} of modelled time"
    if facts.model.limiter not in ("vector_alu", "scalar_unit", "wave_issue"):
        return RuledOut("instruction overhead", because)
    arithmetic = sum(
        facts.counter(f"SQ_INSTS_VALU_{op}_{kind}")
        for op in ("ADD", "MUL", "FMA", "TRANS")
        for kind in ("F16", "F32", "F64")
    )
    if intensity > 16:
        little = arithmetic < LITTLE_ARITHMETIC * facts.counter("SQ_INSTS_VALU") and not facts.counter("SQ_INSTS_MFMA")
        return _other_instructions(facts, because) if little and not facts.code.count("v_dot", "v_pk_") else None
    if arithmetic > 0.5 * facts.counter("SQ_INSTS_VALU"):
        return RuledOut("instruction overhead", f"{because}, but most of them are floating-point arithmetic")
    if facts.busy.simds < 0.5 * facts.gpu.simds:
        return RuledOut("instruction overhead", f"{because}, but too few waves run for instructions to be the cause")
    if per_byte > STREAMING:
        return _other_instructions(facts, because)
    return costly(
        0.25 * facts.time_us,
        "A streaming kernel is bound by instructions, not by memory",
        because=f"{because}, at {intensity:.2f} flop per compulsory byte",
        advice="use wider loads and several elements per thread, move index arithmetic out of the loop, unroll, use "
        "the fast forms of exp, division and sqrt where the tolerance allows",
        symptom=True,
    )


def _other_instructions(facts: Facts, because: str) -> Answer:
    """Of a kernel that computes much with few data: a recurrence, a search, a game of bits."""
    scalar = facts.model.limiter == "scalar_unit"
    return costly(
        0.25 * facts.time_us,
        "Scalar instructions bound the kernel" if scalar else "Instructions other than arithmetic bound the kernel",
        because=because,
        advice="move what does not change out of the loop and unroll it, so that counters, addresses and remainders of "
        "loop variables become constants, and give each thread more work for each turn"
        + (": the scalar unit of a CU serves all of its SIMDs" if scalar else ""),
        symptom=True,
    )


def unpacked_halves(facts: Facts) -> Answer:
    """Arithmetic on one half of a register, where an instruction does two at the same rate."""
    valu, packed = facts.counter("SQ_INSTS_VALU"), facts.code.count("v_pk_")
    halves = sum(facts.counter(f"SQ_INSTS_VALU_{op}_F16") for op in ("ADD", "MUL", "FMA"))
    if not halves or not valu or not facts.code.executions:
        return None
    single, share = max(halves - packed, 0.0) / valu, facts.share("vector_alu", "wave_issue")
    because = f"{single:.0%} of the vector instructions compute with one half each; the vector ALU is {share:.0%}"
    if single < 0.3 or share < WEIGHS:
        return RuledOut("unpacked halves", f"{because} of the modelled time")
    return costly(
        0.5 * single * facts.time_us,
        "Arithmetic of f16 is not packed",
        because=f"{because} of the modelled time",
        advice="compute with __half2 (__hfma2, __hadd2, __hmul2) or vectors of two _Float16: v_pk_fma_f16 does two "
        "in the time of one",
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
    if share < (0.3 if facts.model.limiter == "memory" else 0.75) and facts.model.limiter in _MEMORIES:
        return RuledOut("divergence", f"{because}, but instructions are {share:.0%} of the modelled time")
    x, y, z = facts.largest_dispatch.block
    threads, lanes = x * y * z, facts.wave_size
    partial = threads % lanes
    unused = counted(lanes - partial, "lane")
    cause = f"; a block of {counted(threads, 'thread')} leaves {unused} of its last wave unused" if partial else ""
    return costly(
        facts.time_us * (1 - used / 100),
        "Many lanes are inactive",
        because=f"{because}; instruction issue is {share:.0%} of the modelled time{cause}",
        advice=f"use blocks of a multiple of {lanes} threads, make branch conditions uniform over {lanes} lanes, and "
        "share a reduction or a long row among all lanes of a wave",
    )


def integer_division(facts: Facts) -> Answer:
    """Divisions of integers, and multiplications of 64 bits, which have no instruction of their own."""
    valu = facts.counter("SQ_INSTS_VALU")
    wide = facts.code.count("v_mul_lo_u32", "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64_u32", "v_mad_i64_i32")
    starts = facts.code.count("v_rcp_iflag_f32", "v_cvt_f32_u32")
    if not valu or not wide:
        return None
    share = facts.share("vector_alu", "wave_issue")
    because = f"{wide / valu:.0%} of the vector instructions are integer products of 32 by 32 bits"
    if not starts or wide < 0.08 * valu or share < WEIGHS:
        return RuledOut("integer division", f"{because}; instructions are {share:.0%} of the modelled time")
    return costly(
        facts.time_us * min(4 * wide / valu, 0.8),
        "Integer divisions and 64-bit index arithmetic",
        because=f"{because}, with {starts / max(facts.counter('SQ_WAVES'), 1):.0f} reciprocals a wave that begin a "
        f"division by a value known at run time only; instructions are {share:.0%} of the modelled time",
        advice="use 32-bit indices, powers of two (shifts and masks) or constants known to the compiler, a grid of "
        "two or three dimensions instead of / and %, or a multiplication by a reciprocal that the host computes",
    )


def transcendentals(facts: Facts) -> Answer:
    """Exponentials, roots and the like, which run at a quarter of the rate."""
    valu = facts.counter("SQ_INSTS_VALU") - facts.counter("SQ_INSTS_MFMA")
    slow = sum(facts.counter(f"SQ_INSTS_VALU_TRANS_{kind}") for kind in ("F16", "F32", "F64"))
    if not slow or valu <= 0:
        return None
    part, share = TRANSCENDENTAL * slow / (valu + (TRANSCENDENTAL - 1) * slow), facts.share("vector_alu")
    library = sum(facts.code.library.values()) / valu
    because = f"{slow / valu:.0%} of the vector instructions are transcendental and take {part:.0%} of its clocks"
    integer = facts.code.count("v_rcp_iflag_f32")
    if library > max(part, LIBRARY_SHARE) and share >= 0.8:
        return _math_library(facts, library, share)
    if part < 0.3 or share < 0.8 or integer > 0.5 * slow:
        return RuledOut("transcendental functions", f"{because}; they are {share:.0%} of the modelled time")
    return costly(
        facts.time_us * part,
        "Transcendental functions bound the kernel",
        because=f"{because}; the vector ALU is {share:.0%} of the modelled time",
        advice="compute each value once and keep it, use identities (one exponential for sigmoid and tanh, exp2 with "
        "the factor folded in), polynomials where the range is small, or packed forms for halves",
    )


def _math_library(facts: Facts, part: float, share: float) -> Answer:
    lines = ", ".join(map(str, facts.code.library))
    return costly(
        facts.time_us * part * FAST_FORMS,
        "Transcendental functions bound the kernel: they are the exact forms of the math library",
        because=f"{part:.0%} of the vector instructions belong to lines with code of the math library or of exact "
        f"divisions (lines {lines}); the vector ALU is {share:.0%} of the modelled time",
        advice="compute what does not change once (a table on the host, a value for a whole row), and where the "
        "tolerance allows use the fast forms: __expf, __logf, __sinf, __cosf, exp2f(x * log2(base)) for powf, "
        "__frcp_rn, rsqrtf, or -ffast-math",
    )


def instruction_cache(facts: Facts) -> Answer:
    """A loop that is larger than the instruction cache."""
    size, most = facts.code.repeated_bytes, INSTRUCTION_CACHE_KIB.get(facts.gpu.family, 32) << 10
    share = facts.share("vector_alu", "wave_issue", "scalar_unit")
    if size <= most / 4:
        return None
    because = f"a wave executes {size >> 10} KiB of code again and again; {most >> 10} KiB are cached"
    if size < 1.1 * most or share < WEIGHS:
        return RuledOut("the instruction cache", f"{because}; instructions are {share:.0%} of the modelled time")
    return costly(
        0.9 * facts.time_us,
        "The loop does not fit the instruction cache",
        because=f"{because}, so that each turn reads it from the L2 again",
        advice="unroll less (#pragma unroll with a small number), and call functions instead of inlining them",
    )
