"""Code of the launched kernels that ran in no case of a check: nothing shows that it is right.

Source of what ends a wave or continues elsewhere: AMD's ISA guides of CDNA3 and RDNA3, "Program Control".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.judging.non_finite_code import asks_for_non_finite
from amdkernel_mcp.compiler.code_object import read_functions
from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly
from amdkernel_mcp.counted import counted

if TYPE_CHECKING:
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.runner_protocol.records import DispatchRecord

_SHOWN = 4
_BRANCH = re.compile(r"s_c?branch\S*\s+(\d+)")
_RETURNS = ("s_endpgm", "s_setpc_b64", "s_swap_pc", "s_rfe")
_STOPS = ("s_trap", "s_code_end", "s_sethalt")
_MOVES = re.compile(r"[sv]_(?:pk_)?mov|v_accvgpr_(?:write|mov)|s_ashr_i32 \S+ \S+ 31$|s_cbranch_exec|s_nop|s_wait")
_SIZE_WITH_NONE = re.compile(r"s_cmpk?_(?:gt|lt|ge|le)_[iu]32 s\d+, [01]")
_KEEPS_SCC = (
    "v_",
    "s_mov",
    "s_load",
    "s_wait",
    "s_nop",
    "s_mul_i32",
    "s_cselect",
    "global_",
    "ds_",
    "buffer_",
    "flat_",
)
_STEPS = re.compile(r"s_addc?_|s_lshl_b|v_lshl_add_u64|v_ashrrev_i32|v_lshlrev_b64|v_addc?_co_u32")
_NEAR = 16
_PRELOADING_BYTES = 256
_PLAIN = (
    "s_nop",
    "s_wait",
    "s_branch",
    "s_clause",
    "s_delay_alu",
    "s_endpgm",
    "s_setprio",
    "s_inst_prefetch",
    "s_code_end",
)
"""What computes nothing: such code alone is not worth a word."""
_HIDES_LINES = re.compile(r"^\s*#\s*(?:line\b|\d)|\bnodebug\b|__nodebug__", re.MULTILINE)
"""By which a source can give its code no line; else code without one is the compiler's, or a header's."""
_ANY_LANES = re.compile(r"v_(?:readlane|readfirstlane|writelane|mfma|smfmac|wmma|swmmac|accvgpr)")
_BY_LANES = ("v_", "global_", "flat_", "buffer_", "tbuffer_", "scratch_", "ds_", "image_")


_Places = Callable[[int], tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class UnrunCode:
    """What a wave can reach in the kernels that were launched, and what of it no wave ran."""

    instructions: int
    unrun: tuple[int, ...]
    """Addresses."""
    lines: tuple[tuple[int, int], ...]
    """Of the unrun code in the user's file: first and last, in order."""
    ran: frozenset[str] = frozenset()
    """The mnemonics of what a wave ran with an active lane."""
    of_non_finite: tuple[tuple[int, int], ...] = ()
    """Of these lines, those whose condition asks for NaN or infinity."""

    @property
    def sentence(self) -> str:
        """For the verdict; empty where everything ran."""
        if not self.unrun:
            return ""
        if not self.lines:
            return f"{counted(len(self.unrun), 'instruction')} ran in no case"
        others = tuple(span for span in self.lines if span not in self.of_non_finite)
        asks = "the condition asks for NaN or infinity, which no case has"
        if not others:
            return f"{_named(self.lines)} ran in no case: {asks}"
        rest = f", nor did {_named(self.of_non_finite)}: there {asks}" if self.of_non_finite else ""
        return f"{_named(others)} ran in no case{rest}"


def _named(spans: Sequence[tuple[int, int]]) -> str:
    shown = [f"{first} to {last}" if last > first else str(first) for first, last in spans[:_SHOWN]]
    more = f" and {len(spans) - _SHOWN} more" if len(spans) > _SHOWN else ""
    many = len(spans) > 1 or spans[0][0] < spans[0][1]
    return f"{'lines' if many else 'line'} {', '.join(shown)}{more}"


