"""The rules that diagnose an emulated kernel, the most telling first.

A finding needs two witnesses: a count that shows the pattern, and a bound of the model that shows that it costs time.
No rule mentions stalls or measured time: the emulator has neither.
"""

from amdkernel_mcp.profiling.rules import compute, global_memory, lds, parallelism, waiting
from amdkernel_mcp.profiling.rules.rule import (
    Rule,
    most_lds,
    most_loading,
    most_storing,
    nowhere,
    wasteful_loads,
    wasteful_stores,
)

_LARGER_CASE = "a case with four times the workgroups takes the same time per element"
_IN_ORDER = "lanes that access consecutive addresses (wrong values are fine) are not faster"

RULES: tuple[Rule, ...] = (
    Rule(parallelism.small_launch, "launch", "too-few-workgroups", _LARGER_CASE, nowhere),
    Rule(parallelism.launch_overhead, "launch", "short-launches",
         "one launch over all the data takes as long as the many together", nowhere, has_gain=False),
    Rule(parallelism.tail, "launch", "too-few-workgroups", _LARGER_CASE, nowhere),
    Rule(parallelism.uneven_work, "launch", "uneven-work",
         "the longest row or segment alone (wrong values are fine) takes a small part of the time"),
    Rule(global_memory.uncoalesced_loads, "memory", "uncoalesced-accesses", _IN_ORDER, wasteful_loads),
    Rule(global_memory.uncoalesced_stores, "memory", "uncoalesced-accesses", _IN_ORDER, wasteful_stores),
    Rule(global_memory.redundant_traffic, "memory", "redundant-loads",
         "half of the loads left out (wrong values are fine) are not faster", most_loading),
    Rule(global_memory.repeated_stores, "memory", "repeated-stores",
         "stores behind the loop alone (wrong values are fine) are not faster", most_storing,
         relieves_also=("vector_alu", "scalar_unit", "wave_issue")),
    Rule(global_memory.xcd_order, "memory", "order-on-xcds",
         "another order of the workgroups leaves the L2 hit rate as it is", most_loading, loss="xcd_order"),
    Rule(global_memory.reread_memory, "memory", "redundant-loads",
         "another order of the workgroups leaves the bytes from memory as they are", most_loading),
    Rule(global_memory.intermediate_arrays, "memory", "intermediate-arrays",
         "the next launch reads the array from a cache and the two fused are not faster", most_loading),
    Rule(global_memory.atomics_on_few_addresses, "memory", "contended-atomics",
         "atomics spread over many addresses (a wrong result is fine) are not faster", most_storing,
         relieves_also=("vector_alu", "scalar_unit", "wave_issue")),
    Rule(compute.double_precision, "instructions", "double-precision", "the problem needs fp64"),
    Rule(compute.no_matrix_cores, "instructions", "missing-matrix-instructions",
         "the GPU has no matrix instruction for these types, or the sizes are far from multiples of 16",
         relieves_also=("lds", "l1_cache", "l2_cache")),
    Rule(compute.slow_matrix_shape, "instructions", "missing-matrix-instructions",
         "the same products in another shape are not faster", relieves_also=("matrix_cores",), loss="slow_matrix"),
    Rule(compute.integer_division, "instructions", "integer-division",
         "a constant in place of the divisor changes nothing"),
    Rule(compute.transcendentals, "instructions", "transcendental-functions",
         "an addition in their place is not faster"),
    Rule(compute.unpacked_halves, "instructions", "unpacked-halves", "__half2 leaves the instruction count as it is"),
    Rule(compute.instruction_cache, "instructions", "instruction-overhead", "less unrolling is not faster"),
    Rule(lds.lds_bank_conflicts, "lds", "lds-accesses", "padding removes the conflicts and leaves the time", most_lds,
         loss="lds_conflicts"),
    Rule(lds.lds_atomics, "lds", "contended-atomics",
         "atomics spread over many addresses (a wrong result is fine) are not faster", most_lds),
    Rule(lds.lds_misaligned, "lds", "lds-accesses", "aligned addresses (wrong values are fine) are not faster",
         most_lds),
    Rule(lds.lds_bandwidth, "lds", "lds-accesses", "half the LDS accesses (wrong values are fine) are not faster",
         most_lds, loss="lds"),
    Rule(parallelism.spills, "occupancy", "scratch-memory", "compile_kernel reports no scratch",
         relieves_also=("memory", "infinity_cache", "l2_cache", "l1_cache", "vector_alu", "scalar_unit")),
    Rule(waiting.barriers, "occupancy", "barriers", "the kernel without them (wrong values are fine) is not faster",
         nowhere, loss="barriers"),
    Rule(compute.inactive_lanes, "instructions", "inactive-lanes",
         "the lanes are idle only in parts with few instructions", relieves_also=("lds", "l1_cache")),
    Rule(compute.instruction_overhead, "instructions", "instruction-overhead",
         "fewer instructions (unrolled, wider loads) leave the time as it is"),
    Rule(global_memory.narrow_loads, "memory", "narrow-or-uniform-loads",
         "float4 loads leave the instruction count as it is", most_loading,
         relieves_also=("vector_alu", "scalar_unit", "wave_issue")),
    Rule(parallelism.low_occupancy, "occupancy", "low-occupancy", "smaller tiles with more waves are not faster",
         nowhere, loss="few_waves"),
    Rule(waiting.late_loads, "occupancy", "late-loads",
         "the loop without its loads (wrong values are fine) is not faster", most_loading, loss="late_loads"),
    Rule(waiting.exposed_latency, "occupancy", "exposed-latency", "twice the waves leave the time as it is",
         most_loading, loss="latency"),
    Rule(global_memory.at_the_roof, "memory", "at-the-memory-roof", "a GPU measures several times the modelled time",
         most_loading),
)  # fmt: skip
"""Each asks for a finding, or why it is ruled out, or None where it does not apply."""
