"""What the emulator's checks saw while a kernel ran on → findings: races, unset memory, stores to inputs."""

from __future__ import annotations

from collections.abc import Mapping

from amdkernel_mcp.execution.runner_answer import DispatchFinding, RacePartner
from amdkernel_mcp.execution.runner_job import CaseReport
from amdkernel_mcp.problems.faults import Layout, Lines, line_at
from amdkernel_mcp.results import Finding, FindingKind

_ARGUMENTS = "the kernel's arguments"  # as sandbox/emulator/hip/report.c names the segment
_KINDS: dict[str, FindingKind] = {
    "race": "race",
    "uninitialised_read": "uninitialised_read",
    "input_modified": "input_modified",
    "misaligned": "misaligned",
    "out_of_bounds": "out_of_bounds",
}


def explain_mistakes(report: CaseReport, *, lines: Lines | None, layouts: Mapping[str, Layout]) -> list[Finding]:
    """One finding for each kind and line. A race comes before the unset values that it lets a wave read."""
    first: dict[tuple[FindingKind, int | None], Finding] = {}
    for record in report.dispatches:
        for seen in record.findings:
            kind = _KINDS.get(seen.kind)
            if kind is None:
                continue
            if seen.region == _ARGUMENTS:
                kind = "out_of_bounds"
            line = line_at(lines, seen.pc, seen.callers)
            text = f"{_said(seen, line, lines, layouts)}; {_place(record.kernel, seen)}"
            first.setdefault((kind, line), Finding(kind=kind, message=text, line=line))
    return sorted(first.values(), key=lambda finding: list(_KINDS).index(finding.kind))


def _place(kernel: str, seen: DispatchFinding) -> str:
    where = f"{kernel}, workgroup {list(seen.workgroup)}, wave {seen.wave}, lane {seen.lane}"
    return where if seen.count == 1 else f"{where}; {seen.count} times in all"


def _said(seen: DispatchFinding, line: int | None, lines: Lines | None, layouts: Mapping[str, Layout]) -> str:
    target = _target(seen, layouts)
    verb = "writes" if seen.store else "reads"
    if seen.partner is not None:
        return _race(seen, seen.partner, target, line, lines)
    if seen.region == _ARGUMENTS:
        return f"reads byte {seen.offset} of {_ARGUMENTS}, which have {seen.region_bytes} bytes"
    if seen.kind == "uninitialised_read":
        return f"reads {target}, which nothing has written, and uses the value"
    if seen.kind == "out_of_bounds":
        return f"{verb} {target}, beyond its end, and uses the value"
    if seen.kind == "input_modified":
        return f"{verb} {target}, an input"
    return f"a scalar load of {seen.bytes} bytes at {target} is not aligned: the GPU ignores the low two address bits"


def _race(seen: DispatchFinding, other: RacePartner, target: str, line: int | None, lines: Lines | None) -> str:
    there = line_at(lines, other.pc, other.callers)
    at = "" if there is None else " in the same line" if there == line else f" in line {there}"
    action = {"load": "reads", "store": "writes", "update": "updates"}[other.access] + (
        " atomically" if other.atomic else ""
    )
    verb = "writes" if seen.store else "reads"
    if other.workgroup != seen.workgroup:
        whose = f"workgroup {list(other.workgroup)}"
        return f"{verb} {target}, which {whose} {action}{at}, with nothing that orders the two"
    if other.wave != seen.wave:
        return (
            f"{verb} {target}, which wave {other.wave} of the same workgroup {action}{at}, with no barrier in between"
        )
    return f"lanes {seen.lane} and {other.lane} of one wave write different values to {target}"


def _target(seen: DispatchFinding, layouts: Mapping[str, Layout]) -> str:
    if seen.space == "lds":
        return f"byte {seen.address} of LDS (__shared__ memory)"
    if not seen.region or seen.offset is None:
        return "memory that belongs to no array"
    layout = layouts.get(seen.region)
    return f"{seen.region}{layout.index(seen.offset)}" if layout else f"byte {seen.offset} of {seen.region}"
