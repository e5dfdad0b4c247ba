"""The text of `llvm-objdump -d` as instructions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# "\ts_cbranch_scc1 485    // 000000001620: BF8501E5 <softmax+0x7b8>": address and words are in a comment.
_LINE = re.compile(
    r"^\t(?P<text>\S.*?)\s*// (?P<address>[0-9A-Fa-f]+):(?: [0-9A-Fa-f]{8})+(?: (?P<goal><[^>]+>))?$", re.M
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
