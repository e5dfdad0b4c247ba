"""Registers that the code of a kernel names beyond what its descriptor allocates.

Compilers count what they use. Inline assembly that names a register without saying so ("clobber") makes the count too
small: another wave may own the register, or the access goes nowhere. Source: LLVM AMDGPUUsage, "compute_pgm_rsrc1"
(granulated VGPR count) and "compute_pgm_rsrc3" (accum_offset).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.object_kernels import code_ranges, read_object_kernels
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
        allocated = kernel.descriptor
        if place is None or allocated is None or allocated.vgprs is None:
            continue
        limits = {"v": allocated.vgprs - (allocated.agprs or 0), "a": allocated.agprs}
        body = (each for each in code if place.start <= each.address < place.end)
        named = ((each.address, kind, last) for each in body for kind, last in registers_of(each.text))
        for address, kind, last in named:
            limit = limits[kind]
            if limit is not None and last >= limit:
                found.append(BeyondAllocation(kernel.name, address, f"{kind}{last}", limit))
                break
    return found


def registers_of(text: str) -> Iterator[tuple[str, int]]:
    """Kind and number of the last register of each operand."""
    for match in _REGISTER.finditer(text.partition(" <")[0]):
        yield match["kind"], int(match["one"] or match["last"])
