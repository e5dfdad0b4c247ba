"""Rules on what fits on the GPU: size of the launch, occupancy, registers."""

from math import ceil, prod

from amdkernel_mcp.counted import counted, rounded
from amdkernel_mcp.measurement.time_interval import LAUNCH_US
from amdkernel_mcp.profiling.rules.answer import Answer, RuledOut, costly
from amdkernel_mcp.profiling.rules.facts import UNEVEN, Facts

FILLED = 0.75
"""Of the SIMDs: a launch that keeps more of them busy is not reported."""
BYTES_WORTH_SPLITTING = 64
"""Data per thread from which on more threads could share its work; below it the problem itself is small."""
LOW_OCCUPANCY = 2
"""Waves on a SIMD."""


def small_launch(facts: Facts) -> Answer:
    """Too few waves, or a last round of workgroups that leaves most of the GPU idle."""
    gpu, dispatch, busy = facts.gpu, facts.largest_dispatch, facts.busy
    part = busy.simds / gpu.simds
    workgroups, waves = dispatch.workgroups, dispatch.count("SQ_WAVES")
    launched = f"{counted(workgroups, 'workgroup')} with {counted(round(waves), 'wave')}"
    because = (
        f"{launched} keep{'s' * (workgroups == 1)} {busy.simds:.0f} of "
        f"{gpu.simds} SIMDs ({busy.cus:.0f} of {gpu.cus} CUs) of an {gpu.name} busy"
    )
    each = facts.metric("Compulsory Bytes") / len(facts.dispatches) / (dispatch.workgroups * prod(dispatch.block))
    if part >= FILLED or workgroups > gpu.cus:
        return RuledOut("too little parallelism", because)
    if each < BYTES_WORTH_SPLITTING:
        small = f"but each thread has only {each:.0f} B of data: the case is too small for this GPU, not the launch"
        return RuledOut("too little parallelism", f"{because}, {small}")
    chained = 0.5 if facts.code.waits.dependent_loads > 0.5 else 1
    return costly(
        facts.time_us * (1 - part / FILLED) * chained,
        "The launch cannot fill the GPU",
        because=f"{because}: {part:.0%} of the GPU, while each thread has {each:.0f} B of data",
        advice="give every output element or row its own threads, split the long dimension over workgroups and combine "
        "the parts, or use smaller workgroups",
        most_us=facts.time_us * (1 - part) * chained,
    )


def launch_overhead(facts: Facts) -> Answer:
    """Launches that take longer to start than to run."""
    launches = len(facts.dispatches)
    each_us, small = facts.time_us / launches, facts.busy.simds < facts.gpu.simds / 4
    because = f"{counted(launches, 'launch', 'launches')} of {rounded(each_us)} us of modelled work"
    if not (small or launches > 1) or each_us > LAUNCH_US or (launches == 1 and facts.roof_us > LAUNCH_US / 10):
        return RuledOut("launch overhead", because)
    return costly(
        LAUNCH_US * launches,
        "Starting the launches takes longer than their work",
        because=f"{because} each, with {facts.largest_dispatch.workgroups} workgroups; to start one takes about "
        f"{LAUNCH_US:g} us",
        advice="do the work of several launches in one (fuse them, loop inside the kernel, batch small problems), or "
        "capture them in a HIP graph",
    )


def tail(facts: Facts) -> Answer:
    """A last round of workgroups that occupies few CUs."""
    groups, gpu = facts.largest_dispatch.workgroups, facts.gpu
    if groups <= gpu.cus:
        return None
    part = min(facts.busy.cus / gpu.cus, facts.busy.simds / gpu.simds)
    rounds = facts.largest_dispatch.count("SQ_WAVES") / max(facts.busy.resident_waves, 1)
    issue_us = facts.model.bounds_us.get("wave_issue", 0.0) * ceil(rounds) / max(rounds, 1)
    gain = max(facts.roof_us, issue_us) - facts.roof_if_even_us()
    because = f"{groups} workgroups on {gpu.cus} CUs: the fullest CU has {ceil(groups / gpu.cus)}, the mean one "
    because += f"{groups / gpu.cus:.1f}"
    if part > 0.8 or gain < 0.1 * facts.time_us:
        return RuledOut("a tail", because)
    return costly(
        gain,
        "The last round of workgroups leaves most of the GPU idle",
        because=f"{because}, so that {1 - part:.0%} of the GPU waits at the end",
        advice="choose a grid that is a multiple of the CUs, smaller workgroups or tiles, or a persistent grid of one "
        "round whose workgroups take several tiles each",
    )


