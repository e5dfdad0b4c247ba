"""A kernel's machine code with the source lines that it comes from, for reading."""

from bisect import bisect_left
from collections.abc import Sequence

from amdkernel_mcp.compiler.code_object import Function
from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.compiler.line_table import LineTable

MAX_EXCERPT_CHARS = 3000


def annotated_isa(
    instructions: Sequence[Instruction], functions: Sequence[Function], lines: LineTable, source: str
) -> str:
    """The code of all functions: before each run of instructions of one line, that line as a comment."""
    text: list[str] = []
    source_lines = source.splitlines()
    for function in functions:
        text.append(f"{function.name}:")
        shown: int | None = None
        for instruction in code_of(function, instructions):
            line = lines.line_of(instruction.address)
            if line is not None and line != shown:
                shown = line
                text.append(f"; {line}: {source_lines[line - 1].strip() if line <= len(source_lines) else ''}")
            text.append(f"  {instruction.address:6x}  {instruction.text}")
        text.append("")
    return "\n".join(text)


def code_of(function: Function, instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions of one function, without the padding behind it."""
    begin = bisect_left(instructions, function.start, key=_address)
    return list(instructions[begin : bisect_left(instructions, function.end, lo=begin, key=_address)])


def _address(instruction: Instruction) -> int:
    return instruction.address


def excerpt(isa: str, max_chars: int = MAX_EXCERPT_CHARS) -> str:
    """The beginning of the text in whole lines, and how much was left out."""
    if len(isa) <= max_chars:
        return isa
    cut = isa.rfind("\n", 0, max_chars)
    rest = isa[max(cut, 0) :].count("\n")
    return f"{isa[: max(cut, 0)]}\n; … {rest} more lines in the artefact"
