"""What the emulator's checks reported without stopping the kernel → findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.findings.faults import (
    ARGUMENTS,
    PACKET,
    Layout,
    Lines,
    access_of,
    byte_of,
    is_variable,
    line_at,
    lines_to,
    place_of,
    remedy_of,
    signed,
    sized,
)
from amdkernel_mcp.launch.kernel_symbols import source_name
from amdkernel_mcp.results.kernels import Finding, FindingKind
from amdkernel_mcp.runner_protocol.records import DispatchFinding, RacePartner
from amdkernel_mcp.runner_protocol.report import CaseReport

_KINDS: dict[str, FindingKind] = {
    "race": "race",
    "missing_wait": "missing_wait",
    "state_between_launches": "state_between_launches",
    "uninitialised_read": "uninitialised_read",
    "input_modified": "input_modified",
    "misaligned": "misaligned",
    "out_of_bounds": "out_of_bounds",
}


_REMEDIES: dict[FindingKind, str] = {
    "race": "put __syncthreads() between the two, or use an atomic",
    "uninitialised_read": "write it before it is read",
    "input_modified": "write to an output or a workspace instead",
    "state_between_launches": "reset it before the run ends, or use a workspace that the run fills first",
    "misaligned": "align the address to 4 bytes",
    "out_of_bounds": "check the index against the size before the access",
}
_WHY_READ_ONLY = {ARGUMENTS: "which are read-only", PACKET: "which is read-only"}
_BY_THE_RACE = "this read is part of the race above, and may only have come before the write"
BETWEEN_STREAMS = "wait for an event of the other stream, or synchronise with it, in between"
_BETWEEN_LANES = "let one lane write it, or use an atomic"
_IN_TURNS = "let waves take turns with __syncthreads()"
_ONE_WRITER = f"let one thread write it, use an atomic, or {_IN_TURNS}"
_COUNTER = "use one atomic such as atomicAdd"
_BETWEEN_GROUPS = "use atomics, a flag with release and acquire, or a second launch"


def explain_mistakes(
    report: CaseReport,
    *,
    lines: Lines | None,
    layouts: Mapping[str, Layout],
    other_lines: Mapping[int, Lines | None] | None = None,
) -> list[Finding]:
    """One finding for each kind and line. A race comes before the uninitialised reads that it causes."""
    first: dict[tuple[FindingKind, int | None], Finding] = {}
    for record in report.dispatches:
        raced = {seen.pc for seen in record.findings if seen.kind == "race"}
        launch = _Launch(record.kernel, lines, layouts, raced, _counters(record.findings, lines))
        for seen in record.findings:
            kind = _KINDS.get(seen.kind)
            if kind is None:
                continue
            if seen.region == ARGUMENTS and not seen.store:
                kind = "out_of_bounds"
            theirs = lines
            if seen.partner and seen.partner.object is not None:
                theirs = (other_lines or {}).get(seen.partner.object)
            finding = _finding(launch, seen, kind, theirs)
            first.setdefault((kind, finding.line), finding)
    return sorted(first.values(), key=lambda finding: list(_KINDS).index(finding.kind))


def _counters(found: Sequence[DispatchFinding], lines: Lines | None) -> set[int]:
    """The lines that load and store one place in several waves, as `count++` does."""
    how: dict[int, set[bool | None]] = {}
    for seen in found:
        line = line_at(lines, seen.pc, seen.callers)
        if line is not None and seen.partner and line == line_of_partner(seen.partner, lines):
            how.setdefault(line, set()).add(seen.store)
    return {line for line, stores in how.items() if stores >= {True, False}}


@dataclass(frozen=True)
class _Launch:
    """What is known of the launch in which something was found."""

    kernel: str
    lines: Lines | None
    layouts: Mapping[str, Layout]
    raced: Collection[int]  # instructions
    counters: Collection[int]  # lines


def _finding(launch: _Launch, seen: DispatchFinding, kind: FindingKind, their_lines: Lines | None) -> Finding:
    lines = launch.lines
    chain = lines_to(lines, seen.pc, seen.callers)
    if seen.use and lines and (not lines.lines_of(seen.pc) or lines.is_opening(seen.pc)):
        chain = lines_to(lines, seen.use[0], seen.use[1:]) or chain
    line = next(iter(chain), None)
    used = line_at(lines, seen.use[0], seen.use[1:]) if seen.use else None
    other = line_of_partner(seen.partner, their_lines) if seen.partner else used
    text = f"{_said(seen, line, other, launch.layouts)}; {place_of(launch.kernel, seen, chain[1:])}"
    if seen.partner and used not in (None, line):
        text += f"; line {used} uses the value"
    text += f"{_how_much(seen)}: {_remedy(launch, seen, kind, line, other)}"
    return Finding(kind=kind, message=text, line=line, called_from=chain[1:], other_line=other)


def _remedy(launch: _Launch, seen: DispatchFinding, kind: FindingKind, line: int | None, other: int | None) -> str:
    if seen.partner:
        return _remedy_of_race(seen, seen.partner, line, other, line in launch.counters)
    if kind == "uninitialised_read" and seen.pc in launch.raced:
        return _BY_THE_RACE
    if kind == "missing_wait":
        where = "before the barrier, or use __syncthreads()" if _is_at_barrier(seen) else "in between"
        return f"put `{seen.remedy}` {where}"
    return remedy_of(seen) if seen.kind == "out_of_bounds" else _REMEDIES[kind]


def _remedy_of_race(
    seen: DispatchFinding, partner: RacePartner, line: int | None, other: int | None, counter: bool
) -> str:
    if partner.work:
        return BETWEEN_STREAMS
    if partner.workgroup != seen.workgroup:
        return _COUNTER if counter else _BETWEEN_GROUPS
    if partner.wave == seen.wave:
        return _BETWEEN_LANES
    if counter:
        return f"{_COUNTER}, or {_IN_TURNS}"
    return _ONE_WRITER if seen.store and line is not None and line == other else _REMEDIES["race"]


def _how_much(seen: DispatchFinding) -> str:
    several = seen.count > 1 or seen.lanes > 1
    off = "" if is_variable(seen) else sized(seen.off)  # counted from the last variable's end
    parts = [
        *([f"{seen.count} times in all"] if seen.count > 1 else []),
        *([f"by {seen.lanes} lanes"] if seen.lanes > 1 else []),
        *([f"{'up to ' if several else ''}{off} beyond"] if seen.off and off else []),
    ]
    return f"; {', '.join(parts)}" if parts else ""


def _said(seen: DispatchFinding, line: int | None, other: int | None, layouts: Mapping[str, Layout]) -> str:
    if seen.kind == "missing_wait":
        return _early(seen, line, other)
    target = _target(seen, layouts)
    verb = "writes" if seen.store else "reads"
    if seen.partner is not None:
        return _race(seen, seen.partner, target, line, other)
    if seen.region == ARGUMENTS and not seen.store:
        return f"reads byte {seen.offset} of {ARGUMENTS}, which have {sized(seen.region_bytes)}"
    if seen.space == "register":
        return f"reads {seen.registers}, which the kernel has not set, and uses the value{_elsewhere(line, other)}"
    if seen.kind == "uninitialised_read":
        return f"reads {target}, which was never written, and uses the value{_elsewhere(line, other)}"
    if seen.kind == "state_between_launches":
        return f"reads {target}, which an earlier run of the launches wrote: the result depends on what ran before"
    if seen.kind == "out_of_bounds" and seen.lanes:
        return access_of(seen, layouts)
    if seen.kind == "out_of_bounds":
        size = "it" if seen.region_bytes is None else f"its {sized(seen.region_bytes)}"
        return f"{verb} {sized(seen.bytes)} at {target}, outside {size}, and uses the value{_elsewhere(line, other)}"
    if seen.kind == "input_modified":
        return f"{verb} {target}, {_WHY_READ_ONLY.get(seen.region or '', 'which is an input')}"
    return f"a scalar load of {sized(seen.bytes)} at {target} is not aligned: the GPU ignores the low two address bits"


def _is_at_barrier(seen: DispatchFinding) -> bool:
    """Whether a missing wait is that of a store to LDS before a barrier."""
    return not seen.registers and bool(seen.store)


def _early(seen: DispatchFinding, line: int | None, other: int | None) -> str:
    instruction = seen.instruction.split()[0] if seen.instruction else "an instruction"
    at = "" if other is None else " in the same line" if other == line else f" in line {other}"
    if not seen.registers and not _is_at_barrier(seen):
        return f"{instruction} has not filled LDS when its own wave reads it{at}"
    if not seen.registers:
        return f"{instruction} has not landed in LDS when the barrier comes, and another wave reads it{at}"
    how = "overwritten" if seen.store else "used"
    return f"{seen.registers} is {how}{at} before {instruction} has filled it"


def _elsewhere(line: int | None, other: int | None) -> str:
    return "" if other is None or other == line else f" in line {other}"


def line_of_partner(partner: RacePartner, lines: Lines | None) -> int | None:
    """The line of a race's other access; None for a copy, a fill or a release."""
    return None if partner.work and partner.object is None else line_at(lines, partner.pc, partner.callers)


