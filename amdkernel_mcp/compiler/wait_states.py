"""Wait states that hand-written assembly leaves out: instructions that use a result before a CDNA GPU has it.

These GPUs do not hold such an instruction back: it gets the value from before. Compilers put other instructions or
`s_nop` in between, but not where inline assembly is the one that reads. Each instruction is a wait state, `s_nop N` is
N + 1, and a matrix instruction behind another one waits until the pipe takes it. All paths are followed.

Sources: the ISA guides of MI200, MI300 and MI350, "Manually inserted wait states" and "Dependency resolution"; LLVM,
GCNHazardRecognizer.cpp, whose figures are the same. Rows of it that are not here: docs/verdicts.md, "Assembly".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.object_kernels import code_ranges, read_object_kernels
from amdkernel_mcp.compiler.object_target import read_target

ARCHS = ("gfx90a", "gfx942", "gfx950")
MOST = 20
"""Wait states that any pair needs."""
_REGISTER = re.compile(r"(?<![\w.])([vas])(?:(\d{1,3})|\[(\d{1,3}):(\d{1,3})\])(?![\w\[])|\b(vcc|exec)(?:_lo|_hi)?\b")
_OPERANDS = re.compile(r", ?")  # between brackets are colons alone
_MATRIX = re.compile(r"v_(?:s?mfmac?)_(?:scale_)?[fi]\d+_(\d+)x\d+x\d+_?(\d+b_)?(\w+)")
_TRANSCENDENTAL = re.compile(r"v_(?:exp|log|rcp|rsq|sqrt|sin|cos)(?:_iflag)?_(?:f16|f32|f64|legacy_f32)")
_DPP = re.compile(r"_dpp\b|quad_perm:|row_\w+:|row_mirror|row_half_mirror|wave_\w+:")
_MEMORY = ("global_", "flat_", "scratch_", "buffer_", "tbuffer_")
_CARRY_OUT = ("_co_", "v_mad_u64_u32", "v_mad_i64_i32", "v_div_scale", "v_addc", "v_subb")
_ENDS = ("s_endpgm", "s_setpc", "s_swappc", "s_trap")

Register = tuple[str, int]


@dataclass(frozen=True)
class MissingWait:
    """An instruction of a kernel that comes too early. `address`: virtual, of the one that uses the result."""

    kernel: str
    address: int
    sentence: str


@dataclass(frozen=True)
class _Code:
    """An instruction and the registers that its operands name."""

    at: Instruction

    @cached_property
    def name(self) -> str:
        return self.at.mnemonic

    @cached_property
    def operands(self) -> list[frozenset[Register]]:
        rest = self.at.text.partition(" <")[0][len(self.name) :]
        return [_registers(each) for each in _OPERANDS.split(rest)]

    @cached_property
    def named(self) -> frozenset[Register]:
        return frozenset().union(*self.operands)

    @cached_property
    def is_matrix(self) -> bool:
        return self.name.startswith(("v_mfma", "v_smfmac"))

    @cached_property
    def is_vector(self) -> bool:
        return self.name.startswith("v_") and not self.is_matrix and not self.name.startswith("v_nop")

    @cached_property
    def is_memory(self) -> bool:
        return self.name.startswith((*_MEMORY, "ds_"))

    @cached_property
    def is_dpp(self) -> bool:
        return self.is_vector and _DPP.search(self.at.text) is not None

    @cached_property
    def written(self) -> frozenset[Register]:
        """By a vector instruction."""
        found = self.operands[0]
        if len(self.operands) > 1 and ("v_swap" in self.name or any(each in self.name for each in _CARRY_OUT)):
            found |= self.operands[1]
        return found | {("exec", 0)} if self.name.startswith("v_cmpx") else found

    @cached_property
    def read(self) -> frozenset[Register]:
        """By a vector or matrix instruction, without a result that it adds to."""
        first = 2 if any(each in self.name for each in _CARRY_OUT) else 1
        return frozenset().union(*self.operands[first:])

    def passes(self, arch: str) -> int:
        """Of a matrix instruction, four clocks each; the fewest where its type or sparsity leaves it open."""
        shape = _MATRIX.match(self.name)
        if shape is None:
            return 2
        rows, blocks, types = int(shape[1]), shape[2], shape[3]
        if rows == 4:
            return 4 if types.startswith("f64") else 2
        slow = arch == "gfx90a" or blocks or types.startswith(("f32", "f64"))
        return (8 if slow else 4) if rows == 16 else (16 if slow else 8)


def missing_wait_states(code_object: bytes, disassembly: str, arch: str) -> list[MissingWait]:
    """Of each kernel the first one, if any; none where the GPU waits by itself. Raises InputError for other bytes."""
    if arch not in ARCHS:
        return []
    elf = ElfFile(code_object)
    kernels, _ = read_object_kernels(elf, read_target(elf))
    code = list(parse_disassembly(disassembly))
    found: list[MissingWait] = []
    for kernel, place in zip(kernels, code_ranges(elf, kernels), strict=True):
        if place is None:
            continue
        if first := first_in([each for each in code if place.start <= each.address < place.end], arch):
            late, address = first
            found.append(MissingWait(kernel.name, address, late))
    return found


def first_in(code: Sequence[Instruction], arch: str) -> tuple[str, int] | None:
    """The sentence and the address of the first use in a kernel's code that comes too early, if any."""
    return next(first_missing([_Code(each) for each in code], arch), None) if arch in ARCHS else None


