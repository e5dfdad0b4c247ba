"""Where the executed instructions come from in the source."""

from collections import Counter
from collections.abc import Callable, Iterable

from amdkernel_mcp.measurement.work import Dispatch
from amdkernel_mcp.results import HotLine

LONGEST_LINE = 120


def hot_lines(
    dispatches: Iterable[Dispatch], *, line_of: Callable[[int], int | None], source: str, most: int = 10
) -> list[HotLine]:
    """The lines with most wave-instructions, hottest first; empty where executions were not counted.

    `line_of` gives the user's line of a virtual address, or None. Instructions without a line count in the whole, so
    that the shares say what part of everything a line is. They are shares of instructions, not of time.
    """
    by_address: Counter[int] = Counter()
    for dispatch in dispatches:
        by_address.update(dispatch.pcs)
    total = by_address.total()
    if not total:
        return []
    by_line: Counter[int] = Counter()
    for address, executions in by_address.items():
        if executions and (line := line_of(address)) is not None:
            by_line[line] += executions
    text = source.splitlines()
    return [
        HotLine(line=line, source=_text(text, line), share=executions / total, evidence="emulated")
        for line, executions in by_line.most_common(most)
    ]


def _text(lines: list[str], line: int) -> str:
    return lines[line - 1].strip()[:LONGEST_LINE] if 0 < line <= len(lines) else ""
