"""Which instructions of the code object a kernel executed, by name and by size."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.profiling.dependences import NO_DEPENDENCES, Dependences, dependences

LONGEST_BYTES = 20
"""Of an instruction; a longer distance to the next one is a gap."""
SHORTEST_BYTES = 4
LIBRARY = ("v_ldexp_f", "v_frexp_", "v_div_scale", "v_div_fixup", "v_cmp_class_f", "v_trig_preop")
"""What the math library and divisions by IEEE 754 have, and the fast forms (__expf, __sinf, v_rcp) do not."""


@dataclass(frozen=True)
class ExecutedCode:
    """What the disassembly adds to the counters."""

    executions: Mapping[str, int] = field(default_factory=dict)
    """By mnemonic, without the suffix of its encoding."""
    repeated_bytes: int = 0
    """Code that a mean wave executes at least twice: what the instruction cache should hold."""

    waits: Dependences = NO_DEPENDENCES

    library: Mapping[int, int] = field(default_factory=dict)
    """Vector instructions of the source lines that the math library was inlined into."""

    def count(self, *prefixes: str) -> int:
        """Executions of all mnemonics that begin with one of these."""
        return sum(count for name, count in self.executions.items() if name.startswith(prefixes))


NO_CODE = ExecutedCode()


def executed_code(
    dispatches: Iterable[Dispatch], disassembly: str, line_of: Callable[[int], int | None] = lambda _: None
) -> ExecutedCode:
    """Of the disassembly of the code object that the dispatches ran; empty where their addresses were not counted.

    `line_of` returns the user's line of a virtual address, or None.
    """
    runs = Counter[int]()
    waves = 0.0
    for dispatch in dispatches:
        waves += dispatch.count("SQ_WAVES")
        for address, counts in dispatch.pcs.items():
            runs[address] += counts.executions
    if not runs or not disassembly:
        return NO_CODE
    code = list(parse_disassembly(disassembly))
    executions, of_lines, library = Counter[str](), Counter[int](), set[int]()
    for instruction in code:
        if times := runs.get(instruction.address):
            name, line = _plain(instruction.mnemonic), line_of(instruction.address)
            executions[name] += times
            if line is not None and name.startswith("v_"):
                of_lines[line] += times
                library |= {line} if name.startswith(LIBRARY) else set()
    sizes = {one.address: after.address - one.address for one, after in pairwise(code)}
    repeated = (sizes.get(address, SHORTEST_BYTES) for address, times in runs.items() if times >= 2 * waves > 0)
    size = sum(min(each, LONGEST_BYTES) for each in repeated)
    return ExecutedCode(
        dict(executions), size, dependences(code, runs), {line: of_lines[line] for line in sorted(library)}
    )


def _plain(mnemonic: str) -> str:
    for ending in ("_e32", "_e64", "_sdwa", "_dpp"):
        mnemonic = mnemonic.removesuffix(ending)
    return mnemonic
