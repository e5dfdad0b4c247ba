"""What a page shows of a profile and an answer has no room for: traffic by level, roofs, every line with its code."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.measurement.counters import MATRIX_TYPES
from amdkernel_mcp.measurement.roofline import (
    CDNA,
    LDS_BYTES_PER_CLOCK_CU,
    LINE_BYTES,
    Resource,
    fabric_bytes,
    l1_lookups,
    pipelines,
)
from amdkernel_mcp.profiling.hot_lines import all_lines
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.results.kernels import HotLine

MOST_INSTRUCTIONS = 8000
"""Of a kernel: unrolled ones have tens of thousands, which no page can show."""
LOOKUP_BYTES, STORE_BYTES = 64, 64
"""Of a tag lookup of the vL1D, and of a store's request to the L2."""


@dataclass(frozen=True)
class Level:
    """Bytes that cross the front of one memory, and how fast that can go. None: not known, or the part has none."""

    name: str
    resource: Resource
    moved: float
    """What the roof limits; where lanes waste a part of a line, more than `read` and `written`."""
    read: float | None = None
    written: float | None = None
    peak_gbps: float | None = None
    reached: float | None = None
    """Share of the peak that benchmarks reach."""
    hit: float | None = None
    """Share of its requests that it answers itself, 0 to 1."""


@dataclass(frozen=True)
class Roof:
    """A peak of arithmetic in flop/s."""

    name: str
    per_s: float


@dataclass(frozen=True)
class CodeRow:
    """An instruction of the code object, how often waves executed it, and its line of the source."""

    text: str
    executions: int
    line: int | None


@dataclass(frozen=True)
class KernelDetail:
    """One kernel. Times in microseconds: the longest bound at the peaks, and both ends of the modelled time."""

    name: str
    gpu: str
    launch: str
    flop: float
    least_us: float
    low_us: float
    high_us: float
    bounds_us: Sequence[tuple[str, float]]
    levels: Sequence[Level]
    roofs: Sequence[Roof]
    source: Sequence[str]
    lines: Sequence[HotLine]
    code: Sequence[CodeRow]
    code_cut: int
    """Instructions beyond MOST_INSTRUCTIONS."""


def detail(facts: Facts, *, code: Sequence[Instruction], line_of: Callable[[int], int | None]) -> KernelDetail:
    """Everything that the page of one kernel shows besides its metrics. `code`: all of the code object's."""
    rows = _code(facts, code, line_of)
    return KernelDetail(
        name=facts.largest_dispatch.kernel,
        gpu=facts.gpu.name,
        launch=_launch(facts),
        flop=facts.metric("FLOP"),
        least_us=facts.model.time_us,
        low_us=facts.interval.low_us,
        high_us=facts.interval.high_us,
        bounds_us=sorted(facts.model.bounds_us.items(), key=lambda each: -each[1]),
        levels=_levels(facts),
        roofs=_roofs(facts),
        source=facts.lines.source,
        lines=all_lines(facts.lines),
        code=rows[:MOST_INSTRUCTIONS],
        code_cut=max(0, len(rows) - MOST_INSTRUCTIONS),
    )


def _launch(facts: Facts) -> str:
    largest = facts.largest_dispatch
    grid, block = (" x ".join(str(size) for size in sizes) for sizes in (largest.grid, largest.block))
    return f"{grid} workgroups of {block} threads ({prod(largest.block)})"


def _levels(facts: Facts) -> list[Level]:
    """From the lanes to the memory. Counts of CDNA's caches; RDNA's L0 by the lines that instructions touch."""
    gpu, count, clock = facts.gpu, facts.counter, facts.gpu.clock_mhz / 1e3
    cdna = pipelines(gpu) is CDNA
    lookup = LOOKUP_BYTES if cdna else LINE_BYTES
    loads, lines = count("l1_line_hits"), count("cache_lines_loaded")
    fetched = LOOKUP_BYTES if gpu.gfx == "gfx90a" else LINE_BYTES
    asked = fetched * (count("TCP_TCC_READ_REQ_sum") if cdna else count("TCC_READ_sum"))
    sent = STORE_BYTES * (count("TCC_WRITE_sum") + count("TCC_ATOMIC_sum"))
    hits, misses = count("TCC_HIT_sum"), count("TCC_MISS_sum")
    found = [
        Level("LDS", "lds", count("lds_bytes"), count("lds_bytes"), None,
              LDS_BYTES_PER_CLOCK_CU * gpu.cus * clock),
        Level("vL1D" if cdna else "L0", "l1_cache", lookup * sum(l1_lookups(each, gpu) for each in facts.dispatches),
              count("bytes_loaded"), count("bytes_stored"), lookup * gpu.cus * clock, gpu.achieved("l1_cache"),
              _share(loads, lines)),
        Level("L2", "l2_cache", asked + sent, asked, sent,
              gpu.l2_channels * LINE_BYTES * clock if gpu.l2_channels else None, gpu.achieved("l2_cache"),
              _share(hits, hits + misses)),
    ]  # fmt: skip
    if gpu.mall_mib:
        hits, misses = count("mall_hits"), count("mall_misses")
        read = LINE_BYTES * (hits + misses)
        behind = sum(fabric_bytes(each) for each in facts.dispatches)
        written = behind - read if cdna else count("memory_bytes_written")  # RDNA's writes to the fabric: not counted
        peak, reached, hit = gpu.mall_gbps, gpu.achieved("infinity_cache"), _share(hits, hits + misses)
        found.append(Level("Infinity Cache", "infinity_cache", read + written, read, written, peak, reached, hit))
    read, written = count("memory_bytes_read"), count("memory_bytes_written")
    found.append(Level("Memory", "memory", read + written, read, written, gpu.memory_gbps, gpu.achieved("memory")))
    return [each for each in found if each.moved or each.name != "LDS"]


def _share(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole else None


def _roofs(facts: Facts) -> list[Roof]:
    """The peaks of the types that the kernel computes with; of f32 where it computes with none."""
    gpu = facts.gpu
    units = [
        f"vector_{width.lower()}"
        for width in ("F64", "F32", "F16")
        if any(facts.counter(f"SQ_INSTS_VALU_{op}_{width}") for op in ("ADD", "MUL", "FMA", "TRANS"))
    ]
    units += [f"matrix_{kind.lower()}" for kind in MATRIX_TYPES if facts.counter(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}")]
    peaks = ((unit, gpu.peak_flops(unit)) for unit in units or ["vector_f32"])
    return [Roof(unit.replace("_", " "), peak) for unit, peak in peaks if peak]


def _code(facts: Facts, code: Iterable[Instruction], line_of: Callable[[int], int | None]) -> list[CodeRow]:
    """The instructions between the first and the last that ran: those of the kernel, and of what it calls."""
    runs: dict[int, int] = {}
    for dispatch in facts.dispatches:
        for address, counts in dispatch.pcs.items():
            if counts.executions:
                runs[address] = runs.get(address, 0) + counts.executions
    if not runs:
        return []
    first, last = min(runs), max(runs)
    return [
        CodeRow(each.text, runs.get(each.address, 0), line_of(each.address))
        for each in code
        if first <= each.address <= last
    ]
