"""What the emulator saw in the kernels of a whole program → findings, with lines from the program's own debug data."""

from collections.abc import Mapping

from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.execution.program_run import REPORT
from amdkernel_mcp.execution.runner_answer import read_dispatches
from amdkernel_mcp.execution.runner_job import CaseReport
from amdkernel_mcp.execution.targets import Target
from amdkernel_mcp.problems.faults import explain_stop
from amdkernel_mcp.problems.mistakes import explain_mistakes
from amdkernel_mcp.results import Finding


def findings_of(files: Mapping[str, bytes], target: Target, *, stops: bool = True) -> list[Finding]:
    """What the emulator's report says of all launches, one finding for each kind and line.

    stops: with what stopped a kernel. Raises TargetError.
    """
    tables: dict[int, LineTable] = {}
    found: dict[tuple[str, int | None], Finding] = {}
    for record in read_dispatches(files.get(REPORT, b""), target=target.name):
        if not record.fault and not record.findings:
            continue
        code_object = files.get(f"{record.object}.co")
        if code_object and record.object not in tables:
            tables[record.object] = LineTable(code_object)
        lines = tables.get(record.object)
        report = CaseReport("fault" if record.fault else "ok", "", (), dispatches=(record,))
        stop = explain_stop(report, lines=lines, layouts={}) if stops else None
        for finding in [*([stop.finding] if stop else []), *explain_mistakes(report, lines=lines, layouts={})]:
            found.setdefault((finding.kind, finding.line), finding)
    return list(found.values())