def unrun_code(compiled: Compiled, records: Iterable[DispatchRecord]) -> UnrunCode:
    """The code that none of these dispatches ran, of all cases together.

    Left out is what only leads to a trap, what nothing branches to, loops of no turns, and copies of code that ran: an
    unrolled loop. An instruction of lanes ran where at least one lane was active.
    """
    records = list(records)
    if compiled.code_object is None or compiled.lines is None or not records:
        return UnrunCode(0, (), ())
    ran, idle = (
        _Spans((first, last) for each in records for first, last, was_idle in each.ran if was_idle == wanted)
        for wanted in (0, 1)
    )
    code = list(parse_disassembly(compiled.disassembly))
    launched = {each.kernel for each in records}
    is_hip = (compiled.result.toolchain or "").startswith("HIP")
    hides = is_hip and _HIDES_LINES.search(compiled.source) is not None
    places = None if hides else compiled.lines.places_of
    total, unrun, run, asked = 0, list[int](), list[int](), list[int]()
    mnemonics: set[str] = set()
    for function in read_functions(compiled.code_object):
        body = [each for each in code if function.start <= each.address < function.end]
        if function.name not in launched and not any(ran.has(e.address) or idle.has(e.address) for e in body):
            continue
        mnemonics |= {each.mnemonic for each in body if ran.has(each.address)}
        flow = _Flow(body, 0 if not body or ran.has(body[0].address) else _behind_preloading(body))
        own = [n for n in flow.reached if not body[n].mnemonic.startswith(_PLAIN)]
        own = [n for n in own if not places or places(body[n].address)]  # the rest the compiler added
        done = {n for n in own if ran.has(body[n].address) or (idle.has(body[n].address) and not _needs_lanes(body[n]))}
        known = {places(body[n].address) for n in done} if places else set()
        silent = [n for n in own if n not in done and not flow.is_of_an_empty_loop(n)]
        left = [n for n in silent if not places or not _is_copy(body[n], places, known)]
        unrun += [body[n].address for n in left]
        asked += [body[n].address for n in asks_for_non_finite(body, left)]
        run += [body[n].address for n in done]
        total += len(own)
    line_of = compiled.lines.line_of
    spans = _spans_of_lines(unrun, run, line_of)
    others = {line_of(address) for address in {*unrun} - {*asked}}
    non_finite = tuple(span for span in spans if not others & {*range(span[0], span[1] + 1)})
    return UnrunCode(total, tuple(unrun), spans, frozenset(mnemonics), non_finite)


def _is_copy(instruction: Instruction, places: _Places, known: set[tuple[tuple[int, int], ...]]) -> bool:
    """Whether code of its place ran; steps of pointers and counters have places of their own in each copy of a loop."""
    own = places(instruction.address)
    steps = _STEPS.match(instruction.mnemonic) is not None
    return own in known or (steps and any(_lines(each) == _lines(own) for each in known))


