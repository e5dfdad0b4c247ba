"""Rules on what fits on the GPU: size of the launch, occupancy, registers."""

from math import prod

from amdkernel_mcp.profiling.rules.answer import Answer, RuledOut, finding
from amdkernel_mcp.profiling.rules.facts import Facts

BYTES_WORTH_SPLITTING = 64
"""Data per thread from which on more threads could share its work; below it the problem itself is small."""


def small_launch(facts: Facts) -> Answer:
    """Too few waves, or a last round of workgroups that leaves most of the GPU idle."""
    gpu, dispatch, busy = facts.gpu, facts.largest_dispatch, facts.busy
    part = busy.simds / gpu.simds
    because = (
        f"{dispatch.workgroups} workgroups with {dispatch.count('SQ_WAVES'):.0f} waves keep {busy.simds:.0f} of "
        f"{gpu.simds} SIMDs ({busy.cus:.0f} of {gpu.cus} CUs) of an {gpu.name} busy"
    )
    each = facts.metric("Compulsory Bytes") / len(facts.dispatches) / (dispatch.workgroups * prod(dispatch.block))
    if part >= 0.75:
        return RuledOut("too little parallelism", because)
    if each < BYTES_WORTH_SPLITTING:
        small = f"but each thread has only {each:.0f} B of data: the case is too small for this GPU, not the launch"
        return RuledOut("too little parallelism", f"{because}, {small}")
    return finding(
        "The launch cannot fill the GPU",
        because=f"{because}: {part:.0%} of the GPU, while each thread has {each:.0f} B of data",
        advice="give every output element or row its own threads, split the long dimension over workgroups and combine "
        "the parts, or use smaller workgroups",
        docs=("grid size workgroups compute units occupancy", "split-k parallel reduction"),
    )


def low_occupancy(facts: Facts) -> Answer:
    """Few waves per SIMD although the launch has more."""
    if facts.resources is None:
        return None
    waves, limit = facts.resources.occupancy_waves_per_simd, facts.resources.occupancy_limit
    launched = facts.metric("Waves per SIMD Slot")
    most = facts.gpu.waves_per_simd
    because = f"{waves} of {most} waves fit on a SIMD (limited by {limit}); the launch has {launched:.1f} per SIMD"
    if waves > 2 or launched <= waves:
        return RuledOut("occupancy", because)
    return finding(
        "Few waves are resident to hide memory latency",
        because=because,
        advice=f"use less {limit}, or keep several independent loads in flight per wave; matrix kernels can be fast at "
        "this occupancy",
        docs=("occupancy registers LDS waves per SIMD",),
    )


def spills(facts: Facts) -> Answer:
    """Registers or local arrays that are in scratch memory."""
    if facts.resources is None:
        return None
    kernel = facts.resources
    if not kernel.scratch_bytes:
        return RuledOut("register spills", "the kernel uses no scratch memory")
    what = "Registers spill to scratch memory" if kernel.vgpr_spills else "A local array is in scratch memory"
    return finding(
        what,
        because=f"{kernel.scratch_bytes} B of scratch per work-item and {kernel.vgpr_spills} spilled VGPRs "
        f"with {kernel.vgpr} VGPRs in use",
        advice="index local arrays by constants only (unroll the loop fully), use smaller tiles, or allow more "
        "registers with __launch_bounds__",
        docs=("register spilling scratch memory", "__launch_bounds__"),
    )
