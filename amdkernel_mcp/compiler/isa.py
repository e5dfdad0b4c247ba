"""A kernel's machine code with the source lines that it comes from, for reading."""

from bisect import bisect_left
from collections.abc import Sequence

from amdkernel_mcp.compiler.code_object import Function
from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.compiler.toolchain import CodeLines
from amdkernel_mcp.counted import counted


def annotated_isa(
    instructions: Sequence[Instruction], functions: Sequence[Function], lines: CodeLines, source: str
) -> str:
    """The code of the functions: before each run of instructions of one line, that line as a comment.

    Functions of headers and libraries, in which nothing has a line of the file, are merely counted.
    """
    text: list[str] = []
    source_lines = source.splitlines()
    left_out = 0
    for function in functions:
        code = [(instruction, lines.line_of(instruction.address)) for instruction in code_of(function, instructions)]
        if all(line is None for _, line in code):
            left_out += 1
            continue
        text.append(f"{function.name}:")
        shown: int | None = None
        for instruction, line in code:
            quoted = source_lines[line - 1].strip() if line is not None and line <= len(source_lines) else ""
            if quoted == instruction.text:  # of a listing
                text.append(f"{line:>6}  {instruction.address:6x}  {instruction.text}")
                continue
            if line is not None and line != shown:
                shown = line
                text.append(f"; {line}: {quoted}")
            text.append(f"  {instruction.address:6x}  {instruction.text}")
        text.append("")
    if left_out:
        text.append(f"; left out: {counted(left_out, 'function')} of headers and libraries")
    return "\n".join(text)


def code_of(function: Function, instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions of one function, without the padding behind it."""
    return instructions_between(instructions, function.start, function.end)


def instructions_between(instructions: Sequence[Instruction], start: int, end: int) -> list[Instruction]:
    """Those at the virtual addresses [start, end); `instructions` are in the order of their addresses."""
    begin = bisect_left(instructions, start, key=_address)
    return list(instructions[begin : bisect_left(instructions, end, lo=begin, key=_address)])


def _address(instruction: Instruction) -> int:
    return instruction.address
