"""Where the executed instructions and the memory traffic come from in the source."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields

from amdkernel_mcp.measurement.work import Dispatch, PcCounts
from amdkernel_mcp.results import HotLine, LineMemory

LONGEST_LINE = 120
LINE_BYTES = 128


@dataclass(frozen=True)
class LineTable:
    """What each line of a source did, over all its instructions, and what all instructions did."""

    by_line: Mapping[int, PcCounts]
    memory: Mapping[int, PcCounts]
    """Likewise, over the instructions that touch memory or LDS."""
    whole: PcCounts
    source: tuple[str, ...] = ()

    def text(self, line: int) -> str:
        """The source of a line, without what is behind its first characters."""
        return self.source[line - 1].strip()[:LONGEST_LINE] if 0 < line <= len(self.source) else ""

    @property
    def most_wasteful_line(self) -> int | None:
        """Of the lines that touch more bytes than they ask for, the one that wastes most."""
        return self._most(lambda counts: LINE_BYTES * counts.lines - counts.bytes if counts.lines else 0)

    @property
    def most_conflicting_line(self) -> int | None:
        """The line that loses most LDS cycles, or None where no line loses any."""
        return self._most(lambda counts: counts.lds_conflicts)

    def _most(self, weight: Callable[[PcCounts], int]) -> int | None:
        line = max(self.memory, key=lambda line: weight(self.memory[line]), default=None)
        return line if line is not None and weight(self.memory[line]) > 0 else None


NO_LINES = LineTable({}, {}, PcCounts(0))


def line_table(dispatches: Iterable[Dispatch], *, line_of: Callable[[int], int | None], source: str) -> LineTable:
    """Counts by line of `source`, all dispatches together.

    `line_of` gives the user's line of a virtual address, or None. Instructions without a line count in the whole, so
    that the shares say what part of everything a line is.
    """
    whole, by_line, memory = PcCounts(0), dict[int, PcCounts](), dict[int, PcCounts]()
    for dispatch in dispatches:
        for address, counts in dispatch.pcs.items():
            whole = _sum(whole, counts)
            if counts.executions and (line := line_of(address)) is not None:
                by_line[line] = _sum(by_line.get(line, PcCounts(0)), counts)
                if counts.lines or counts.lds_cycles:
                    memory[line] = _sum(memory.get(line, PcCounts(0)), counts)
    return LineTable(by_line, memory, whole, tuple(source.splitlines()))


def hot_lines(table: LineTable, *, most: int = 10) -> list[HotLine]:
    """The lines with most wave-instructions, hottest first; empty where executions were not counted.

    Shares are shares of instructions, not of time.
    """
    hottest = sorted(table.by_line.items(), key=lambda item: -item[1].executions)[:most]
    return [_hot_line(table, line, counts) for line, counts in hottest]


def _hot_line(table: LineTable, line: int, counts: PcCounts) -> HotLine:
    return HotLine(
        line=line,
        source=table.text(line),
        share=counts.executions / table.whole.executions,
        evidence="emulated",
        executions=counts.executions,
        active_lanes=round(counts.lanes / counts.executions, 2),
        divergent=counts.divergent,
        memory=line_memory(table.memory.get(line, PcCounts(0))),
    )


def line_memory(counts: PcCounts) -> LineMemory | None:
    """What the line's instructions asked of memory, and what a model says was moved for it; None if they did not."""
    if not counts.lines and not counts.lds_cycles:
        return None
    behind_l1 = counts.l2_hits + counts.l2_misses
    return LineMemory(
        bytes_asked=counts.bytes,
        bytes_touched=LINE_BYTES * counts.lines,
        l1_hit=counts.l1_hits / counts.lines if counts.lines else None,
        l2_hit=counts.l2_hits / behind_l1 if behind_l1 else None,
        lds_cycles=counts.lds_cycles,
        lds_conflicts=counts.lds_conflicts,
    )


def _sum(a: PcCounts, b: PcCounts) -> PcCounts:
    return PcCounts(*(getattr(a, field.name) + getattr(b, field.name) for field in fields(PcCounts)))
