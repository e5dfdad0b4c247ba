"""How many instructions of each family a kernel's code has, counted once each however often they run."""

import re
from collections.abc import Iterable

from amdkernel_mcp.compiler.disassembly import Instruction

FAMILIES = ("valu", "salu", "smem", "vmem", "flat", "scratch", "lds", "mfma", "wmma", "branch", "wait", "other")
"""`vmem`: global, buffer, image. `valu` is without `mfma` and `wmma`. `other`: barriers, caches, s_nop, s_endpgm."""

# First match counts. Source of the names: the instruction tables of AMD's CDNA3 and RDNA4 ISA guides.
_FAMILY = (
    ("mfma", r"v_(mfma|smfmac)_"),
    ("wmma", r"v_(wmma|swmmac)_"),
    ("valu", r"v_"),
    ("lds", r"ds_|lds_"),
    ("scratch", r"scratch_"),
    ("flat", r"flat_"),
    ("other", r"buffer_(gl[01]_inv|inv\b|wbl2|wbinv)|global_(inv|wb|wbinv)\b"),  # caches, not data
    ("vmem", r"global_|buffer_|tbuffer_|image_"),
    ("branch", r"s_(branch|cbranch_|setpc_|swappc_|call_|rfe_)"),
    ("wait", r"s_(waitcnt|wait_|delay_alu)"),
    ("smem", r"s_(load|buffer_load|store|buffer_store|scratch|atomic|dcache|memtime|memrealtime|prefetch|atc_probe)"),
    (
        "other",
        r"s_(barrier|nop|endpgm|sleep|sendmsg|setprio|sethalt|setkill|trap|icache|incperflevel|decperflevel|ttrace"
        r"|clause|code_end|round_mode|denorm_mode|set_gpr_idx|inst_prefetch|set_inst_prefetch|wakeup|version|singleuse)",
    ),
    ("salu", r"s_"),
    ("other", r""),
)
_PATTERNS = tuple((family, re.compile(pattern)) for family, pattern in _FAMILY)


def family_of(mnemonic: str) -> str:
    """The family, one of FAMILIES; a pair of a dual-issue instruction is one."""
    return next(family for family, pattern in _PATTERNS if pattern.match(mnemonic))


def instruction_mix(instructions: Iterable[Instruction]) -> dict[str, int]:
    """Count by family; every family is there, so that 0 means none."""
    known: dict[str, str] = {}
    mix = dict.fromkeys(FAMILIES, 0)
    for instruction in instructions:
        mnemonic = instruction.mnemonic
        family = known.get(mnemonic)
        if family is None:
            family = known[mnemonic] = family_of(mnemonic)
        mix[family] += 1
    return mix
