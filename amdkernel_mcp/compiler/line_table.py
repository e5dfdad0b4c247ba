"""From an address in a code object or a program to the line of the user's file, through inlined calls.

Source: DWARF 5, sections 6.2 (line numbers) and 3.3.8 (inlined subroutines). clang writes both for -gline-tables-only.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from amdkernel_mcp.compiler.code_object import open_code_object, read_functions
from amdkernel_mcp.results.source_line import SourceLine

if TYPE_CHECKING:
    from elftools.construct.lib.container import Container
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo
    from elftools.dwarf.lineprogram import LineProgram

MAX_UNITS = 64
MAX_ENTRIES = 300_000  # of DWARF's tree: damaged links could make it endless
MAX_RANGES = 10_000
_MAX_DEBUG_BYTES = 16 << 20


NameFile = Callable[[str, str], str | None]


class Span(NamedTuple):
    """Addresses [start, end) and their line in the user's file; None where the code belongs to a header."""

    start: int
    end: int
    line: int | None
    column: int = 0


class _Call(NamedTuple):
    """An inlined call: its code's addresses, and where it was called from."""

    start: int
    end: int
    line: int | None
    column: int = 0


@dataclass(frozen=True)
class LineTable:
    """Reads the debug data on first use: most compiles need no line.

    name_file: for programs of several files. It gets a path as the debug data has it and the folder of the compilation,
    and returns the user's name of the file, or None if the user did not write it. Lines are then SourceLines, and
    plain numbers where that name is empty. Without it, only lines of the compiled file count.
    """

    code_object: bytes
    name_file: "NameFile | None" = None

    def line_of(self, address: int) -> int | None:
        """The line that the instruction at this virtual address comes from. Raises ToolchainError.

        For code inlined from a header it is the line of the call in the user's file; None outside the debug data.
        """
        return next(iter(self.lines_of(address)), None)

    def lines_of(self, address: int) -> tuple[int, ...]:
        """The line of the user's file, then the lines of the inlined calls around it, innermost first.

        Code of headers is left out; empty outside the debug data. Raises ToolchainError.
        """
        return tuple(line for line, _ in self.places_of(address))

    def places_of(self, address: int) -> tuple[tuple[int, int], ...]:
        """As lines_of, each with its column: what a compiler copied has the places of the original."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.spans[index].end:
            return ()
        own = self.spans[index]
        # Debug data lists outer calls before those within them; both may have the same code.
        outer_first = [call for call in self._calls if call.start <= address < call.end]
        outer_first.sort(key=lambda call: call.start - call.end)
        calls = [(call.line, call.column) for call in reversed(outer_first) if call.line is not None]
        return tuple(calls if own.line is None else [(own.line, own.column), *calls])

    def lines_near(self, address: int) -> tuple[int, ...]:
        """As lines_of; for an instruction without a line, the lines of the nearest one before it in its function."""
        function = next((f for f in self._functions if f[0] <= address < f[1]), None)
        index = bisect_right(self._starts, address) - 1
        lines = self.lines_of(address)
        while not lines and function and index >= 0 and self.spans[index].start >= function[0]:
            lines = self.lines_of(self.spans[index].start)
            index -= 1
        return lines

    def is_opening(self, address: int) -> bool:
        """Whether the line is the first of the function: compilers give it to instructions that they moved."""
        start = next((start for start, end in self._functions if start <= address < end), None)
        return start is not None and self.lines_of(address)[:1] == (self._read[2].get(start),)

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The line program's rows, by address."""
        return self._read[0]

    @cached_property
    def _starts(self) -> list[int]:
        return [span.start for span in self.spans]

    @cached_property
    def _functions(self) -> tuple[tuple[int, int], ...]:
        return tuple((function.start, function.end) for function in read_functions(self.code_object))

    @property
    def _calls(self) -> tuple[_Call, ...]:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[Span, ...], tuple[_Call, ...], dict[int, int | None]]:
        spans: list[Span] = []
        calls: list[_Call] = []
        openings: dict[int, int | None] = {}
        with open_code_object(self.code_object) as elf:
            sections = [elf.get_section_by_name(f".debug_{name}") for name in ("info", "line", "rnglists")]
            if not elf.has_dwarf_info() or sum(s["sh_size"] for s in sections if s) > _MAX_DEBUG_BYTES:
                return (), (), {}
            dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
            for unit in islice(dwarf.iter_CUs(), MAX_UNITS):
                program = dwarf.line_program_for_CU(unit)
                if program is None:
                    continue
                users = _named_files(unit, program, self.name_file) if self.name_file else _users_files(unit, program)
                spans += _spans(program, users)
                calls += _inlined_calls(dwarf, unit, users)
                openings |= _openings(program, users)
        return tuple(sorted(spans, key=lambda span: span[:2])), tuple(calls), openings


