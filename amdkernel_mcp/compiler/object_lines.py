"""The lines of code whose source is not available: those that its debug data name, else those of its disassembly."""

import posixpath
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly
from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.compiler.toolchain import CodeLines
from amdkernel_mcp.results.source_line import SourceLine

LISTING = "the disassembly"
"""What lines of a listing name as their file."""


@dataclass(frozen=True)
class ListingLines:
    """Implements `CodeLines`: each instruction is a line, counted from 1 through all kernels."""

    disassembly: str

    def line_of(self, address: int) -> int | None:
        """See `CodeLines`."""
        return next(iter(self.lines_of(address)), None)

    def lines_of(self, address: int) -> tuple[int, ...]:
        """See `CodeLines`: one line, as nothing says what was inlined."""
        at = bisect_right(self._addresses, address) - 1
        return (SourceLine(at + 1, LISTING),) if at >= 0 and self._addresses[at] == address else ()

    def places_of(self, address: int) -> tuple[tuple[int, int], ...]:
        """See `CodeLines`: a listing has no columns."""
        return tuple((line, 0) for line in self.lines_of(address))

    def lines_near(self, address: int) -> tuple[int, ...]:
        """See `CodeLines`."""
        return self.lines_of(address)

    def is_opening(self, address: int) -> bool:
        """Never: no instruction was moved away from its line."""
        del address
        return False

    @property
    def text(self) -> str:
        """The listing."""
        return "\n".join(instruction.text for instruction in self._instructions)

    @cached_property
    def _instructions(self) -> tuple[Instruction, ...]:
        return tuple(parse_disassembly(self.disassembly))

    @cached_property
    def _addresses(self) -> list[int]:
        return [instruction.address for instruction in self._instructions]


def object_lines(code_object: bytes, disassembly: str, *, own_file: str | None = None) -> CodeLines:
    """The lines of the files that the debug data name, `own_file`'s without a name; else those of the listing.

    Raises ToolchainError for damaged debug data.
    """
    table = LineTable(code_object, lambda path, _: _shown(path, own_file))
    return table if any(span.line is not None for span in table.spans) else ListingLines(disassembly)


def quotable(lines: CodeLines, source: str) -> str:
    """The text to quote those lines from: the listing, `source`, or nothing where they are of a file not available."""
    if isinstance(lines, ListingLines):
        return lines.text
    elsewhere = isinstance(lines, LineTable) and any(isinstance(span.line, SourceLine) for span in lines.spans)
    return "" if elsewhere else source


def _shown(path: str, own_file: str | None) -> str:
    name = posixpath.basename(path)
    return "" if name == own_file else "".join(filter(str.isprintable, name))[:80]
