"""The toolchain of code objects that others compiled: their code is disassembled in the sandbox, nothing else.

The candidate is a text: `amdkernel:` comments, then the file in base64 (`kernel_source.py` makes it). The bytes are
untrusted.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from amdkernel_mcp.compiler.compile_job import CompileOutcome, readable
from amdkernel_mcp.compiler.containers import contained
from amdkernel_mcp.compiler.disassemble import disassemble
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.object_lines import object_lines, quotable
from amdkernel_mcp.compiler.object_target import read_target
from amdkernel_mcp.compiler.toolchain import CodeLines, Toolchain
from amdkernel_mcp.compiler.unpack_bundles import unpack_bundles
from amdkernel_mcp.errors import FlagError, InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.kernel_source import CODE_OBJECT
from amdkernel_mcp.results.kernels import Diagnostic


class _GivenObject:
    """Implements `Toolchain`."""

    file_name = "kernel.co"

    def takes(self, file_name: str) -> bool:
        """Always: no tool sees the name."""
        return bool(file_name)

    def check(self, flags: Sequence[str]) -> None:
        if flags:
            raise FlagError("a code object takes no flags: it is compiled already", hint="leave `build` and flags out")

    def decides(self, sandbox: Sandbox) -> Sequence[object]:
        del sandbox
        return ("code object",)

    def run(
        self, sandbox: Sandbox, source: str, *, arch: str, flags: Sequence[str], file_name: str, timeout_s: float
    ) -> CompileOutcome:
        """`timeout_s` is not used: the tools have limits of their own."""
        del flags, file_name, timeout_s
        try:
            code = _for_arch(sandbox, _bytes(source), arch)
        except InputError as error:
            return CompileOutcome(False, True, "", error.message, None, "", None, "none")
        texts, _ = disassemble(sandbox, arch, {"0.co": code}, [])
        outcome = CompileOutcome(True, "0.co" in texts, "", None, code, texts.get("0.co", ""), "given", "none")
        return readable(outcome)

    def diagnostics(self, messages: str, file_name: str) -> list[Diagnostic]:
        """None: no compiler ran."""
        del messages, file_name
        return []

    def lines(self, code_object: bytes, disassembly: str) -> CodeLines:
        return object_lines(code_object, disassembly)

    def text(self, source: str, lines: CodeLines) -> str:
        del source
        return quotable(lines, "")


GIVEN_OBJECT: Final[Toolchain] = _GivenObject()


def _bytes(source: str) -> bytes:
    """The file in the text. Raises InputError."""
    text = source.partition(CODE_OBJECT)[2].partition("\n")[2]
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the code object is damaged: it is not base64") from None


def _for_arch(sandbox: Sandbox, file: bytes, arch: str) -> bytes:
    """The first code object of the file that a GPU of `arch` loads. Raises InputError."""
    found = contained(file)
    packed = [one for one in found if one.is_compressed]
    unpacked = [one for each in (unpack_bundles(sandbox, packed) if packed else []) for one in each]
    targets = []
    for one in (*(one for one in found if not one.is_compressed), *unpacked):
        target = read_target(ElfFile(one.content))
        if target.refused:
            raise InputError(f"AMD's runtime does not load it: {target.refused}")
        if target.arch == arch or "-generic" in (target.arch or ""):  # the emulator knows which a generic one fits
            return one.content
        targets.append(target.arch or "an unknown GPU")
    if not targets:
        raise InputError("the file has no code object")
    raise InputError(f"the code object is for {', '.join(targets[:8])}, not for {arch}: choose its target")