def first_missing(body: Sequence[_Code], arch: str) -> Iterator[tuple[str, int]]:
    """The sentence and the address of each use that comes too early, in the order of the results."""
    index = {each.at.address: number for number, each in enumerate(body)}
    for number, maker in enumerate(body):
        if not maker.name.startswith("v_"):
            continue
        for user, states in _after(body, index, number, _furthest(maker), arch):
            needed, register = _needed(maker, user, arch)
            if states < needed:
                yield _sentence(maker, user, register, states, needed, arch), user.at.address


def _furthest(maker: _Code) -> int:
    """Wait states behind which nothing comes too early."""
    if maker.is_matrix:
        return MOST
    return 5 if any(kind in ("s", "exec") for kind, _ in maker.written) else 2


def instructions(text: str) -> list[_Code]:
    """Of a disassembly."""
    return [_Code(each) for each in parse_disassembly(text)]


def _after(
    body: Sequence[_Code], index: dict[int, int], start: int, most: int, arch: str
) -> Iterator[tuple[_Code, int]]:
    """What runs after an instruction on any path, each with the fewest wait states in between."""
    passes = body[start].passes(arch) if body[start].is_matrix else 0
    waiting, seen = [(start + 1, 0, passes)], dict[int, int]()
    while waiting:
        number, states, passes = waiting.pop()
        while number < len(body) and states < most and states < seen.get(number, most):
            seen[number] = states
            here = body[number]
            yield here, states
            if here.is_matrix:
                states, passes = states + max(passes, 1), here.passes(arch)
            else:
                states += _wait_states(here)
            if here.name.startswith(_ENDS):
                break
            if here.name.startswith(("s_branch", "s_cbranch")) and (goal := _goal(here.at)) is not None:
                if goal in index:
                    waiting.append((index[goal], states, passes))
                if here.name.startswith("s_branch"):
                    break
            number += 1


def _wait_states(here: _Code) -> int:
    if here.name != "s_nop":
        return 1
    return int(here.at.text.split()[1], 0) + 1


def _goal(at: Instruction) -> int | None:
    """Of a branch: its operand counts words from the next instruction on."""
    try:
        words = int(at.text.split()[1], 0)
    except (IndexError, ValueError):
        return None
    return at.address + 4 + 4 * (words - 0x10000 if words >= 0x8000 else words)


