"""Code behind a condition that asks for NaN or infinity, as conversions to a narrow type have it.

It says what the condition compares, and no more: such code is still code that ran in no case.
Source of the comparisons: AMD's ISA guide of CDNA3, "Vector ALU Operations"; of the bit patterns: IEEE 754.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from amdkernel_mcp.compiler.disassembly import Instruction

_NEAR = 24  # instructions between a comparison and what it decides about
_COMPARES = re.compile(r"[sv]_cmpx?k?_")
_UNORDERED = re.compile(r"v_cmpx?_(?:[uo]|class)_")
# Infinity, or what is next to it, of f32, bf16, f16 and the upper half of an f64.
_PATTERN = re.compile(r"\b0x(?:7f80000[01]|7f7fffff|ff80000[01]|7f8[01]|7f7f|7c0[01]|7bff|7ff0000[01])\b")
_REGISTER = re.compile(r"\b[sv]\d+\b")
_CONSTANT = re.compile(r"[sv]_movk?_[bi]32\S* ([sv]\d+), (\S+)")


def asks_for_non_finite(body: Sequence[Instruction], unrun: Collection[int]) -> Iterator[int]:
    """Of the instructions `unrun` of a function, those that a comparison with NaN or infinity leads to."""
    known, asked = frozenset(unrun), False
    for n in sorted(known):
        if n - 1 not in known:
            asked = _is_asked_for(body, n)
        if asked:
            yield n


def _is_asked_for(body: Sequence[Instruction], n: int) -> bool:
    """By the comparison nearest before instruction `n`."""
    for at in range(n - 1, max(-1, n - 1 - _NEAR), -1):
        if _COMPARES.match(body[at].mnemonic):
            text = body[at].text
            constants = (_constant_in(body, at, name) for name in _REGISTER.findall(text))
            return bool(_UNORDERED.match(text) or any(_PATTERN.search(each) for each in (text, *constants)))
    return False


def _constant_in(body: Sequence[Instruction], at: int, register: str) -> str:
    """The number that the register was given last before; empty where it was not given one."""
    for each in reversed(body[:at]):
        if (found := _CONSTANT.match(each.text)) and found[1] == register:
            return found[2]
    return ""
