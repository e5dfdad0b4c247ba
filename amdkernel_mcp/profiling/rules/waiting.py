"""Rules on what waves wait for: memory, results of their own, barriers."""

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.measurement.unmodelled import BARRIER_CLOCKS
from amdkernel_mcp.profiling.rules.answer import Answer, Found, RuledOut, costly
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.parallelism import LOW_OCCUPANCY, low_occupancy

DEPENDENT_WAITS = 8
"""Waits of a wave for memory: fewer are the start and the end of any kernel."""


def loops_over_loads(facts: Facts) -> bool:
    """Whether waves repeat loads whose addresses they know a turn ahead."""
    return facts.per_wave("waits_for_memory") >= DEPENDENT_WAITS and facts.code.waits.dependent_loads <= 0.5


def late_loads(facts: Facts) -> Answer:
    """Loads of a loop that are issued in the turn that needs them. The simulation alone sees what that costs."""
    if not facts.units or not loops_over_loads(facts):
        return None
    return RuledOut("loads that a loop waits for", f"issued one turn earlier they save {facts.costs('late_loads'):.0%}")


def exposed_latency(facts: Facts) -> Answer:
    """Waves that wait for one load or one result after the other, too few to hide it."""
    waits = min(facts.per_wave("waits_for_memory"), facts.per_wave("SQ_INSTS_VMEM_RD"))
    roof, waiting = facts.roof_us, facts.latency_us
    resident = facts.busy.resident_waves / facts.gpu.simds
    because = (
        f"a wave waits {waits:.0f} times for memory, {facts.per_wave('SQ_INSTS_VMEM_RD'):.0f} loads in all, and "
        f"{facts.residency}: that takes about {rounded(waiting)} us, all units together {rounded(roof)}"
    )
    chained, dependent = facts.code.waits.chained, facts.code.waits.dependent_loads
    chain = resident <= LOW_OCCUPANCY and chained > 0.6 and facts.share("wave_issue", "vector_alu") > 0.8
    if chain:
        because = f"{chained:.0%} of the vector instructions need the result of the one before, and "
        because += f"{facts.residency}: too few to fill the gaps"
    elif waits < DEPENDENT_WAITS or waiting < 0.5 * roof:
        return RuledOut("exposed latency", because)
    elif waiting < 2 * roof and not (dependent > 0.5 and resident <= LOW_OCCUPANCY):
        return None  # the estimate is too rough to say it, or to rule it out
    elif dependent > 0.5:
        because += f"; {dependent:.0%} of the loads take their address from loaded data"
    cost = 0.4 * facts.time_us if chain else 0.875 * max(waiting - roof, waiting / 2)
    held_back = isinstance(low_occupancy(facts), Found)  # what holds the waves back is the cause
    return costly(
        cost,
        "Latency is exposed: waves wait for one result after the other",
        because=because,
        advice="keep several independent loads or sums in flight in each wave (unroll, prefetch, several elements per "
        "thread), replace chains of dependent loads, and launch more waves",
        symptom=held_back,
    )


def barriers(facts: Facts) -> Answer:
    """Barriers with hardly any work between them."""
    each, waves = facts.per_wave("barriers"), facts.largest_dispatch.count("SQ_WAVES")
    if not each:
        return None
    between = facts.per_wave("SQ_INSTS") / each
    rounds = max(waves / max(facts.busy.resident_waves, 1), 1)
    cost = each * BARRIER_CLOCKS * rounds / facts.gpu.clock_mhz
    because = f"a wave meets {each:.0f} barriers, with {between:.0f} instructions from one to the next"
    if each < 8 or between > 24 or cost < 0.25 * facts.roof_us:
        return RuledOut("barriers", because)
    return costly(
        cost,
        "Barriers with hardly any work between them",
        because=f"{because}; at {BARRIER_CLOCKS} clocks each that takes about {rounded(cost)} us",
        advice="exchange values within a wave by DPP or __shfl and use a barrier for the few values of whole waves; "
        "double-buffer LDS, which saves one of two barriers; give each thread more work between them",
    )
