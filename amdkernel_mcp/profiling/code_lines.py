"""Hot lines and hot instructions of a recorded kernel, from its thread trace or its PC samples."""

import re
from collections.abc import Mapping
from pathlib import Path

from amdkernel_mcp.profiling.hot_lines import LONGEST_LINE, MOST_HOT
from amdkernel_mcp.profiling.metrics.metric import quantity
from amdkernel_mcp.profiling.readers.kernel_code import Cost, KernelCode, Method, Place, add_up
from amdkernel_mcp.profiling.readers.recording import visible
from amdkernel_mcp.profiling.readers.sources import source_lines
from amdkernel_mcp.results.kernels import HotInstruction, HotLine, RecordedCost
from amdkernel_mcp.results.quantity import Metric

MOST_INSTRUCTIONS = 12
SEPARATOR = " -> "
"""Between an inlined line and the line that calls it, in what rocprofiler-sdk writes as source."""
_LINE = re.compile(r"(.+):(\d{1,9})")
_SYSTEM = re.compile(r"^(/opt/rocm|/usr/(lib|include))|/hip/amd_detail/")
_UNITS: Mapping[Method, str] = {
    "thread trace": "Thread Trace",
    "host-trap samples": "PC Samples",
    "stochastic samples": "PC Samples",
}


def line_of(source: str) -> tuple[str, int] | None:
    """File and line of an instruction: the innermost one that is not HIP's own header; None without debug symbols."""
    frames = [(match[1].strip(), int(match[2])) for each in source.split(SEPARATOR) if (match := _LINE.fullmatch(each))]
    return next((frame for frame in frames if not _SYSTEM.search(frame[0])), frames[0] if frames else None)


def by_line(code: KernelCode) -> dict[tuple[str, int], Cost]:
    """The cost of each source line that has one."""
    parts: dict[tuple[str, int], list[Cost]] = {}
    for place, cost in code.costs.items():
        if (line := line_of(place.source)) and (cost.weight or cost.hits):
            parts.setdefault(line, []).append(cost)
    return {line: add_up(costs) for line, costs in parts.items()}


def hot_recorded_lines(code: KernelCode, copies: Mapping[str, Path]) -> list[HotLine]:
    """The source lines with most samples or cycles, and their text where the recording has a copy of the file."""
    total, lines, texts = code.total, by_line(code), _Texts(copies)
    hottest = sorted(lines, key=lambda line: -lines[line].weight)[:MOST_HOT]
    return [
        HotLine(
            line=number,
            source=texts.of(file, number),
            file=file,
            share=lines[file, number].weight / total.weight,
            evidence="measured",
            executions=lines[file, number].hits or None,
            active_lanes=_lanes(lines[file, number]),
            recorded=_recorded(lines[file, number], code.method),
        )
        for file, number in hottest
        if total.weight
    ]


def hot_instructions(code: KernelCode) -> list[HotInstruction]:
    """The instructions with most samples or cycles."""
    total = code.total.weight
    hottest = sorted(code.costs, key=lambda place: -code.costs[place].weight)[:MOST_INSTRUCTIONS]
    return [_instruction(place, code, total) for place in hottest if code.costs[place].weight]


def _instruction(place: Place, code: KernelCode, total: int) -> HotInstruction:
    file, number = line_of(place.source) or (None, None)
    cost = code.costs[place]
    return HotInstruction(
        instruction=place.text[:LONGEST_LINE],
        file=file,
        line=number,
        share=cost.weight / total,
        executions=cost.hits or None,
        recorded=_recorded(cost, code.method),
    )


def _recorded(cost: Cost, method: Method) -> RecordedCost:
    if method == "thread trace":
        return RecordedCost(latency_cycles=cost.latency, stall_cycles=cost.stall, idle_cycles=cost.idle)
    known = method == "stochastic samples"
    reasons = dict(sorted(cost.reasons.items(), key=lambda item: -item[1]))
    return RecordedCost(samples=cost.samples, stalled=cost.stalled if known else None, reasons=reasons)


def _lanes(cost: Cost) -> float | None:
    return round(cost.lanes / cost.samples, 2) if cost.lanes and cost.samples else None


class _Texts:
    """Lines of the copied source files, read once each."""

    def __init__(self, copies: Mapping[str, Path]) -> None:
        self._copies = copies
        self._lines: dict[str, list[str]] = {}

    def of(self, file: str, number: int) -> str:
        if file not in self._lines:
            self._lines[file] = source_lines(self._copies[file]) if file in self._copies else []
        lines = self._lines[file]
        return visible(lines[number - 1].replace("\t", " "))[:LONGEST_LINE] if 0 < number <= len(lines) else ""


def code_metrics(code: KernelCode) -> dict[str, Metric]:
    """The sums over the kernel: samples by what waves waited for, or the cycles of the traced waves."""
    total, name = code.total, _UNITS[code.method]
    if code.method == "thread trace":
        rows = {"Hits": total.hits, "Latency": total.latency, "Stall": total.stall, "Idle": total.idle}
        note = "waves of one CU per shader engine, not of the device"
        units = {"Hits": "instructions"}
        return {
            f"{name}: {row}": quantity(value, units.get(row, "cycles"), "measured", note=note)
            for row, value in rows.items()
        }
    found = {name: quantity(total.samples, "samples", "measured")}
    if code.method == "stochastic samples" and total.samples:
        found[f"{name}, issued"] = quantity(100 * (1 - total.stalled / total.samples), "%", "measured")
        for reason, stalled in sorted(total.reasons.items(), key=lambda item: -item[1]):
            found[f"{name}, {reason}"] = quantity(100 * stalled / total.samples, "%", "measured")
    return found
