"""Instructions that only pass time, and for how long: the emulator counts executions, and no unit of the model is busy.

A wave sleeps, or waits until whole caches are written back or invalidated. What a write-back moves is in the bound of
the memory; here is the way there and back. Sources: CDNA3 and RDNA4 ISA guides for s_sleep; LLVM AMDGPUUsage, memory
model, for what each instruction on caches reaches. The clocks of the latter are assumptions on the slow side.
"""

import re
from collections.abc import Iterable, Mapping

from amdkernel_mcp.compiler.disassembly import Instruction

_CLOCKS = 64
_LONGEST = 127
"""What seven bits of the operand say at most; s_sleep_var has it in a register."""
WRITE_BACK_CLOCKS, INVALIDATE_CLOCKS, MESSAGE_CLOCKS = 4000, 2000, 2000
"""About 2 us, to the memory and back under load; 1 us, until the next accesses have found their lines again."""

_PASSING: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"(?:buffer_wb|global_wb|s_dcache_wb)\w*(?: .*)?"), WRITE_BACK_CLOCKS),
    (re.compile(r"(?:buffer_invl2|buffer_gl1_inv|s_gl1_inv|s_dcache_inv\w*|s_icache_inv)(?: .*)?"), INVALIDATE_CLOCKS),
    (re.compile(r"buffer_inv .*\bsc1\b.*|global_inv .*SCOPE_(?:DEV|SYS).*"), INVALIDATE_CLOCKS),
    (re.compile(r"ds_gws_\w+(?: .*)?|s_sendmsg_rtn_\w+ .*|s_sendmsg (?!.*DEALLOC_VGPRS).*"), MESSAGE_CLOCKS),
)
_HEADS = ("s_sendmsg", "s_dcache", "s_icache", "s_gl1", "buffer_wb", "buffer_inv", "buffer_gl1", "global_", "ds_gws")


def sleep_clocks(instructions: Iterable[Instruction]) -> Mapping[int, int]:
    """The clocks that each such instruction lasts at most, by its address; the most where a register says how long."""
    found = {}
    for each in instructions:
        if clocks := passing_clocks(each.text):
            found[each.address] = clocks
    return found


def passing_clocks(text: str) -> int:
    """Of one instruction; 0: it keeps a unit busy, or waits for one that is, or is over at once."""
    if text.startswith("s_sleep"):
        given = re.fullmatch(r"s_sleep\s+(0x[0-9a-fA-F]+|\d+)", text)
        length = int(given[1], 0) & _LONGEST if given else _LONGEST
        return _CLOCKS * max(1, length)
    if not text.startswith(_HEADS):
        return 0
    return next((clocks for pattern, clocks in _PASSING if pattern.fullmatch(text)), 0)
