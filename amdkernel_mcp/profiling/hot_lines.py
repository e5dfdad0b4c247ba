"""Which source lines execute the most instructions and cause the most memory traffic."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields

from amdkernel_mcp.measurement.counters import Dispatch, PcCounts
from amdkernel_mcp.results.kernels import HotLine, LineMemory

LONGEST_LINE = 120
LINE_BYTES = 128
MOST_HOT, MOST_BUSY = 10, 5
"""Lines in a profile: those with most instructions, and of the others those that move most data."""

Counts = Mapping[int, PcCounts]
"""What the instructions of each source line did."""


@dataclass(frozen=True)
class LineTable:
    """What each line of a source did, over all its instructions, and what all instructions did."""

    by_line: Counts
    loads: Counts
    """Likewise, over the instructions that load through the caches."""
    stores: Counts
    """Likewise, over the stores and atomics."""
    lds: Counts
    """Likewise, over the instructions that touch LDS."""
    whole: PcCounts
    source: tuple[str, ...] = ()

    def text(self, line: int) -> str:
        """The source of a line, cut to LONGEST_LINE characters."""
        return self.source[line - 1].strip()[:LONGEST_LINE] if 0 < line <= len(self.source) else ""

    @property
    def most_conflicting_line(self) -> int | None:
        """The line that loses most LDS cycles to conflicts; None where no line loses any."""
        return _most(self.lds, lambda counts: counts.lds_conflicts)


def most_wasteful_line(counts_of: Counts) -> int | None:
    """The line that touches most bytes beyond those that it requests; None where no line does."""
    return _most(counts_of, lambda counts: LINE_BYTES * counts.lines - counts.bytes)


def _most(counts_of: Counts, weight: Callable[[PcCounts], int]) -> int | None:
    line = max(counts_of, key=lambda line: weight(counts_of[line]), default=None)
    return line if line is not None and weight(counts_of[line]) > 0 else None


NONE = PcCounts(0)
NO_LINES = LineTable({}, {}, {}, {}, NONE)


def line_table(dispatches: Iterable[Dispatch], *, line_of: Callable[[int], int | None], source: str) -> LineTable:
    """Counts by line of `source`, all dispatches together.

    `line_of` returns the user's line of a virtual address, or None. Instructions without a line count in the whole, so
    that a line's share is its share of all instructions.
    """
    whole = NONE
    by_line, loads, stores, lds = (dict[int, PcCounts]() for _ in range(4))
    for dispatch in dispatches:
        for address, counts in dispatch.pcs.items():
            whole = _sum(whole, counts)
            line = line_of(address) if counts.executions else None
            if line is None:
                continue
            kinds = ((counts.lines and not counts.lines_stored, loads), (counts.lines_stored, stores))
            for touched, table in ((True, by_line), *kinds, (counts.lds_cycles, lds)):
                if touched:
                    table[line] = _sum(table.get(line, NONE), counts)
    return LineTable(by_line, loads, stores, lds, whole, tuple(source.splitlines()))


def hot_lines(table: LineTable) -> list[HotLine]:
    """The lines with most wave-instructions, hottest first, then others that move much data; empty without counts.

    Shares are shares of instructions, not of time: few instructions can move most of the data.
    """
    hottest = sorted(table.by_line, key=lambda line: -table.by_line[line].executions)
    busiest = sorted(
        (line for line in hottest[MOST_HOT:] if _moved(table, line)), key=lambda line: -_moved(table, line)
    )
    return [_hot_line(table, line) for line in hottest[:MOST_HOT] + busiest[:MOST_BUSY]]


def all_lines(table: LineTable) -> list[HotLine]:
    """Every line that executed instructions, in the order of the source."""
    return [_hot_line(table, line) for line in sorted(table.by_line)]


def _moved(table: LineTable, line: int) -> int:
    """Cache lines and LDS cycles: each keeps a unit of a CU busy for a clock."""
    return table.by_line[line].lines + table.by_line[line].lds_cycles


def _hot_line(table: LineTable, line: int) -> HotLine:
    counts = table.by_line[line]
    return HotLine(
        line=line,
        source=table.text(line),
        share=counts.executions / table.whole.executions,
        evidence="emulated",
        executions=counts.executions,
        active_lanes=round(counts.lanes / counts.executions, 2),
        divergent=counts.divergent,
        memory=_line_memory(table, line),
    )


def _line_memory(table: LineTable, line: int) -> LineMemory | None:
    """What the line's instructions requested from memory and what the model moves for it; None if they access none."""
    loads, stores, lds = (counts.get(line, NONE) for counts in (table.loads, table.stores, table.lds))
    moved = _sum(loads, stores)
    if not moved.lines and not lds.lds_cycles:
        return None
    behind_l1 = moved.l2_hits + moved.l2_misses
    return LineMemory(
        bytes_asked=moved.bytes + lds.bytes,
        lds_bytes=lds.bytes,
        bytes_touched=LINE_BYTES * moved.lines,
        l1_hit=loads.l1_hits / loads.lines if loads.lines else None,
        l2_hit=moved.l2_hits / behind_l1 if behind_l1 else None,
        lds_cycles=lds.lds_cycles,
        lds_conflicts=lds.lds_conflicts,
    )


def _sum(a: PcCounts, b: PcCounts) -> PcCounts:
    return PcCounts(*(getattr(a, field.name) + getattr(b, field.name) for field in fields(PcCounts)))