def uneven_work(facts: Facts) -> Answer:
    """One wave that does much more than the others, so that the launch lasts as long as this wave."""
    dispatch, longest = facts.largest_dispatch, facts.longest_us
    waves = dispatch.count("SQ_WAVES")
    mean = dispatch.count("SQ_INSTS") / max(waves, 1)
    if waves < 2 or not mean:
        return None
    times, others = dispatch.count("longest_wave_insts") / mean, max(facts.roof_us, facts.latency_us)
    because = f"the longest wave executes {times:.1f} times the instructions of a mean one"
    if times < UNEVEN or longest < 1.5 * others:
        return RuledOut("uneven work", because)
    return costly(
        longest - others,
        "One wave does much more than the others, and the GPU waits for it",
        because=f"{because}: alone it takes about {rounded(longest)} us, all of them evenly {rounded(others)}",
        advice="split long rows or segments over several waves or workgroups and combine the parts, give each "
        "workgroup the same number of elements (a search in the offsets finds the row), or sort the work so that long "
        "parts start first",
    )


def low_occupancy(facts: Facts) -> Answer:
    """Registers or LDS hold back waves that would hide latency."""
    fits = facts.occupancy
    if fits is None:
        return None
    resident = facts.busy.resident_waves / facts.gpu.simds
    launched = facts.largest_dispatch.count("SQ_WAVES") / facts.gpu.simds
    most = facts.gpu.waves_per_simd
    lds = facts.largest_dispatch.lds_bytes
    what = fits.limit if fits.limit in ("vgpr", "sgpr") else f"{lds} B of LDS a workgroup" if lds else fits.limit
    because = (
        f"{facts.residency}, {most} at most (limited by {what}); the launch has {launched:.1f} for each"
        if launched >= 1
        else facts.residency
    )
    gain = facts.time_us - max(facts.latency_if_full_us(), facts.roof_without_us("wave_issue"))
    if launched < 1:
        because = "the launch has fewer waves than the GPU has SIMDs"
    if resident > LOW_OCCUPANCY or launched <= resident or gain < 0.2 * facts.time_us:
        return RuledOut("occupancy", because)
    return costly(
        gain,
        "Few waves are resident to hide latency",
        because=f"{because}, and the waits of its rounds outweigh the work",
        advice=f"use less {what}, or keep several independent loads in flight per wave; matrix kernels can be fast at "
        "this occupancy",
    )


def spills(facts: Facts) -> Answer:
    """Registers or local arrays that are in scratch memory."""
    if facts.resources is None:
        return None
    kernel = facts.resources
    if not kernel.scratch_bytes:
        return RuledOut("register spills", "the kernel uses no scratch memory")
    moved = facts.counter("scratch_bytes_loaded") + facts.counter("scratch_bytes_stored")
    if not moved:
        return RuledOut("register spills", f"{kernel.scratch_bytes} B of scratch are reserved, and none are used")
    part = moved / (moved + facts.metric("Bytes Requested"))
    what = "Registers spill to scratch memory" if kernel.vgpr_spills else "A local array is in scratch memory"
    return costly(
        facts.time_us * min(max(2 * part, 0.2), 1),
        what,
        because=f"{kernel.scratch_bytes} B of scratch per work-item and {kernel.vgpr_spills} spilled VGPRs "
        f"with {kernel.vgpr} VGPRs in use; {part:.0%} of the requested bytes are scratch",
        advice="index local arrays by constants only (unroll the loop fully), use smaller tiles, or allow more "
        "registers with __launch_bounds__",
    )