def _needed(maker: _Code, user: _Code, arch: str) -> tuple[int, Register | None]:
    """The wait states that the two need, and a register that both name. 0: none."""
    if maker.is_matrix:
        return _after_matrix(maker, user, arch)
    rows: list[tuple[int, frozenset[Register]]] = []
    vector = _of(maker.written, "va")
    if user.is_matrix:
        dot = maker.name.startswith("v_dot")
        # a plain matrix instruction only writes its first operand, passes later
        sources = user.named if user.name.startswith("v_smfmac") else user.read
        rows += [(0 if dot else 2, vector & sources), (4, maker.written & {("exec", 0)})]
    elif user.is_dpp:
        first = next((each for each in user.operands[1:] if _of(each, "v")), frozenset[Register]())
        rows += [(2, vector & first), (5, maker.written & {("exec", 0)})]
    scalar = _of(maker.written, "s")
    if user.name.startswith(_MEMORY):
        rows.append((5, scalar & user.named))
    if user.name.startswith(("v_readlane", "v_writelane")):
        rows.append((4, scalar & user.operands[2]))
    if user.name.startswith("v_div_fmas"):
        rows.append((4, scalar & {("s", 106)}))
    if user.is_vector and arch != "gfx90a":
        rows.append((2, scalar & user.read))
        if _TRANSCENDENTAL.match(maker.name) and not _TRANSCENDENTAL.match(user.name):
            rows.append((1, vector & user.read))
        if user.name.startswith(("v_readlane", "v_readfirstlane")):
            rows.append((1, vector & user.read))
    needed, both = max(
        ((states, both) for states, both in rows if both), default=(0, frozenset()), key=lambda row: row[0]
    )
    return needed, min(both, default=None)


def _after_matrix(maker: _Code, user: _Code, arch: str) -> tuple[int, Register | None]:
    written = _of(maker.operands[0], "va")
    passes, double = maker.passes(arch), "f64" in maker.name
    xdl = not double and not re.search(r"x\d+(?:_\d+b)?_?f32$", maker.name)
    if user.is_matrix:  # the third source may be the same registers, and then the pipe has it
        both = written & (user.operands[1] | user.operands[2])
    elif user.is_vector or user.is_memory:
        both = written & user.named
    else:
        return 0, None
    if not both:
        return 0, None
    if double:
        needed = (9 if user.is_memory else 6) if passes == 4 else (18 if user.is_memory else 11)
    elif arch == "gfx90a" or xdl:
        later = arch == "gfx950" and passes != 2 and not user.is_matrix and user.read & both
        needed = passes + 3 + (1 if later else 0)
    else:
        needed = passes + 2
    return needed, min(both)


def _of(registers: frozenset[Register], kinds: str) -> frozenset[Register]:
    return frozenset(each for each in registers if each[0] in kinds)


@lru_cache(maxsize=4096)
def _registers(operand: str) -> frozenset[Register]:
    found: set[Register] = set()
    for kind, one, first, last, named in _REGISTER.findall(operand):
        if named:
            found |= {("s", 106), ("s", 107)} if named == "vcc" else {("exec", 0)}
        else:
            found |= {(kind, number) for number in range(int(one or first), int(one or last) + 1)}
    return frozenset(found)


def _sentence(maker: _Code, user: _Code, register: Register | None, states: int, needed: int, arch: str) -> str:
    kind, number = register or ("", 0)
    what = {"exec": "EXEC"}.get(kind, "vcc" if (kind, number) == ("s", 106) else f"{kind}{number}")
    lacking = needed - states
    nops = [f"s_nop {lacking - 1}"] if lacking <= 16 else ["s_nop 15", f"s_nop {lacking - 17}"]
    return (
        f"`{user.at.text.partition(' <')[0]}` uses {what} after {states} of {needed} wait states that {arch} needs"
        f" behind `{maker.name}`: a GPU may still have the old value. Put `{'`, `'.join(nops)}` in between: in front"
        " of inline assembly the compiler puts none"
    )
