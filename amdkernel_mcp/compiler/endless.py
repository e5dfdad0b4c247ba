"""Whether a wave can run for ever in this machine code: only where it can come back to what it ran, or wait.

Source of what branches, waits and stops: AMD's ISA guides of CDNA3, RDNA3 and RDNA4, "Program Control" and "Barriers".
A wave that ended is no longer counted by s_barrier, so that one does not wait for ever.
"""

import re

from amdkernel_mcp.compiler.disassembly import parse_disassembly

_BRANCH = re.compile(r"s_c?branch\S*\s+(\d+)\b")
_BRANCHES = ("s_branch", "s_cbranch")
_ANYWHERE = ("s_setpc", "s_set_pc", "s_swappc", "s_swap_pc", "s_call", "s_rfe", "s_subvector_loop", "s_add_pc")
_WAITS = ("s_sethalt", "s_barrier_wait", "s_barrier_join", "s_wait_event", "ds_gws_")


def may_not_end(disassembly: str) -> bool:
    """False where each wave surely ends: there is code, every branch leads forward, and nothing waits for others."""
    code = {each.address: each for each in parse_disassembly(disassembly)}
    for each in code.values():
        if each.mnemonic.startswith((*_ANYWHERE, *_WAITS)):
            return True
        if each.mnemonic.startswith(_BRANCHES):
            words = _BRANCH.match(each.text)
            if words is None or int(words[1]) >= 1 << 15 or each.address + 4 + 4 * int(words[1]) not in code:
                return True
    return not code
