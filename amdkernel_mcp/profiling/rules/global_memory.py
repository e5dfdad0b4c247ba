"""Rules on global memory: coalescing, reuse, width of loads, and the memory roof."""

from collections.abc import Mapping

from amdkernel_mcp.measurement.counters import PcCounts
from amdkernel_mcp.profiling.hot_lines import most_wasteful_line
from amdkernel_mcp.profiling.rules.answer import WEIGHS, Answer, RuledOut, finding
from amdkernel_mcp.profiling.rules.facts import Facts

SCATTERED_LINES = 2
"""Lanes are scattered when a mean access touches at least this many lines."""


def uncoalesced_loads(facts: Facts) -> Answer:
    """Loads that touch many more lines than their bytes fill. A partly used line costs no more than a full one."""
    used, lines = facts.metric("Load Coalescing"), facts.metric("Lines per Load")
    share = facts.share("l1_cache", "l2_cache")
    if not used:
        return None
    because = f"a load touches {lines:.1f} lines of 128 B and uses {used:.0f} % of their bytes"
    if used >= 50 or lines < SCATTERED_LINES:
        return RuledOut("uncoalesced loads", because)
    if share < WEIGHS:
        return RuledOut("uncoalesced loads", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return finding(
        "Loads are not coalesced",
        because=f"{because}; cache requests are {share:.0%} of the modelled time{_wasteful_line(facts.lines.loads)}",
        advice="make neighbouring lanes (threadIdx.x) read neighbouring addresses; where the layout forbids it, load a "
        "tile in order and transpose it through LDS",
        docs=("coalesced global memory access", "shared memory tile transpose"),
    )


def uncoalesced_stores(facts: Facts) -> Answer:
    """The same for stores, which write through to the L2."""
    used, lines = facts.metric("Store Coalescing"), facts.metric("Lines per Store")
    share = facts.share("l1_cache", "l2_cache")
    if not used:
        return None
    because = f"a store touches {lines:.1f} lines of 128 B and fills {used:.0f} % of their bytes"
    if used >= 50 or lines < SCATTERED_LINES:
        return RuledOut("uncoalesced stores", because)
    if share < WEIGHS:
        return RuledOut("uncoalesced stores", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return finding(
        "Stores are not coalesced",
        because=f"{because}; cache requests are {share:.0%} of the modelled time{_wasteful_line(facts.lines.stores)}",
        advice="make neighbouring lanes write neighbouring addresses, after a transpose through LDS if necessary",
        docs=("coalesced global memory access", "shared memory tile transpose"),
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
    if share < WEIGHS:
        return RuledOut("redundant loads", f"{because}, but cache requests are {share:.0%} of the modelled time")
    return finding(
        "The same data is loaded many times",
        because=f"{because} ({facts.metric('Bytes Requested'):.3g} B for {facts.metric('Compulsory Bytes'):.3g} B); L1 "
        f"requests are {share:.0%} of the modelled time",
        advice="keep a tile in LDS or registers and share it within the workgroup; fuse passes over the same data",
        docs=("shared memory tiling data reuse", "matrix multiplication LDS tile"),
    )


def reread_memory(facts: Facts) -> Answer:
    """Data that leaves the caches and is read again: the working set between two uses is too large."""
    moved, least = facts.metric("Memory Bytes"), facts.metric("Compulsory Bytes")
    if not moved or not least:
        return None
    share = facts.share("memory")
    because = f"the cache model moves {moved:.4g} B from and to memory, {moved / least:.1f} times the compulsory bytes"
    if moved < 1.5 * least or share < WEIGHS:
        return RuledOut("more than compulsory traffic", f"{because}; memory is {share:.0%} of the modelled time")
    return finding(
        "Data leaves the caches before it is used again",
        because=f"{because}; the L2 hit rate is {facts.metric('L2 Hit Rate'):.0f} %",
        advice="run workgroups that share data at the same time (order of blockIdx, tiles of tiles), keep more in "
        "registers or LDS, or fill whole lines of 128 B",
        docs=("L2 cache reuse workgroup order", *(["MI300X XCD L2 workgroup mapping"] if facts.gpu.xcds > 1 else [])),
    )


def narrow_loads(facts: Facts) -> Answer:
    """Coalesced but narrow loads, where their requests or instructions matter."""
    loads, size = facts.counter("SQ_INSTS_VMEM_RD"), facts.metric("Bytes per Load")
    if not loads or facts.metric("Load Coalescing") < 50:
        return None
    part = loads / max(facts.counter("SQ_INSTS"), 1)
    if size > 512 or part < 0.05:
        return RuledOut("narrow loads", f"a load returns {size:.0f} B per wave; loads are {part:.0%} of instructions")
    if facts.metric("Load Coalescing") > 150:
        return _uniform_loads(facts, part)
    return finding(
        "Loads are narrow",
        because=f"a load returns {size:.0f} B per wave ({size / facts.wave_size:.1f} B per lane), and {part:.0%} "
        "of all instructions are loads",
        advice="load 16 B per lane (float4, or a vector of eight halves): a quarter of the load and address "
        "instructions, and more bytes in flight",
        docs=("vectorized memory access float4 global_load_dwordx4",),
    )


def _uniform_loads(facts: Facts, part: float) -> Answer:
    return finding(
        "Many lanes load the same address",
        because=f"lanes request {facts.metric('Load Coalescing'):.0f} % of the bytes in the lines that they touch, and "
        f"{part:.0%} of all instructions are vector loads",
        advice="show the compiler that the address is uniform (const __restrict__, an index from blockIdx only, "
        "__builtin_amdgcn_readfirstlane) so that it uses a scalar load; or read the value once into LDS",
        docs=("scalar load uniform s_load readfirstlane",),
    )


def at_the_roof(facts: Facts) -> Answer:
    """Nothing but compulsory traffic is left."""
    second = max((us for name, us in facts.model.bounds_us.items() if name != "memory"), default=0.0)
    moved, least = facts.metric("Memory Bytes"), facts.metric("Compulsory Bytes")
    if facts.model.limiter != "memory" or second > 0.7 * facts.model.time_us or moved > 1.25 * least:
        return None
    contention = " and contention of atomics on the same words" if facts.counter("bytes_atomic") else ""
    return finding(
        "The only modelled bound is the memory traffic that the problem needs",
        because=f"{moved:.4g} B ({least:.4g} compulsory) take {facts.model.time_us:.2f} us at peak memory bandwidth; "
        f"the next bound is {second / facts.model.time_us:.0%} of that",
        advice=f"measure on a GPU: what remains is latency{contention}, which the emulator does not model; only moving "
        "fewer bytes (fusion, narrower types) is sure to help",
        docs=("memory bandwidth bound kernel fusion",),
    )
