"""The profile of a program that ran on the emulator, with what the sandbox reads off its code objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from amdkernel_mcp.compiler.compile import resources_of
from amdkernel_mcp.compiler.disassemble import disassemble
from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.runner.program import KEPT_LAUNCHES
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.profiling.program import ProgramCode, profile_program
from amdkernel_mcp.runner_protocol.records import REPORT, read_dispatches, read_launch_counts

if TYPE_CHECKING:
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.results.programs import ProgramProfile

_OBJECT = ".co"


def program_profile(sandbox: Sandbox, target: Target, program: Program, report: Mapping[str, bytes]) -> ProgramProfile:
    """Of the emulator's report of a run with a profile. Raises TargetError and SandboxError."""
    raw = report.get(REPORT, b"")
    records = read_dispatches(raw, target=target.name)
    counts = read_launch_counts(raw, target=target.name)
    objects = {name: content for name, content in report.items() if name.endswith(_OBJECT)}
    kernels = sorted({record.kernel for record in records})
    texts, names = disassemble(sandbox, target.arch, objects, kernels) if objects else ({}, {})
    code = {
        int(name.removesuffix(_OBJECT)): _code(content, texts.get(name, ""), target.arch, program)
        for name, content in objects.items()
        if name.removesuffix(_OBJECT).isdigit()
    }
    return profile_program(
        records,
        counts,
        code=code,
        names=names,
        sources=_Sources(program),
        gpu=gpu_by_name(target.gpu),
        target=target.name,
        kept=KEPT_LAUNCHES,
    )


def _code(code_object: bytes, disassembly: str, arch: str, program: Program) -> ProgramCode:
    """What can be read off it: a code object of the program may be damaged, or lack debug data."""
    lines = LineTable(code_object, program.name_file)
    try:
        return ProgramCode(resources_of(code_object, disassembly, arch), _careful(lines.line_of), disassembly)
    except ToolchainError:
        return ProgramCode(disassembly=disassembly)


def _careful(line_of: Callable[[int], int | None]) -> Callable[[int], int | None]:
    def line(address: int) -> int | None:
        try:
            return line_of(address)
        except ToolchainError:
            return None

    return line


class _Sources(dict[str, str]):
    """The texts of the user's files, by the names that lines of debug data carry."""

    def __init__(self, program: Program) -> None:
        named = {program.name_file(name, "/work") or name: content for name, content in program.files.items()}
        named |= {shown: program.files[name] for name, shown in program.user_paths.items() if name in program.files}
        super().__init__({name: content.decode("utf-8", "replace") for name, content in named.items()})
