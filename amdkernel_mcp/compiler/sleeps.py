"""Where the code of a kernel puts its wave to sleep, and for how long: the emulator counts executions, not clocks."""

import re
from collections.abc import Iterable, Mapping

from amdkernel_mcp.compiler.disassembly import Instruction

_CLOCKS = 64
_LONGEST = 127
"""What seven bits of the operand say at most; s_sleep_var has it in a register. Source: CDNA3 and RDNA4 ISA guides."""


def sleep_clocks(instructions: Iterable[Instruction]) -> Mapping[int, int]:
    """The clocks that each s_sleep lasts, by its address; the most where a register says how long."""
    found = {}
    for each in instructions:
        if each.mnemonic.startswith("s_sleep"):
            given = re.fullmatch(r"s_sleep\s+(0x[0-9a-fA-F]+|\d+)", each.text)
            length = int(given[1], 0) & _LONGEST if given else _LONGEST
            found[each.address] = _CLOCKS * max(1, length)
    return found
