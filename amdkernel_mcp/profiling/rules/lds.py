"""Rules on the LDS: bank conflicts, atomics, alignment, bandwidth."""

from amdkernel_mcp.profiling.rules.answer import WEIGHS, Answer, RuledOut, costly
from amdkernel_mcp.profiling.rules.facts import Facts


def lds_bank_conflicts(facts: Facts) -> Answer:
    """LDS accesses that take several cycles. Conflicts alone do not show that they cost time."""
    if not facts.counter("SQ_INSTS_LDS") or not facts.known("LDS Bank Conflicts/Access"):
        return None
    conflicts, share = facts.metric("LDS Bank Conflicts/Access"), facts.share("lds")
    part = facts.counter("SQ_LDS_BANK_CONFLICT") / max(facts.counter("SQ_LDS_IDX_ACTIVE"), 1)
    because = f"{conflicts:.2f} conflict cycles per access cycle; LDS is {share:.0%} of the modelled time"
    gain = facts.roof_us - max(facts.roof_without_us("lds"), (1 - part) * facts.model.bounds_us["lds"])
    gain = _if_lds_bounds(facts, part, gain)
    if conflicts < 0.25 or gain < 0.1 * facts.roof_us:
        return RuledOut("LDS bank conflicts", because)
    return costly(
        gain,
        "LDS bank conflicts",
        because=because + _conflicting_line(facts),
        advice=_conflict_advice(facts),
    )


def lds_atomics(facts: Facts) -> Answer:
    """Atomics of many lanes on one word of LDS."""
    cycles, turns = facts.counter("SQ_LDS_IDX_ACTIVE"), facts.counter("SQ_LDS_ADDR_CONFLICT")
    if not facts.counter("SQ_INSTS_LDS_ATOMIC") or not cycles:
        return None
    because = f"{turns / cycles:.0%} of the LDS cycles are turns that lanes take on the same word"
    gain = facts.roof_us - max(facts.roof_without_us("lds"), (1 - turns / cycles) * facts.model.bounds_us["lds"])
    gain = _if_lds_bounds(facts, turns / cycles, gain)
    if turns < 0.3 * cycles or gain < 0.1 * facts.roof_us:
        why = f"LDS is {facts.share('lds'):.0%} of the modelled time"
        return RuledOut("atomics on few LDS addresses", f"{because}; {why}")
    return costly(
        gain,
        "LDS atomics take turns on few addresses",
        because=f"{because}; LDS is {facts.share('lds'):.0%} of the modelled time",
        advice="combine the values of a wave first (shuffles, ballots), keep a copy of the counters for each wave or "
        "every few lanes, and sum in registers what a thread has for one address",
    )


def lds_misaligned(facts: Facts) -> Answer:
    """Accesses of 8 or 16 bytes at addresses that are not multiples of that."""
    lanes = facts.counter("SQ_INSTS_LDS") * facts.wave_size
    wrong, share = facts.counter("lds_misaligned_lanes"), facts.share("lds")
    if not lanes:
        return None
    because = f"{wrong / lanes:.0%} of the LDS accesses are at no multiple of their width"
    if wrong < 0.1 * lanes or share < WEIGHS:
        return RuledOut("misaligned LDS accesses", f"{because}; LDS is {share:.0%} of the modelled time")
    return costly(
        facts.time_us,
        "LDS accesses are misaligned",
        because=f"{because}; LDS is {share:.0%} of the modelled time, without the stalls that these accesses add",
        advice="let each lane begin at a multiple of 8 bytes for 8-byte and of 16 for 16-byte accesses: pad rows to "
        "such a multiple, or read the words one by one",
    )


def lds_bandwidth(facts: Facts) -> Answer:
    """More LDS accesses than it can serve, though they do not conflict."""
    cycles = facts.counter("SQ_LDS_IDX_ACTIVE")
    if not cycles:
        return None
    lost = (facts.counter("SQ_LDS_BANK_CONFLICT") + facts.counter("SQ_LDS_ADDR_CONFLICT")) / cycles
    because = f"LDS is {facts.share('lds'):.0%} of the modelled time, {lost:.0%} of that in conflicts"
    gain = facts.roof_us - facts.roof_without_us("lds")
    if facts.model.limiter != "lds" or lost > 0.3 or gain < 0.1 * facts.roof_us:
        return RuledOut("LDS bandwidth", because)
    return costly(
        gain,
        "The bandwidth of the LDS bounds the kernel",
        because=f"{because}; {facts.counter('SQ_INSTS_LDS') / max(facts.counter('SQ_INSTS_VALU'), 1):.2f} LDS "
        "instructions for each vector instruction",
        advice="keep values in registers: several results per thread use each loaded value several times; read 8 or 16 "
        "bytes per lane; exchange values of a wave by DPP or __shfl",
    )


def _if_lds_bounds(facts: Facts, part: float, gain: float) -> float:
    """The gain, or a third of what is lost where LDS has the largest bound but another one is close behind."""
    return max(gain, part * facts.model.bounds_us["lds"] / 3) if facts.model.limiter == "lds" else gain


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
