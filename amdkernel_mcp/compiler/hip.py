"""The toolchain of HIP C++: clang and lld in the sandbox, with precompiled headers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from amdkernel_mcp.compiler.compile_job import CompileOutcome, run_compile
from amdkernel_mcp.compiler.diagnostics import parse_diagnostics
from amdkernel_mcp.compiler.flags import parse_flags
from amdkernel_mcp.compiler.header_libraries import NO_HEADERS, HeaderLibraries
from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.compiler.toolchain import CodeLines, Toolchain
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import Diagnostic


@dataclass(frozen=True)
class Hip:
    """Implements `Toolchain`."""

    libraries: HeaderLibraries = NO_HEADERS
    file_name = "kernel.hip"

    def takes(self, file_name: str) -> bool:
        return bool(file_name)  # clang gets the language by name, so that any ending will do

    def check(self, flags: Sequence[str]) -> None:
        parse_flags(flags)

    def decides(self, sandbox: Sandbox) -> Sequence[object]:
        del sandbox  # its image holds the compiler
        return list(self.libraries.digests.items())

    def run(
        self, sandbox: Sandbox, source: str, *, arch: str, flags: Sequence[str], file_name: str, timeout_s: float
    ) -> CompileOutcome:
        checked = parse_flags(flags)
        return run_compile(
            sandbox,
            source,
            arch=arch,
            flags=checked,
            file_name=file_name,
            timeout_s=timeout_s,
            libraries=self.libraries,
        )

    def diagnostics(self, messages: str, file_name: str) -> list[Diagnostic]:
        return parse_diagnostics(messages, file_name)

    def lines(self, code_object: bytes, disassembly: str) -> CodeLines:
        del disassembly
        return LineTable(code_object)

    def text(self, source: str, lines: CodeLines) -> str:
        del lines
        return source


HIP: Final[Toolchain] = Hip()
