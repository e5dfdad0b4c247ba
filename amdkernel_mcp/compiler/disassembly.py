"""The text of `llvm-objdump -d` as instructions, and whether they communicate."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# "\ts_cbranch_scc1 485    // 000000001620: BF8501E5 <softmax+0x7b8>": address and words are in a comment.
_LINE = re.compile(
    r"^\t(?P<text>\S.*?)\s*// (?P<address>[0-9A-Fa-f]+):(?: [0-9A-Fa-f]{8})+(?: (?P<goal><[^>]+>))?$", re.M
)
# Atomics on memory; loads that pass the caches by, as volatile and atomic ones do; waiting in a loop.
# Source of the bits: LLVM's AMDGPU memory model, "Memory Model" tables of gfx90a, gfx942, gfx10-11 and gfx12.
_COMMUNICATES = re.compile(
    r"^\t(?:(?:global|flat|buffer)_atomic_|s_atomic_|s_sleep\b"
    r"|(?:global|flat|buffer)_load_[^/\n]*\b(?:sc1|glc|scope:SCOPE_(?:DEV|SYS))\b)",
    re.M,
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its virtual address in the code object, and its text with the branch goal in <>."""

    address: int
    text: str

    @property
    def mnemonic(self) -> str:
        return self.text.split(None, 1)[0]


def parse_disassembly(text: str) -> Iterator[Instruction]:
    """All instructions in the order of their addresses; other lines are skipped."""
    for line in _LINE.finditer(text):
        goal = f" {line['goal']}" if line["goal"] else ""
        yield Instruction(int(line["address"], 16), line["text"] + goal)


def communicates(disassembly: str) -> bool:
    """Whether the code has atomics on memory, or loads that see what another workgroup has just stored: then its result
    may depend on the order of workgroups."""
    return _COMMUNICATES.search(disassembly) is not None
