"""What `amdkernel run` reports after the program has ended, and the files that it brings back."""

from collections.abc import Mapping
from pathlib import Path

from amdkernel_mcp.cli.report import complain, note
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.runner.program import ProgramRun
from amdkernel_mcp.execution.runner.program_files import Program
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.results.source_line import SourceLine


def show_run(program: Program, ended: ProgramRun) -> None:
    """Why the program has no exit code of its own, then the findings with their files and lines."""
    if ended.ended:
        complain(ended.ended, file=None if ended.compiled else program.name)
    for finding in (*ended.findings, *ended.stops, *ended.overruns):
        _show_finding(program, finding)
    if ended.overruns:
        complain("a GPU does not stop for this, and neither did this run; with --check it is a failure")


def _show_finding(program: Program, finding: Finding) -> None:
    file = finding.line.file if isinstance(finding.line, SourceLine) else program.name if program.sources else None
    complain(f"{finding.kind}: {finding.message}", file=file, line=finding.line and int(finding.line))


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a sandbox into a new or empty folder; none becomes executable. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InputError(f"the files cannot be written: {error.strerror}", file=str(folder)) from None
    note(f"{counted(len(files), 'file')} in {folder}")