Files = Mapping[int, str | None]
"""The user's files by their number in the line program; the name is None where there is only one."""


def _users_files(unit: "CompileUnit", program: "LineProgram") -> Files:
    """The numbers under which the line program knows the file that was compiled."""
    name = unit.get_top_DIE().attributes["DW_AT_name"].value
    return {
        number: None for number, entry in _file_entries(program).items() if entry.name == name and entry.dir_index == 0
    }


def _named_files(unit: "CompileUnit", program: "LineProgram", name_file: NameFile) -> Files:
    """All files that `name_file` has a name for."""
    attributes = unit.get_top_DIE().attributes
    built_in = _text(attributes["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in attributes else ""
    found: dict[int, str | None] = {}
    for number, entry in _file_entries(program).items():
        path = posixpath.normpath(posixpath.join(_folder(program, entry.dir_index), _text(entry.name)))
        name = name_file(path, built_in)
        if name is not None:
            found[number] = name or None
    return found


def _file_entries(program: "LineProgram") -> dict[int, "Container"]:
    return dict(enumerate(program["file_entry"], start=0 if program.header["version"] >= 5 else 1))


def _folder(program: "LineProgram", index: int) -> str:
    """Folder 0 is that of the compilation, which DWARF 4 leaves out of the list."""
    folders = program["include_directory"]
    return _text(folders[index if program.header["version"] >= 5 else index - 1]) if index else ""


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _line(number: int, file: int, users: Files) -> int | None:
    """None for a line of a file that is not the user's, and for line 0: code that belongs to no line."""
    if file not in users or number <= 0:
        return None
    name = users[file]
    return number if name is None else SourceLine(number, name)


def _spans(program: "LineProgram", users: Files) -> list[Span]:
    spans: list[Span] = []
    last = None
    for row in program.get_entries():
        state = row.state
        if state is None:
            continue
        if last is not None and state.address > last.address:
            spans.append(Span(last.address, state.address, _line(last.line, last.file, users), last.column))
        last = None if state.end_sequence else state
    return spans


def _inlined_calls(dwarf: "DWARFInfo", unit: "CompileUnit", users: Files) -> list[_Call]:
    calls: list[_Call] = []
    for die in islice(unit.iter_DIEs(), MAX_ENTRIES):
        if die.tag != "DW_TAG_inlined_subroutine":
            continue
        file, line = die.attributes.get("DW_AT_call_file"), die.attributes.get("DW_AT_call_line")
        number = _line(int(line.value), file.value, users) if file is not None and line is not None else None
        column = int(die.attributes["DW_AT_call_column"].value) if "DW_AT_call_column" in die.attributes else 0
        calls += [_Call(start, end, number, column) for start, end in _ranges(dwarf, unit, die)]
    return calls


def _openings(program: "LineProgram", users: Files) -> dict[int, int | None]:
    """The line of the first row at each address, however short: at a function's start, where its body begins."""
    lines: dict[int, int | None] = {}
    for row in program.get_entries():
        state = row.state
        if state is not None and not state.end_sequence:
            lines.setdefault(state.address, _line(state.line, state.file, users))
    return lines


def _ranges(dwarf: "DWARFInfo", unit: "CompileUnit", die: "DIE") -> list[tuple[int, int]]:
    from elftools.dwarf.ranges import RangeEntry

    low, high = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
    if low is not None and high is not None:
        start = int(low.value)
        return [(start, int(high.value) if high.form == "DW_FORM_addr" else start + int(high.value))]
    listed, lists = die.attributes.get("DW_AT_ranges"), dwarf.range_lists()
    if listed is None or lists is None:
        return []
    entries = lists.get_range_list_at_offset(listed.value, cu=unit)
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    offset = int(base.value) if base is not None else 0
    ranges: list[tuple[int, int]] = []
    for entry in islice(entries, MAX_RANGES):
        if isinstance(entry, RangeEntry):
            shift = 0 if entry.is_absolute else offset
            ranges.append((shift + int(entry.begin_offset), shift + int(entry.end_offset)))
        else:
            offset = int(entry.base_address)
    return ranges
