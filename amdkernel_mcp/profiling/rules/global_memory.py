"""Rules on global memory: coalescing, reuse, width of loads, and the memory roof."""

from collections.abc import Mapping

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.measurement.counters import PcCounts
from amdkernel_mcp.measurement.roofline import fabric_bytes
from amdkernel_mcp.measurement.time_interval import LAUNCH_US
from amdkernel_mcp.profiling.hot_lines import most_wasteful_line
from amdkernel_mcp.profiling.rules.answer import (
    AT_THE_ROOF,
    NOT_RULED_OUT,
    WEIGHS,
    Answer,
    Found,
    RuledOut,
    costly,
    finding,
    in_bytes,
)
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.rule import most_storing

ONCE = 1.5
"""Below this mean number of requests for a byte there is no re-use that caches could lose."""
ONE_LINE = 1.3
"""Lines of a mean load, below which all lanes load the same words."""
STORED_AGAIN = 4
"""Times that a byte is stored."""
COMPULSORY = 1.25
"""Times the least bytes: up to here a kernel moves what it must."""
SCATTERED_LINES = 4
"""Lanes are scattered when a mean access touches at least this many lines, of 8 bytes a lane or less."""
ATOMIC_US, ATOMIC_LANE_US = 0.004, 0.0005
"""Between two atomic requests on a line, and for each further word: usual, not largest, times."""

MOSTLY = 0.5
"""Of all instructions: from here on what one line executes is the kernel's work."""


def of_the_roof(facts: Facts, part: float, what: str, *, because: str, advice: str) -> Found:
    """A finding that costs a part of the largest bound; at most this part of the time, as waits fall with the bound."""
    return costly(part * facts.roof_us, what, because=because, advice=advice, most_us=part * facts.time_us)


def uncoalesced_loads(facts: Facts) -> Answer:
    """Loads that touch many more lines than their bytes fill. A partly used line costs no more than a full one."""
    used, lines = facts.metric("Load Coalescing"), facts.metric("Lines per Load")
    share = _share_of_requests(facts)
    if not used:
        return None
    because = f"a load touches {lines:.1f} lines of 128 B and uses {used:.0f} % of their bytes"
    if used >= 50 or lines < SCATTERED_LINES * max(facts.metric("Bytes per Load") / 512, 1):
        return RuledOut("uncoalesced loads", because)
    if share < WEIGHS:
        if facts.costs("scattered_lines") > NOT_RULED_OUT:
            return None
        return RuledOut("uncoalesced loads", f"{because}, but cache requests are {share:.0%} of the modelled time")
    if facts.code.waits.dependent_loads >= 0.5:
        return _gather(facts, because)
    return of_the_roof(
        facts,
        1 - _least_share(facts, used),
        "Loads are not coalesced",
        because=f"{because}; cache requests are {share:.0%} of the modelled time{_wasteful_line(facts.lines.loads)}",
        advice="make neighbouring lanes (threadIdx.x) read neighbouring addresses; where the layout forbids it, load a "
        "tile in order and transpose it through LDS",
    )


def _share_of_requests(facts: Facts) -> float:
    """Of the modelled time, by the memories that partly used lines load: a memory that moves what it must is none."""
    caches = facts.share("l1_cache", "l2_cache")
    moved, least = _moved(facts), facts.metric("Compulsory Bytes")
    return caches if moved <= COMPULSORY * least else max(caches, facts.share("infinity_cache", "memory"))


def _moved(facts: Facts) -> float:
    """Bytes from and to the memory, or the Infinity Cache where that takes longer."""
    if facts.share("infinity_cache") > facts.share("memory"):
        return max(facts.metric("Memory Bytes"), _behind_l2(facts))
    return facts.metric("Memory Bytes")


def _behind_l2(facts: Facts) -> float:
    return sum(fabric_bytes(dispatch) for dispatch in facts.dispatches)


def _least_share(facts: Facts, used: float) -> float:
    """Of the roof, what would be left. A line that leaves the caches between two of its parts is moved for each."""
    outer = facts.model.limiter in ("memory", "infinity_cache")
    return min(used / 100, facts.metric("Compulsory Bytes") / _moved(facts)) if outer else used / 100


def _gather(facts: Facts, because: str) -> Answer:
    """Lanes whose addresses come from memory. Whether the data could be in another order is not known."""
    return Found(
        finding(
            "Loads are not coalesced: their addresses come from loaded data",
            because=f"{because}; {facts.code.waits.dependent_loads:.0%} of the loads have an address from loaded data",
            advice="sort or group the indices so that lanes that run together read near addresses, keep a small table "
            "or the first levels of a search in LDS, use a narrower type or rows of whole lines (128 B) for what is "
            "gathered; where the indices are random, this is the limit",
        ),
        facts.roof_us * (1 - facts.metric("Load Coalescing") / 100),
        has_gain=False,
    )


