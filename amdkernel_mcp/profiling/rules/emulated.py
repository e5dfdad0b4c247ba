"""The rules that diagnose an emulated kernel, the most telling first.

A finding needs two witnesses: a count that shows the pattern, and a bound of the model that shows that it costs time.
No rule mentions stalls or measured time: the emulator has neither.
"""

from collections.abc import Callable

from amdkernel_mcp.profiling.rules import compute, global_memory, lds, parallelism, waiting
from amdkernel_mcp.profiling.rules.answer import Answer
from amdkernel_mcp.profiling.rules.facts import Facts

RULES: tuple[Callable[[Facts], Answer], ...] = (
    parallelism.small_launch,
    parallelism.launch_overhead,
    parallelism.tail,
    global_memory.uncoalesced_loads,
    global_memory.uncoalesced_stores,
    global_memory.redundant_traffic,
    global_memory.reread_memory,
    global_memory.one_channel,
    global_memory.atomics_on_few_addresses,
    compute.double_precision,
    compute.no_matrix_cores,
    compute.integer_division,
    compute.transcendentals,
    compute.instruction_cache,
    lds.lds_bank_conflicts,
    lds.lds_atomics,
    lds.lds_misaligned,
    lds.lds_bandwidth,
    parallelism.spills,
    waiting.barriers,
    compute.inactive_lanes,
    compute.instruction_overhead,
    global_memory.narrow_loads,
    parallelism.low_occupancy,
    waiting.exposed_latency,
    global_memory.at_the_roof,
)
"""Each returns a finding, or why it is ruled out, or None where it does not apply."""
