"""The toolchain of AMDGPU assembly: clang's assembler and lld in the sandbox."""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.compiler.compile_job import CompileOutcome, readable, run_stages, scripts
from amdkernel_mcp.compiler.diagnostics import parse_diagnostics
from amdkernel_mcp.compiler.object_lines import object_lines, quotable
from amdkernel_mcp.compiler.toolchain import CodeLines, Toolchain
from amdkernel_mcp.errors import FlagError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import Diagnostic

_FILE = "kernel.s"
_SCRIPT = "assemble-kernel"
_DEFINE = re.compile(r"-D([A-Za-z_]\w*)(?:=(-?\w{1,20}))?", re.ASCII)
# LLVM's name of a target since July 2026, which older assemblers refuse: the architecture stands at its end.
_NEW_TARGET = re.compile(r'^([ \t]*\.amdgcn_target[ \t]+)"amdgpu[\d.]*-amd-amdhsa-unknown-(gfx[\w:+-]+)"', re.MULTILINE)


class _Assembly:
    """Implements `Toolchain`."""

    file_name = _FILE

    def takes(self, file_name: str) -> bool:
        """Never: the debug data know the candidate by one name."""
        del file_name
        return False

    def check(self, flags: Sequence[str]) -> None:
        for flag in flags:
            if not _DEFINE.fullmatch(flag):
                hint = "assembly takes symbols alone: -DNAME=INTEGER"
                raise FlagError(f"the compiler flag {flag[:200]!r} is not allowed for assembly", hint=hint)

    def decides(self, sandbox: Sandbox) -> Sequence[object]:
        del sandbox
        return ("assembly", hashlib.sha256(_script()).hexdigest())

    def run(
        self, sandbox: Sandbox, source: str, *, arch: str, flags: Sequence[str], file_name: str, timeout_s: float
    ) -> CompileOutcome:
        symbols = [f"{found[1]}={found[2] or 1}" for flag in flags if (found := _DEFINE.fullmatch(flag))]
        text = _NEW_TARGET.sub(r'\1"amdgcn-amd-amdhsa--\2"', source)
        files = {
            _SCRIPT: _script(),
            "find-tools": scripts()["find-tools"],
            file_name: text.encode("utf-8", "replace"),
        }
        command = ["sh", _SCRIPT, arch, file_name, *symbols]
        return readable(run_stages(sandbox, "compile", command, files, timeout_s=timeout_s))

    def diagnostics(self, messages: str, file_name: str) -> list[Diagnostic]:
        return parse_diagnostics(messages, file_name)

    def lines(self, code_object: bytes, disassembly: str) -> CodeLines:
        return object_lines(code_object, disassembly, own_file=_FILE)

    def text(self, source: str, lines: CodeLines) -> str:
        return quotable(lines, source)


ASSEMBLY: Final[Toolchain] = _Assembly()


@cache
def _script() -> bytes:
    return (folder("sandbox") / "languages" / _SCRIPT).read_bytes()