def work_of(partner: RacePartner, line: int | None) -> str:
    """What work of another stream does: `a copy in another stream reads`."""
    work = partner.work or ""
    who = f"a {work}" if partner.object is None else f"kernel {source_name(work)}"
    at = "" if line is None else f" in line {line}"
    verb = {"load": "reads", "store": "writes", "update": "updates"}[partner.access]
    return f"{who} in another stream {'frees' if partner.work == 'release' else verb}{at}"


def _race(seen: DispatchFinding, other: RacePartner, target: str, line: int | None, there: int | None) -> str:
    at = "" if there is None else " in the same line" if there == line else f" in line {there}"
    action = {"load": "reads", "store": "writes", "update": "updates"}[other.access] + (
        " atomically" if other.atomic else ""
    )
    verb = "writes" if seen.store else "reads"
    if other.work:
        return f"{verb} {target}, which {work_of(other, there)}, and both may run at the same time"
    if other.workgroup != seen.workgroup:
        whose = f"workgroup {list(other.workgroup)}"
        return f"{verb} {target}, which {whose} {action}{at}, and nothing orders the two"
    if other.wave != seen.wave:
        return (
            f"{verb} {target}, which wave {other.wave} of the same workgroup {action}{at}, without a barrier in between"
        )
    return f"lanes {seen.lane} and {other.lane} of one wave write different values to {target}"


def _target(seen: DispatchFinding, layouts: Mapping[str, Layout]) -> str:
    if seen.space == "lds":
        return f"byte {signed(seen.address)} of LDS (__shared__ memory)"
    if seen.space == "scratch":
        return f"byte {signed(seen.address)} of private memory"
    if not seen.region or seen.offset is None:
        return "memory outside every array"
    layout = layouts.get(seen.region)
    return f"{seen.region}{layout.index(seen.offset)}" if layout else byte_of(seen)
