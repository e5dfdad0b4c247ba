"""Registers that the code of a kernel names beyond what its descriptor allocates.

Compilers count what they use. Inline assembly that names a register without saying so ("clobber") makes the count too
small: another wave may own the register, or the access goes nowhere. Vector registers of a kernel without accumulation
registers may take the place of these: hand-written kernels of AMD do. Source: LLVM AMDGPUUsage, "compute_pgm_rsrc1"
(granulated VGPR count) and "compute_pgm_rsrc3" (accum_offset).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.object_kernels import ObjectKernel, code_ranges, read_object_kernels
from amdkernel_mcp.compiler.object_target import read_target

_REGISTER = re.compile(
    r"(?<![\w.])(?P<kind>[va])(?:(?P<one>\d{1,3})|\[(?P<first>\d{1,3}):(?P<last>\d{1,3})\])(?![\w\[])"
)


@dataclass(frozen=True)
class BeyondAllocation:
    """The first instruction of a kernel that names such a register. `address`: virtual."""

    kernel: str
    address: int
    register: str
    allocated: int  # vector registers, or accumulation registers if it is one of these

    @property
    def sentence(self) -> str:
        """What is wrong, and the cure."""
        kind = "accumulation" if self.register.startswith("a") else "vector"
        return (
            f"it names the {kind} register {self.register}, but the kernel has {self.allocated} allocated: name the"
            " register among the clobbers of the assembly, or let the compiler choose one"
        )


def beyond_allocation(code_object: bytes, disassembly: str) -> list[BeyondAllocation]:
    """Of each kernel the first one, if any. Raises InputError for bytes that are not a code object."""
    elf = ElfFile(code_object)
    read, _ = read_object_kernels(elf, read_target(elf))
    code = list(parse_disassembly(disassembly))
    found: list[BeyondAllocation] = []
    for kernel, place in zip(read, code_ranges(elf, read), strict=True):
        if place is None:
            continue
        first = first_beyond(kernel, (each for each in code if place.start <= each.address < place.end))
        found += [first] if first else []
    return found


def first_beyond(kernel: ObjectKernel, code: Iterable[Instruction]) -> BeyondAllocation | None:
    """The first one in a kernel's code, if any."""
    allocated = kernel.descriptor
    if allocated is None or allocated.vgprs is None:
        return None
    named = [(each.address, kind, last) for each in code for kind, last in registers_of(each.text)]
    accumulates = any(kind == "a" for _, kind, _ in named)  # else nothing else is in that part of the file
    limits = {"v": allocated.vgprs - (allocated.agprs or 0 if accumulates else 0), "a": allocated.agprs}
    for address, kind, last in named:
        limit = limits[kind]
        if limit is not None and last >= limit:
            return BeyondAllocation(kernel.name, address, f"{kind}{last}", limit)
    return None


def registers_of(text: str) -> Iterator[tuple[str, int]]:
    """Kind and number of the last register of each operand."""
    for match in _REGISTER.finditer(text.partition(" <")[0]):
        yield match["kind"], int(match["one"] or match["last"])
