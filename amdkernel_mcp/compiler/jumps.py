"""Branches that lead to where no instruction begins, such as into the literal of one: only hand-written code has them.

A GPU would run the literal as an instruction, and nothing that reads the code says what it does then: such a kernel
is refused before it runs. Source of the goals: the ISA guides, "S_BRANCH": the next address plus four times a signed
number of 16 bits.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly

_BRANCH = re.compile(r"s_c?branch\S*\s+(\d+)\b")


@dataclass(frozen=True)
class Astray:
    """A branch without a goal. `address`: virtual."""

    address: int
    sentence: str


def jumps_astray(disassembly: str) -> list[Astray]:
    """The first such branch, if any; those of code that no wave reaches count as well."""
    return list(astray_in(parse_disassembly(disassembly)))[:1]


def astray_in(instructions: Iterable[Instruction]) -> Iterator[Astray]:
    """Each such branch of all the code of an object."""
    code = {each.address: each.text.partition(" <")[0] for each in instructions}
    places = sorted(code)
    for address, text in code.items():
        words = _BRANCH.match(text)
        if words is None:
            continue
        number = int(words[1])
        goal = address + 4 + 4 * (number - (number >> 15 << 16))
        if goal in code:
            continue
        at = bisect_right(places, goal) - 1
        if at < 0 or at + 1 == len(places):
            where = "to where no code is"
        else:
            where = f"{goal - places[at]} bytes into `{code[places[at]]}`"
        yield Astray(address, f"`{text}` leads {where}: no instruction begins there; branch to a label")
