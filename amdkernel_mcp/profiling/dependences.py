"""Which instructions wait for which: chains of results, and loads whose address comes from another load.

Read off the executed instructions in the order of their addresses. A branch back is followed once each time that it is
reached from above, so that what a loop carries to its next turn is seen. Other branches are not followed: of two paths
that write a register, the later one counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.compiler.disassembly import Instruction

_REGISTER = re.compile(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])|\b(vcc)\b")
_BRANCH = re.compile(r"s_c?branch\S* (\d+)")
_MOST_TURNS = 64  # of all instructions: six loops within each other
_LOADS = ("global_load", "flat_load", "buffer_load")
_NO_RESULT = (
    "global_store",
    "flat_store",
    "buffer_store",
    "scratch_store",
    "ds_write",
    "s_waitcnt",
    "s_cbranch",
    "s_cmp",
)


@dataclass(frozen=True)
class Dependences:
    """Shares of executed instructions, 0 to 1."""

    chained: float = 0.0
    """Of the vector ALU's instructions, those that read what the instruction before them wrote."""
    dependent_loads: float = 0.0
    """Of the loads, those whose address is computed from loaded data."""


NO_DEPENDENCES = Dependences()


def dependences(code: Sequence[Instruction], executions: Mapping[int, int]) -> Dependences:
    """Of the instructions that were executed; `executions` by address."""
    ran = [each for each in code if executions.get(each.address)]
    vector = [executions[each.address] for each in ran if each.mnemonic.startswith("v_")]
    loads = [executions[each.address] for each in ran if each.mnemonic.startswith(_LOADS)]
    chained, dependent = dict[int, bool](), dict[int, bool]()  # by address, as the last turn has it
    loaded, before = set[str](), set[str]()
    for instruction in _with_second_turns(ran):
        result, carry, read = _operands(instruction)
        written = result | carry
        if instruction.mnemonic.startswith(_LOADS):
            dependent[instruction.address] = bool(loaded & read)
            loaded |= written
        elif loaded & read:
            loaded |= written
        else:
            loaded -= written
        if instruction.mnemonic.startswith("v_"):
            chained[instruction.address] = bool(before & read)
            before = result  # a carry alone makes no chain: it is one half of a sum of 64 bits
    return Dependences(_share(chained, executions, sum(vector)), _share(dependent, executions, sum(loads)))


def _share(found: Mapping[int, bool], executions: Mapping[int, int], total: int) -> float:
    return sum(executions[address] for address, true in found.items() if true) / max(total, 1)


def _with_second_turns(ran: Sequence[Instruction]) -> Iterator[Instruction]:
    """The instructions in order, the body of each loop twice; loops within it twice in each of its turns."""
    places = {each.address: place for place, each in enumerate(ran)}
    taken = set[int]()
    place, steps = 0, 0
    while place < len(ran) and steps < _MOST_TURNS * len(ran):
        yield ran[place]
        steps += 1
        goal = places.get(_goal(ran[place]), place + 1)
        if goal <= place and place not in taken:
            taken = {inner for inner in taken if not goal <= inner < place} | {place}
            place = goal
        else:
            place += 1


def _goal(instruction: Instruction) -> int:
    """The address that a branch goes to, -1 for all else. Its operand counts words of 4 bytes from the next one."""
    branch = _BRANCH.match(instruction.text)
    if not branch:
        return -1
    words = int(branch[1])
    return instruction.address + 4 + 4 * (words - (1 << 16) if words >= 1 << 15 else words)


def _operands(instruction: Instruction) -> tuple[set[str], set[str], set[str]]:
    """Registers of the result, of the carry (a second result), and those that are read."""
    name = instruction.mnemonic
    _, _, rest = instruction.text.partition(" ")
    if name.startswith(_NO_RESULT):
        return set(), set(), set(_registers(rest))
    first, _, others = rest.partition(",")
    carry = ""
    if "_co_" in name or name.startswith("v_div_scale"):
        carry, _, others = others.partition(",")
    adds = name.startswith(("v_fmac", "v_mac", "v_dot2c"))  # reads what it writes
    return set(_registers(first)), set(_registers(carry)), set(_registers(others if not adds else rest))


def _registers(text: str) -> Iterator[str]:
    for kind, one, low, high, vcc in _REGISTER.findall(text):
        if vcc:
            yield vcc
        elif one:
            yield kind + one
        else:
            yield from (f"{kind}{number}" for number in range(int(low), int(high) + 1))
