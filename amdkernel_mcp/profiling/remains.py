"""What the time of a kernel consists of in which no rule finds anything: the launch, its bound, waits, idle CUs."""

from __future__ import annotations

from amdkernel_mcp.counted import counted, rounded
from amdkernel_mcp.measurement.time_interval import LAUNCH_US
from amdkernel_mcp.profiling.rules.answer import finding
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.results.kernels import Diagnosis

REMAINS = "Nothing stands out"
"""How the finding begins."""
_LEAST = 0.03
"""Of the time: smaller parts are not named."""
_UNITS = {
    "memory": ("the memory", "only moving fewer bytes helps: fusion, narrower types"),
    "infinity_cache": ("the Infinity Cache", "only moving fewer bytes helps: fusion, narrower types, reuse in LDS"),
    "l2_cache": ("the L2", "only fewer requests help: wider accesses, reuse in LDS and registers"),
    "l1_cache": ("the L1", "only fewer requests help: wider accesses, reuse in LDS and registers"),
    "lds": ("the LDS", "only fewer accesses of LDS help: more results per thread, exchange by DPP"),
    "vector_alu": (
        "the vector ALU",
        "only fewer instructions help: packed or matrix ones, less index arithmetic",
    ),
    "matrix_cores": (
        "the matrix cores",
        "only fewer or narrower products help: fp8 for f16 if the tolerance allows",
    ),
    "scalar_unit": ("the scalar unit", "only fewer scalar instructions help: unroll, constants instead of remainders"),
    "wave_issue": ("the issue of instructions", "more waves, or fewer instructions in each"),
}


def what_remains(facts: Facts, prefix: str) -> Diagnosis | None:
    """The largest part of the likely time, all parts in microseconds, and what would help. None without a model."""
    roof_us = facts.roof_us
    if not roof_us or facts.model.limiter is None:
        return None
    bounds = facts.model.bounds_us
    unit = max(bounds, key=lambda name: bounds[name] / facts.gpu.achieved(name))
    even_us = min(facts.roof_if_even_us(), roof_us)
    launches, groups, cus = len(facts.dispatches), facts.largest_dispatch.workgroups, facts.gpu.cus
    bound, only = _UNITS[unit]
    parts = [
        ("the launch" if launches == 1 else "the launches", LAUNCH_US * launches, "",
         "more work in a launch: fuse it with others, or take larger batches"),
        (bound, even_us, " at the rate that GPUs reach", only),
        ("idle CUs", roof_us - even_us, f" ({counted(groups, 'workgroup')} on {cus} CUs)",
         f"a grid that fills {cus} CUs evenly: smaller tiles, or one round of workgroups that take several tiles each"),
        ("waits that nothing hides", max(facts.time_us - roof_us, 0.0), "",
         "more loads in flight for each wave, or more resident waves"),
    ]  # fmt: skip
    total_us = sum(us for _, us, _, _ in parts)
    named = [f"{what} {rounded(us, 3)} us{where}" for what, us, where, _ in parts if us >= _LEAST * total_us]
    largest, _, _, helps = max(parts, key=lambda part: part[1])
    return finding(
        f"{prefix}{REMAINS}: the largest part of the time is {largest}",
        because=f"of {rounded(total_us, 3)} us, modelled, " + ", ".join(named),
        advice=helps,
    )