def uncoalesced_stores(facts: Facts) -> Answer:
    """The same for stores, which write through to the L2."""
    used, lines = facts.metric("Store Coalescing"), facts.metric("Lines per Store")
    share = _share_of_requests(facts)
    if not used:
        return None
    because = f"a store touches {lines:.1f} lines of 128 B and fills {used:.0f} % of their bytes"
    if used >= 50 or lines < SCATTERED_LINES:
        return RuledOut("uncoalesced stores", because)
    if share < WEIGHS:
        return RuledOut("uncoalesced stores", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return of_the_roof(
        facts,
        1 - used / 100,
        "Stores are not coalesced",
        because=f"{because}; cache requests are {share:.0%} of the modelled time{_wasteful_line(facts.lines.stores)}",
        advice="make neighbouring lanes write neighbouring addresses, after a transpose through LDS if necessary",
    )


def _wasteful_line(counts_of: Mapping[int, PcCounts]) -> str:
    """The line whose loads or stores touch most bytes that no lane requested; empty where lines are not known."""
    line = most_wasteful_line(counts_of)
    if line is None:
        return ""
    counts = counts_of[line]
    requested, touched = counts.bytes / counts.executions, counts.lines / counts.executions
    return f"; line {line} requests {requested:.0f} B per instruction and touches {touched:.1f} lines of 128 B"


def redundant_traffic(facts: Facts) -> Answer:
    """The same bytes requested many times."""
    times, share = facts.metric("Request Amplification"), facts.share("l1_cache")
    if not times:
        return None
    because = f"each byte is requested {times:.1f} times"
    if times < 4:
        return RuledOut("redundant loads", because)
    if _is_uniform(facts):
        return None  # narrow_loads says it
    if share < WEIGHS:
        if facts.costs("misses_of_l1") > NOT_RULED_OUT:
            return None
        return RuledOut("redundant loads", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return of_the_roof(
        facts,
        1 - 1 / times,
        "The same data is loaded many times",
        because=f"{because} ({in_bytes(facts.metric('Bytes Requested'))} for "
        f"{in_bytes(facts.metric('Compulsory Bytes'))}); L1 requests are {share:.0%} of the modelled time",
        advice="keep a tile in LDS or registers and share it within the workgroup; fuse passes over the same data",
    )


def xcd_order(facts: Facts) -> Answer:
    """Data that several XCDs read, each into its own L2. The simulation sees what that costs."""
    read = facts.counter("mall_hits") + facts.counter("mall_misses")
    if not facts.units or not read:
        return None
    again = facts.counter("reads_across_xcds") / read
    return RuledOut("the order of workgroups on XCDs", f"{again:.0%} of what L2s read was read by another one before")


def repeated_stores(facts: Facts) -> Answer:
    """The same bytes stored many times, as by a sum that a loop keeps in memory."""
    full, writes = facts.counter("TCC_EA0_WRREQ_64B_sum"), facts.counter("TCC_EA0_WRREQ_sum")
    kept = max(facts.counter("memory_bytes_written"), 64 * full + 32 * (writes - full))
    stored = facts.counter("bytes_stored") - facts.counter("bytes_atomic")
    if stored <= 0 or not kept:
        return None
    times, lines = stored / kept, facts.counter("cache_lines_stored")
    part = lines / max(lines + facts.counter("cache_lines_loaded"), 1)
    because = f"each byte that leaves the caches was stored {times:.1f} times; stores are {part:.0%} of all accesses"
    if times < STORED_AGAIN or part < 0.2:
        return RuledOut("repeated stores", because)
    return costly(
        part * (1 - 1 / times) * facts.time_us,
        "The same bytes are stored many times",
        because=because,
        advice="keep the value in a register until the loop ends and store it once; where others need it in between, "
        "exchange it through LDS; without volatile and with __restrict__ the compiler may do so itself",
    )


def reread_memory(facts: Facts) -> Answer:
    """Data that leaves the caches and is read again: the working set between two uses is too large."""
    moved, least, share = _moved(facts), facts.metric("Compulsory Bytes"), facts.share("memory", "infinity_cache")
    where = "memory" if moved == facts.metric("Memory Bytes") else "the Infinity Cache"
    if not moved or not least:
        return None  # of a kernel that has workspaces only, intermediate_arrays asks
    because = (
        f"the cache model moves {in_bytes(moved)} from and to {where}, {moved / least:.1f} times the compulsory bytes"
    )
    if moved < 1.5 * least or share < WEIGHS:
        return RuledOut("more than compulsory traffic", f"{because}; {where} is {share:.0%} of the modelled time")
    if moved - _through_workspaces(facts) < COMPULSORY * least:
        return None  # intermediate_arrays says it
    if facts.metric("Request Amplification") < ONCE:
        return _partly_used_lines(facts, because)
    used = facts.metric("Load Coalescing")
    scattered = used < 50 and facts.metric("Lines per Load") >= SCATTERED_LINES
    return of_the_roof(
        facts,
        (1 - least / moved) * (0.9 if scattered else 1),  # then that is the cause
        "Data leaves the caches before it is used again",
        because=f"{because}; the L2 hit rate is {facts.metric('L2 Hit Rate'):.0f} %",
        advice="run workgroups that share data at the same time (order of blockIdx, tiles of tiles), keep more in "
        "registers or LDS, or fill whole lines of 128 B",
    )


def intermediate_arrays(facts: Facts) -> Answer:
    """Workspaces that a launch writes and another one reads: each crosses the memory twice."""
    through, share = _through_workspaces(facts), facts.share("memory", "infinity_cache")
    moved, least = _moved(facts), facts.metric("Compulsory Bytes")
    if not through:
        return None
    because = f"{in_bytes(through)} of {in_bytes(moved)} are of arrays that only pass values from launch to launch"
    if through < 0.25 * moved or share < WEIGHS or facts.roof_us < 0.5 * LAUNCH_US:
        return RuledOut("intermediate arrays", f"{because}; the memory is {share:.0%} of the modelled time")
    return of_the_roof(
        facts,
        1 - min(least / moved, 1),
        "Intermediate arrays go through memory",
        because=f"{because}; the memory is {share:.0%} of the modelled time",
        advice="fuse this launch with the one that makes or uses the array, so that the values stay in registers or "
        "LDS; where that cannot be, keep them in a narrower type, or process a part that fits the caches at a time",
    )


def _through_workspaces(facts: Facts) -> float:
    """Bytes of the workspaces that the launches are given, each once, and no more than what is moved beyond the
    compulsory."""
    given = sum(each.footprint.workspace_bytes for each in facts.dispatches if each.footprint)
    return min(given, max(_moved(facts) - facts.metric("Compulsory Bytes"), 0.0))


def _partly_used_lines(facts: Facts, because: str) -> Answer:
    """Nothing is used twice, so what is moved beyond need are the unused parts of lines."""
    used = min(filter(None, (facts.metric("Load Coalescing"), facts.metric("Store Coalescing"))), default=0.0)
    return of_the_roof(
        facts,
        (1 - used / 100) * 0.9,
        "Memory moves whole lines, but a part of each is used",
        because=f"{because}; each byte is requested once, and accesses use {used:.0f} % of the lines that they touch",
        advice="let the lanes of a wave cover whole lines of 128 B: a stride of 1, arrays of each member instead of an "
        "array of structures, or a tile that is read in order and transposed in LDS",
    )


def narrow_loads(facts: Facts) -> Answer:
    """Coalesced but narrow loads, where their requests or instructions matter."""
    loads, size = facts.counter("SQ_INSTS_VMEM_RD"), facts.metric("Bytes per Load")
    if not loads or facts.metric("Lines per Load") >= SCATTERED_LINES:
        return None
    part = loads / max(facts.counter("SQ_INSTS"), 1)
    if _is_uniform(facts):
        return _uniform_loads(facts, part)
    if size > 512 or part < 0.05:
        return RuledOut("narrow loads", f"a load returns {size:.0f} B per wave; loads are {part:.0%} of instructions")
    share = facts.share("l1_cache", "vector_alu", "scalar_unit", "wave_issue")
    if share < WEIGHS:
        why = (
            f"a load returns {size:.0f} B per wave, but requests and instructions are {share:.0%} of the modelled time"
        )
        return RuledOut("narrow loads", why)
    if facts.metric("Load Coalescing") > 150:
        return _uniform_loads(facts, part)
    return of_the_roof(
        facts,
        max(0.6 * (1 - size / facts.wave_size / 4), 0.2),
        "Loads are narrow",
        because=f"a load returns {size:.0f} B per wave ({size / facts.wave_size:.1f} B per lane), and {part:.0%} "
        "of all instructions are loads",
        advice="load 16 B per lane (float4, or a vector of eight halves): a quarter of the load and address "
        "instructions, and more bytes in flight",
    )


def _is_uniform(facts: Facts) -> bool:
    """Whether the lanes of a wave load the same words, and the loads or their instructions take most of the time."""
    part = facts.counter("SQ_INSTS_VMEM_RD") / max(facts.counter("SQ_INSTS"), 1)
    share = facts.share("l1_cache", "vector_alu", "scalar_unit", "wave_issue")
    one_line = facts.metric("Load Coalescing") > 150 and facts.metric("Lines per Load") < ONE_LINE
    return one_line and part >= 0.05 and share >= WEIGHS


def _uniform_loads(facts: Facts, part: float) -> Answer:
    return costly(
        max(0.2 * facts.time_us, (facts.saved_us("latency") or 0.0) if _is_uniform(facts) else 0.0),
        "Many lanes load the same address",
        because=f"lanes request {facts.metric('Load Coalescing'):.0f} % of the bytes in the lines that they touch, and "
        f"{part:.0%} of all instructions are vector loads",
        advice="show the compiler that the address is uniform (const __restrict__, an index from blockIdx only, "
        "__builtin_amdgcn_readfirstlane) so that it uses a scalar load; or read the value once into LDS",
    )


def atomics_on_few_addresses(facts: Facts) -> Answer:
    """Atomics in memory that take turns on a line."""
    requests, most = facts.counter("TCC_ATOMIC_sum"), facts.counter("atomics_on_one_line")
    if not requests:
        return None
    words = facts.counter("bytes_atomic") / 4 / requests
    queue_us = most * (ATOMIC_US + max(words - 1, 0) * ATOMIC_LANE_US)
    because = f"{most:.0f} of {requests:.0f} atomic requests are on the same line of 128 B"
    each_wave, combining = most >= 0.9 * facts.counter("SQ_WAVES"), _combining(facts) if words <= 2 else 0.0
    queues = each_wave and queue_us >= 1.5 * facts.roof_us
    if not queues and not combining:
        if each_wave and queue_us >= WEIGHS * facts.roof_us:
            return None  # too near the other bounds to be found or ruled out
        why = f"at most {rounded(queue_us)} us one after the other, and the largest bound is {rounded(facts.roof_us)}"
        return RuledOut("atomics on few addresses", f"{because}: {why}")
    loop = f"; {combining:.0%} of the instructions are in their line, where a wave's lanes are combined first"
    return costly(
        max(queue_us, combining * facts.roof_us),
        "Atomics take turns on few addresses",
        because=f"{because}, {words:.1f} words each: about {rounded(queue_us)} us one after the other, "
        f"and all else takes {rounded(facts.roof_us)}{loop if combining else ''}",
        advice="sum within the wave and the workgroup first (shuffles, LDS) and send one atomic per workgroup, give "
        "workgroups copies of their own, or write partial results for a second launch",
    )


def _combining(facts: Facts) -> float:
    """The share of the instructions that the line with most stores and atomics executes, where it is the most of them.

    The compiler sums the lanes of a wave one after the other before an atomic on an address that all of them have.
    """
    line = next(iter(most_storing(facts.lines)), None)
    if line is None:
        return 0.0
    share = facts.lines.by_line[line].executions / facts.lines.whole.executions
    return share if share >= MOSTLY else 0.0


def _what_remains(facts: Facts) -> str:
    """What the time has besides the traffic, where it is known."""
    waits_us = facts.saved_us("latency")
    latency = "" if waits_us is None else f"waits for memory cost {rounded(waits_us)} us of it in a simulated CU; "
    contention = "contention of atomics on the same words" if facts.counter("bytes_atomic") else ""
    unknown = [*([] if latency else ["latency"]), *([contention] if contention else [])]
    return f"{latency}measure on a GPU what {' and '.join(unknown)} cost; " if unknown else latency


def at_the_roof(facts: Facts) -> Answer:
    """Nothing but compulsory traffic is left."""
    outer = ("memory", "infinity_cache")
    second = max((us for name, us in facts.model.bounds_us.items() if name not in outer), default=0.0)
    moved, least = facts.metric("Memory Bytes"), facts.metric("Compulsory Bytes")
    if facts.model.limiter == "infinity_cache":
        moved = _behind_l2(facts)
    if facts.model.limiter not in outer or second > 0.7 * facts.model.time_us or moved > COMPULSORY * least:
        return None
    if facts.time_us > 1.5 * facts.roof_us:
        return None  # waits or one long wave are the larger part of the time
    return costly(
        0.0,
        AT_THE_ROOF,
        because=f"{in_bytes(moved)} ({in_bytes(least)} compulsory) take {facts.model.time_us:.2f} us at the peak of "
        f"{'memory' if facts.model.limiter == 'memory' else 'the Infinity Cache'}; "
        f"the next bound is {second / facts.model.time_us:.0%} of that",
        advice=f"{_what_remains(facts)}only moving fewer bytes (fusion, narrower types) is sure to help",
    )
