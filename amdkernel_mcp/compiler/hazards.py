"""What is wrong with the code of a kernel by its instructions alone, whoever compiled it: nothing runs."""

from collections.abc import Sequence

from amdkernel_mcp.compiler.disassembly import Instruction
from amdkernel_mcp.compiler.jumps import Astray
from amdkernel_mcp.compiler.object_kernels import ObjectKernel
from amdkernel_mcp.compiler.register_limits import first_beyond
from amdkernel_mcp.compiler.wait_states import first_in

Place = tuple[int, str]


def hazards(kernel: ObjectKernel, code: Sequence[Instruction], astray: Sequence[Astray], arch: str) -> list[Place]:
    """The virtual address and a sentence of each mistake, the first of its kind, in the order of addresses.

    astray: the branches of the whole object that lead to no instruction.
    """
    places = {each.address for each in code}
    found = [(each.address, each.sentence) for each in astray if each.address in places][:1]
    if beyond := first_beyond(kernel, code):
        found.append((beyond.address, beyond.sentence))
    if early := first_in(code, arch):
        found.append((early[1], early[0]))
    return sorted(found)
