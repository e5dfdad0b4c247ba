"""Which instructions wait for which: chains of results, and loads whose address comes from another load.

Read off the executed instructions in the order of their addresses, and those of loops once more, so that what a loop
carries to its next turn is seen. Branches are not followed: of two paths that write a register, the later one counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.compiler.disassembly import Instruction

_REGISTER = re.compile(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])|\b(vcc)\b")
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
    ran = [(each, executions[each.address]) for each in code if executions.get(each.address)]
    once = min((times for _, times in ran), default=0)
    vector = chained = loads = dependent = 0
    loaded, before = set[str](), set[str]()
    for turn in range(2):
        for instruction, times in ran:
            if turn and times == once:
                continue  # what sets a register before the loop does not end what the loop carries
            result, carry, read = _operands(instruction)
            written = result | carry
            name, counted = instruction.mnemonic, times if turn or times == once else 0
            if name.startswith("v_"):
                vector += counted
                chained += counted if before & read else 0
            if name.startswith(_LOADS):
                loads += counted
                dependent += counted if loaded & read else 0
                loaded |= written
            elif loaded & read:
                loaded |= written
            else:
                loaded -= written
            if name.startswith("v_"):
                before = result  # a carry alone makes no chain: it is one half of a sum of 64 bits
    return Dependences(chained / max(vector, 1), dependent / max(loads, 1))


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
