"""What the emulator saw in the kernels of a whole program → findings, with lines from the program's own debug data."""

from collections.abc import Mapping
from typing import NamedTuple

from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.execution.program_run import PROGRAM, REPORT
from amdkernel_mcp.execution.runner_answer import CallRecord, read_calls, read_dispatches
from amdkernel_mcp.execution.runner_job import CaseReport
from amdkernel_mcp.execution.targets import Target
from amdkernel_mcp.problems.faults import explain_stop, line_at, region_name
from amdkernel_mcp.problems.mistakes import BETWEEN_STREAMS, explain_mistakes, line_of_partner, work_of
from amdkernel_mcp.results import Finding


class ProgramFinding(NamedTuple):
    """What is wrong with a launch or a call, and whether it stopped the kernel."""

    finding: Finding
    stopped: bool


def findings_of(files: Mapping[str, bytes], target: Target) -> list[ProgramFinding]:
    """What the emulator's report says of all launches, one finding for each kind and line. Raises TargetError."""
    tables = _Tables(files)
    raw = files.get(REPORT, b"")
    found: dict[tuple[str, int | None, str], ProgramFinding] = {}
    for record in read_dispatches(raw, target=target.name):
        if not record.fault and not record.findings:
            continue
        lines = tables[record.object]
        partners = {seen.partner.object for seen in record.findings if seen.partner} - {None}
        others = {number: tables[number] for number in partners if number is not None}
        report = CaseReport("fault" if record.fault else "ok", "", (), dispatches=(record,))
        stop = explain_stop(report, arch=target.arch, lines=lines, layouts={})
        if stop:
            told = ProgramFinding(_with_remedy(stop.finding), stopped=True)
            found.setdefault((told.finding.kind, told.finding.line, ""), told)
        for finding in explain_mistakes(report, lines=lines, layouts={}, other_lines=others):
            found.setdefault((finding.kind, finding.line, ""), ProgramFinding(finding, stopped=False))
    program = LineTable(files[PROGRAM]) if b'{"call":' in raw and PROGRAM in files else None
    for call in read_calls(raw, target=target.name):
        theirs = tables[call.partner.object] if call.partner and call.partner.object is not None else None
        finding = _of_call(call, program, theirs)
        found.setdefault((finding.kind, finding.line, call.call), ProgramFinding(finding, stopped=False))
    return list(found.values())


def _with_remedy(finding: Finding) -> Finding:
    if finding.kind != "timeout":
        return finding
    return finding.model_copy(update={"message": f"{finding.message}: a larger --timeout would tell"})


class _Tables(dict[int, LineTable | None]):
    """By the number of a code object its lines; None: it was not kept."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__()
        self._files = files

    def __missing__(self, number: int) -> LineTable | None:
        code_object = self._files.get(f"{number}.co")
        self[number] = LineTable(code_object) if code_object else None
        return self[number]


_NOUNS = {"copy": "a copy", "fill": "a fill (hipMemset)", "release": "hipFree or hipFreeAsync"}


def _of_call(call: CallRecord, program: LineTable | None, theirs: LineTable | None) -> Finding:
    """With the line of the call, where the program has lines; else with that of the kernel that it meets."""
    line = line_at(program, call.at - 1) if call.at else None
    other = line_of_partner(call.partner, theirs) if call.partner else None
    verb = "frees" if call.call == "release" else "writes" if call.store else "reads"
    region = region_name(call.region)
    where = f"{call.bytes} bytes at byte {call.offset} of {region}" if call.call != "release" else region
    text = f"{_NOUNS[call.call]} {verb} {where}"
    if call.partner:
        text += f", which {work_of(call.partner, other)}, and both may run at the same time: {BETWEEN_STREAMS}"
    elif call.kind == "use_after_free":
        text += ", which was freed before"
    else:
        text += f", which has {call.region_bytes} bytes"
    return Finding(kind=call.kind, message=text, line=other if line is None else line, other_line=other)
