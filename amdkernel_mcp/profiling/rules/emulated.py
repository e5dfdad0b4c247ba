"""The rules that diagnose an emulated kernel, the most telling first.

A finding needs two witnesses: a count that shows the pattern, and a bound of the model that shows that it costs time.
No rule mentions stalls or measured time: the emulator has neither.
"""

from collections.abc import Callable

from amdkernel_mcp.profiling.rules import compute, global_memory, parallelism
from amdkernel_mcp.profiling.rules.answer import Answer
from amdkernel_mcp.profiling.rules.facts import Facts

RULES: tuple[Callable[[Facts], Answer], ...] = (
    parallelism.small_launch,
    global_memory.uncoalesced_loads,
    global_memory.uncoalesced_stores,
    global_memory.redundant_traffic,
    global_memory.reread_memory,
    compute.no_matrix_cores,
    compute.lds_bank_conflicts,
    parallelism.spills,
    compute.inactive_lanes,
    compute.instruction_overhead,
    global_memory.narrow_loads,
    parallelism.low_occupancy,
    global_memory.at_the_roof,
)
"""Each returns a finding, or why it is ruled out, or None where it does not apply."""