def _lines(places: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    return tuple(line for line, _ in places)


def _needs_lanes(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith(_BY_LANES) and not _ANY_LANES.match(instruction.mnemonic)


class _Spans:
    """Addresses in any of these spans, both ends included."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._merged: list[list[int]] = []
        for first, last in sorted(set(spans)):
            if self._merged and first <= self._merged[-1][1]:
                self._merged[-1][1] = max(last, self._merged[-1][1])
            else:
                self._merged.append([first, last])
        self._firsts = [first for first, _ in self._merged]

    def has(self, address: int) -> bool:
        at = bisect_right(self._firsts, address) - 1
        return at >= 0 and address <= self._merged[at][1]


class _Flow:
    """Where a wave goes in a function, whose instructions are numbered from 0."""

    def __init__(self, body: Sequence[Instruction], begin: int = 0) -> None:
        self._body = body
        index = {each.address: n for n, each in enumerate(body)}
        after = [_next(body, n, index) for n in range(len(body))]
        if all(any(each.mnemonic.startswith(name) for each in body) for name in ("s_getpc", "s_setpc")):  # far jumps
            after = [sorted({*nexts, n + 1} - {len(body)}) for n, nexts in enumerate(after)]
        self._before: list[list[int]] = [[] for _ in body]
        for n, nexts in enumerate(after):
            for other in nexts:
                self._before[other].append(n)
        ends = [n for n, each in enumerate(body) if each.mnemonic.startswith(_RETURNS)]
        self._from_start = _closure([begin] if body else [], after)
        self._to_end = _closure(ends, self._before)

    @property
    def reached(self) -> list[int]:
        """What a wave can come to from the first instruction, and from where it can end without a trap."""
        return sorted(self._from_start & self._to_end)

    def is_of_an_empty_loop(self, n: int) -> bool:
        """Whether it is part of moves alone that a comparison of a size with 0 or 1 leads to: a loop of no turns."""
        while self._is_move(n):
            before = self._before[n]
            if before != [n - 1] or self._body[n - 1].mnemonic.startswith("s_cbranch"):
                return bool(before) and all(self._asks_for_a_turn(each) for each in before)
            n -= 1
        return False

    def _is_move(self, n: int) -> bool:
        text = self._body[n].text
        return _MOVES.match(text) is not None

    def _asks_for_a_turn(self, n: int) -> bool:
        if not self._body[n].mnemonic.startswith("s_cbranch_scc"):
            return False
        for each in reversed(self._body[max(0, n - _NEAR) : n]):
            if each.mnemonic.startswith("s_cmp"):
                return _SIZE_WITH_NONE.fullmatch(each.text) is not None
            if not each.mnemonic.startswith(_KEEPS_SCC):
                return False
        return False


def _next(body: Sequence[Instruction], n: int, index: dict[int, int]) -> list[int]:
    each = body[n]
    if each.mnemonic.startswith((*_RETURNS, *_STOPS)):
        return []
    nexts = [] if each.mnemonic == "s_branch" else [n + 1] if n + 1 < len(body) else []
    if match := _BRANCH.match(each.text):
        words = (int(match[1]) ^ 0x8000) - 0x8000
        nexts += [index[goal]] if (goal := each.address + 4 + 4 * words) in index else []
    return nexts


def _behind_preloading(body: Sequence[Instruction]) -> int:
    """Where a wave begins whose arguments the hardware has loaded: behind code that loads them for older firmware.

    Source: LLVM AMDGPUUsage, "Preloaded Kernel Arguments": 256 bytes.
    """
    first = [each for each in body if each.address < body[0].address + _PRELOADING_BYTES]
    here = {each.address: n for n, each in enumerate(body)}
    behind = here.get(body[0].address + _PRELOADING_BYTES, 0)
    jumps = [n for n, each in enumerate(first) if each.mnemonic == "s_branch"]
    loads = all(each.mnemonic.startswith(("s_load", "s_wait", "s_branch", "s_nop")) for each in first)
    return behind if loads and behind and [_next(body, n, here) for n in jumps] == [[behind]] else 0


def _closure(begin: Iterable[int], edges: Sequence[Sequence[int]]) -> set[int]:
    seen, waiting = set(begin), list(begin)
    while waiting:
        for other in edges[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _spans_of_lines(
    unrun: Iterable[int], run: Iterable[int], line_of: Callable[[int], int | None]
) -> tuple[tuple[int, int], ...]:
    """The lines of code that did not run; two of them are one span where no line between them ran."""
    silent = sorted({int(line) for address in unrun if (line := line_of(address))})
    ran = sorted({int(line) for address in run if (line := line_of(address))})
    spans: list[tuple[int, int]] = []
    for line in silent:
        between = bisect_right(ran, line - 1) - bisect_right(ran, spans[-1][1]) if spans else 1
        if between:
            spans.append((line, line))
        else:
            spans[-1] = (spans[-1][0], line)
    return tuple(spans)
