"""How text of one language becomes a code object. The languages are in `amdkernel_mcp/languages`."""

from collections.abc import Sequence
from typing import Protocol

from amdkernel_mcp.compiler.compile_job import CompileOutcome
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import Diagnostic


class CodeLines(Protocol):
    """The lines of the candidate's text that the instructions of a code object come from.

    An address is virtual. All methods raise ToolchainError for damaged debug data.
    """

    def line_of(self, address: int) -> int | None:
        """The line of the user's text; None where there is none."""
        ...

    def lines_of(self, address: int) -> tuple[int, ...]:
        """That line, then the lines of the inlined calls around it, innermost first."""
        ...

    def places_of(self, address: int) -> tuple[tuple[int, int], ...]:
        """As `lines_of`, each with its column."""
        ...

    def lines_near(self, address: int) -> tuple[int, ...]:
        """The same; for an instruction without a line, the lines of the one before it in its function."""
        ...

    def is_opening(self, address: int) -> bool:
        """Whether that line is only the first of the function, because the compiler moved the instruction."""
        ...


class Toolchain(Protocol):
    """The compiler of one language, as `Compiler` uses it: through the cache, in the sandbox."""

    @property
    def file_name(self) -> str:
        """What the compiler calls a text without a usable file name."""
        ...

    def takes(self, file_name: str) -> bool:
        """Whether the compiler may see the caller's file name, which is a plain name."""
        ...

    def check(self, flags: Sequence[str]) -> None:
        """Raises FlagError for a flag that this compiler is not given."""
        ...

    def decides(self, sandbox: Sandbox) -> Sequence[object]:
        """What decides the code object besides source, flags, architecture, file name and the sandbox's image: JSON.

        Raises ToolchainError where the compiler is not installed.
        """
        ...

    def run(
        self, sandbox: Sandbox, source: str, *, arch: str, flags: Sequence[str], file_name: str, timeout_s: float
    ) -> CompileOutcome:
        """Compile once. Raises SandboxError or ToolchainError when that could not be tried at all."""
        ...

    def diagnostics(self, messages: str, file_name: str) -> list[Diagnostic]:
        """The compiler's messages, which quote the candidate, as bounded diagnostics with lines of the user's text."""
        ...

    def lines(self, code_object: bytes, disassembly: str) -> CodeLines:
        """From addresses to lines of the user's text."""
        ...

    def text(self, source: str, lines: CodeLines) -> str:
        """The text that those lines are quoted from: the candidate's own, or a listing of its instructions."""
        ...
