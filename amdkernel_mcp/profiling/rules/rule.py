"""A rule with what its finding says besides the figures: subject, where to read, what would refute it, lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from amdkernel_mcp.measurement.counters import PcCounts
from amdkernel_mcp.measurement.roofline import Resource
from amdkernel_mcp.measurement.simulated import Loss
from amdkernel_mcp.profiling.hot_lines import LineTable, most_wasteful_line
from amdkernel_mcp.profiling.rules.answer import Answer
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.results.kernels import Focus

MOST_LINES = 3


def hottest(table: LineTable) -> list[int]:
    """The lines with most instructions."""
    return _most(table.by_line, lambda counts: counts.executions)


def most_loading(table: LineTable) -> list[int]:
    """The lines whose loads touch most cache lines."""
    return _most(table.loads, lambda counts: counts.lines)


def most_storing(table: LineTable) -> list[int]:
    """The lines whose stores and atomics touch most cache lines."""
    return _most(table.stores, lambda counts: counts.lines)


def wasteful_loads(table: LineTable) -> list[int]:
    """The line whose loads touch most bytes beyond those that they request."""
    return [line] if (line := most_wasteful_line(table.loads)) else []


def wasteful_stores(table: LineTable) -> list[int]:
    """The same of stores."""
    return [line] if (line := most_wasteful_line(table.stores)) else []


def most_lds(table: LineTable) -> list[int]:
    """The lines with most LDS cycles."""
    return _most(table.lds, lambda counts: counts.lds_cycles)


def nowhere(_: LineTable) -> list[int]:
    """For what is a matter of the launch."""
    return []


def _most(counts_of: Mapping[int, PcCounts], weight: Callable[[PcCounts], int]) -> list[int]:
    return sorted((line for line in counts_of if weight(counts_of[line])), key=lambda line: -weight(counts_of[line]))[
        :MOST_LINES
    ]


@dataclass(frozen=True)
class Rule:
    """One question about a kernel. `section`: of docs/profiling.md, as its anchor; empty where that says nothing."""

    ask: Callable[[Facts], Answer]
    topic: Focus
    section: str
    refuted_by: str
    lines: Callable[[LineTable], list[int]] = hottest
    loss: Loss | None = None
    """What the simulation leaves out to see what the finding costs."""
    relieves_also: tuple[Resource, ...] = ()
    """Bounds that fall with the cure, besides those of the topic."""
    has_gain: bool = True
    """False where what the kernel could become is not known, only what it loses."""
