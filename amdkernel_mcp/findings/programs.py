"""From the emulator's report of a whole program to findings, with files and lines from the program's debug data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from amdkernel_mcp.compiler.line_table import LineTable, NameFile
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.findings.faults import explain_stop, line_at, region_name
from amdkernel_mcp.findings.mistakes import BETWEEN_STREAMS, explain_mistakes, line_of_partner, work_of
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.results.source_line import SourceLine
from amdkernel_mcp.runner_protocol.records import (
    PROGRAM,
    REPORT,
    CallRecord,
    DispatchFault,
    DispatchRecord,
    read_calls,
    read_dispatches,
)
from amdkernel_mcp.runner_protocol.report import CaseReport

_Seen = TypeVar("_Seen", bound=DispatchFault)


class ProgramFinding(NamedTuple):
    """A mistake in a launch or a call, and whether it stopped the kernel."""

    finding: Finding
    stopped: bool


def findings_in_orders(
    reports: Mapping[int, Mapping[str, bytes]], target: Target, name_file: NameFile
) -> list[ProgramFinding]:
    """Those of the first report, then those that only other orders, by their seeds, show. Raises TargetError.

    name_file: the user's names of the files in debug data; the lines of the findings carry them.
    """
    found: dict[tuple[str, int | None], ProgramFinding] = {}
    first: list[ProgramFinding] = []
    for number, (seed, files) in enumerate(reports.items()):
        seen = findings_of(files, target, name_file)
        first += seen if number == 0 else []
        for each in seen:
            known = each if number == 0 else _in_order(each, seed)
            found.setdefault((each.finding.kind, each.finding.line), known)
    return first + [each for each in found.values() if each not in first]


def _in_order(seen: ProgramFinding, seed: int) -> ProgramFinding:
    message = f"{seen.finding.message}; in the order of seed {seed}: replay it with --order {seed}"
    return seen._replace(finding=seen.finding.model_copy(update={"message": message}))


def findings_of(files: Mapping[str, bytes], target: Target, name_file: NameFile) -> list[ProgramFinding]:
    """The findings of all launches, one for each kind and line. Raises TargetError."""
    tables = _Tables(files, name_file)
    program = _Program(LineTable(files[PROGRAM], name_file) if PROGRAM in files else None)
    raw = files.get(REPORT, b"")
    found: dict[tuple[str, int | None, str], ProgramFinding] = {}
    for record in read_dispatches(raw, target=target.name):
        if not record.fault and not record.findings:
            continue
        record = program.with_lines_of_allocations(record)
        lines = tables[record.object]
        partners = {seen.partner.object for seen in record.findings if seen.partner} - {None}
        others = {number: tables[number] for number in partners if number is not None}
        report = CaseReport("fault" if record.fault else "ok", "", (), dispatches=(record,))
        stop = explain_stop(report, arch=target.arch, lines=lines, layouts={})
        if stop:
            each = ProgramFinding(_with_remedy(stop.finding), stopped=True)
            found.setdefault((each.finding.kind, each.finding.line, ""), each)
        for finding in explain_mistakes(report, lines=lines, layouts={}, other_lines=others):
            found.setdefault((finding.kind, finding.line, ""), ProgramFinding(finding, stopped=False))
    for call in read_calls(raw, target=target.name):
        theirs = tables[call.partner.object] if call.partner and call.partner.object is not None else None
        finding = _of_call(call, program, theirs)
        found.setdefault((finding.kind, finding.line, call.call), ProgramFinding(finding, stopped=False))
    return [each._replace(finding=_without_own_file(each.finding)) for each in found.values()]


def _without_own_file(finding: Finding) -> Finding:
    """The finding names its file once: `line 12 of FILE` in its text is `line 12` where FILE is its own."""
    if not isinstance(finding.line, SourceLine):
        return finding
    own = re.escape(finding.line.file)
    message = re.sub(rf"\b(\d+) of {own}(?![\w/-]|\.\w)", r"\1", finding.message)
    return finding.model_copy(update={"message": message})


def _with_remedy(finding: Finding) -> Finding:
    if finding.kind != "timeout":
        return finding
    return finding.model_copy(update={"message": f"{finding.message}: try a larger --timeout"})


@dataclass(frozen=True)
class _Program:
    """The lines of the program's own calls, where it has debug data."""

    lines: LineTable | None

    def line_of_call(self, return_address: int) -> int | None:
        try:
            return line_at(self.lines, return_address - 1) if return_address else None
        except ToolchainError:  # the limits are those of code objects; a script has no lines at all
            return None

    def region(self, name: str, made_at: Sequence[int]) -> str:
        """`allocation 2 (made in line 14)`; a variable as the source names it."""
        line = next((line for call in made_at if (line := self.line_of_call(call))), None)
        return region_name(name) if line is None else f"{name} (made in line {line})"

    def with_lines_of_allocations(self, record: DispatchRecord) -> DispatchRecord:
        def located(seen: _Seen) -> _Seen:
            if not seen.region or not seen.made_at:
                return seen
            return seen.model_copy(update={"region": self.region(seen.region, seen.made_at)})

        fault = located(record.fault) if record.fault else None
        return record.model_copy(update={"fault": fault, "findings": [located(seen) for seen in record.findings]})


class _Tables(dict[int, LineTable | None]):
    """The lines of each code object, by its number; None where the code object was not kept."""

    def __init__(self, files: Mapping[str, bytes], name_file: NameFile) -> None:
        super().__init__()
        self._files = files
        self._name_file = name_file

    def __missing__(self, number: int) -> LineTable | None:
        code_object = self._files.get(f"{number}.co")
        self[number] = LineTable(code_object, self._name_file) if code_object else None
        return self[number]


_NOUNS = {"copy": "a copy", "fill": "a fill (hipMemset)", "release": "hipFree or hipFreeAsync"}


def _of_call(call: CallRecord, program: _Program, theirs: LineTable | None) -> Finding:
    """Has the line of the call where the program has lines, else the line of the kernel that it conflicts with."""
    line = program.line_of_call(call.at)
    other = line_of_partner(call.partner, theirs) if call.partner else None
    verb = "frees" if call.call == "release" else "writes" if call.store else "reads"
    region = program.region(call.region, call.made_at)
    where = f"{counted(call.bytes, 'byte')} at byte {call.offset} of {region}" if call.call != "release" else region
    text = f"{_NOUNS[call.call]} {verb} {where}"
    if call.partner:
        text += f", which {work_of(call.partner, other)}, and both may run at the same time: {BETWEEN_STREAMS}"
    elif call.kind == "use_after_free":
        text += ", which was freed before"
    else:
        text += f", which has {counted(call.region_bytes, 'byte')}"
    return Finding(kind=call.kind, message=text, line=other if line is None else line, other_line=other)
