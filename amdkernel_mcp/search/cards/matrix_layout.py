"""Which lane and register hold an element of A, B and D of a matrix instruction.

Sources: CDNA3 ISA, "Matrix Arithmetic Instructions" and AMD's matrix instruction calculator (MFMA, the same rule that
sandbox/emulator/isa/mfma.c computes with); RDNA3 and RDNA4 ISA, "Wave Matrix Multiply Accumulate" (wave32).
What these do not say plainly - sparse WMMA, 6- and 4-bit formats, wave64 of RDNA4 - is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from amdkernel_mcp.search.cards.matrix import BITS, Form, MatrixInstruction


@dataclass(frozen=True)
class Place:
    """Where an element lives: `lanes` (several where it must be repeated), VGPR of the operand, element within it."""

    lanes: tuple[int, ...]
    register: int
    part: int = 0


def place_of_input(one: MatrixInstruction, form: Form, row: int, k: int, block: int = 0) -> Place | None:
    """The place of A[row][k] of a block, and of B[k][row] alike; None where no source states it."""
    if one.sparse or one.a_type == "f8f6f4":
        return None
    bits = BITS[one.a_type]
    per_register = max(32 // bits, 1)
    if one.kind == "mfma":
        per_lane = one.m * one.k * one.blocks // form.wave
        lane, element = row + one.m * (block + one.blocks * (k // per_lane)), k % per_lane
        return Place((lane,), element * bits // 32, element % per_register)
    if form.arch.startswith("gfx11"):
        return Place(tuple(range(row, form.wave, 16)), k // per_register, k % per_register)
    if form.wave == 32:
        per_lane = one.k // 2
        return Place((row + 16 * (k // per_lane),), k % per_lane // per_register, k % per_register)
    return None


@dataclass(frozen=True)
class SparsePlace:
    """Where sparse A keeps A[row][k] if it keeps it: in the stored element `first` of a lane, or in the one after it.

    index_bit: the lowest of the two bits that say which of four neighbours `first` is; two bits on for the next one.
    """

    lane: int
    first: int
    index_bit: int


def place_in_sparse_a(one: MatrixInstruction, form: Form, row: int, k: int) -> SparsePlace:
    """For sparse MFMA, with CBSZ and ABID 0. Source: AMD's matrix instruction calculator, "compression"."""
    per_lane = _dense_elements_a_lane(one, form)
    group = k % per_lane // 4
    return SparsePlace(row + one.m * (k // per_lane), 2 * group, 4 * group)


def _dense_elements_a_lane(one: MatrixInstruction, form: Form) -> int:
    return one.m * one.k // form.wave


def place_of_result(one: MatrixInstruction, form: Form, row: int, column: int, block: int = 0) -> Place | None:
    """The place of D[row][column] of a block, and of C alike; of 64-bit results the first of two registers.

    RDNA3 keeps a 16-bit result in one half of a register, which OPSEL chooses; `part` is 0 then.
    """
    if one.kind in ("mfma", "smfmac"):
        return _mfma_result(one, row, column, block)
    if form.arch.startswith("gfx11"):
        groups = form.wave // 16
        return Place((column + 16 * (row % groups),), row // groups)
    if form.wave == 32:
        packed = 32 // BITS[one.d_type]
        return Place((column + 16 * (row // 8),), row % 8 // packed, row % 8 % packed)
    return None


def _mfma_result(one: MatrixInstruction, row: int, column: int, block: int) -> Place:
    if one.d_type == "f64":
        if one.m == 4:
            return Place((column + 4 * block + 16 * row,), 0)
        return Place((column + 16 * (row % 4),), 2 * (row // 4))
    if one.m == 4:
        return Place((column + 4 * block,), row)
    if one.m == 16:
        return Place((column + 16 * (row // 4),), 4 * block + row % 4)
    return Place((column + 32 * (row // 4 % 2),), 16 * block + 4 * (row // 8) + row % 4)


def layout_lines(one: MatrixInstruction, form: Form) -> Iterator[str]:
    """The same as formulas, one line for A, B and D each, integer division throughout."""
    block = " of block b" if one.blocks > 1 else ""
    if one.kind == "smfmac":
        per_lane = _dense_elements_a_lane(one, form)
        element = _element(per_lane, BITS[one.b_type])
        yield f"- A[i][k]: lane i + {one.m}*(k/{per_lane}), if kept as stored element 2*((k%{per_lane})/4) or the next"
        yield f"- index of A: in the same lane, 2 bits a stored element: k%4, from bit 4*((k%{per_lane})/4) on"
        yield f"- B[k][j]: lane j + {one.m}*(k/{per_lane}), {element}"
    elif place_of_input(one, form, 0, 0) is None:
        yield "- A and B: no available source states it; see the ISA document"
    else:
        lane, element = _input_formula(one, form)
        yield f"- A[i][k]{block}: lane {lane.format('i')}, {element}"
        yield f"- B[k][j]{block}: lane {lane.format('j')}, {element}"
    yield f"- D[i][j] and C[i][j]{block}: {_result_formula(one, form)}"


def _input_formula(one: MatrixInstruction, form: Form) -> tuple[str, str]:
    bits = BITS[one.a_type]
    if one.kind != "mfma":
        per_lane = one.k if form.arch.startswith("gfx11") else one.k // 2
        repeated = f"{{0}}, and the same in every 16th lane up to {form.wave - 1}"
        return (repeated if per_lane == one.k else f"{{0}} + 16*(k/{per_lane})"), _element(per_lane, bits)
    per_lane = one.m * one.k * one.blocks // form.wave
    if one.blocks > 1:
        group = "b" if per_lane == one.k else f"(b + {one.blocks}*(k/{per_lane}))"
        return f"{{0}} + {one.m}*{group}", _element(per_lane, bits)
    return f"{{0}} + {one.m}*" + (f"(k/{per_lane})" if per_lane > 1 else "k"), _element(per_lane, bits)


def _element(per_lane: int, bits: int) -> str:
    if per_lane == 1:
        return "its only element" if bits <= 32 else "registers 0 and 1"
    if bits == 32:
        return f"register k%{per_lane}"
    return f"element k%{per_lane} of {per_lane}, {32 // bits} a register, lowest bits first"


def _result_formula(one: MatrixInstruction, form: Form) -> str:
    if place_of_result(one, form, 0, 0) is None:
        return "no available source states it; see the ISA document"
    if one.kind in ("mfma", "smfmac"):
        if one.d_type == "f64":
            if one.m == 4:
                return "lane j + 4*b + 16*i, registers 0 and 1"
            return "lane j + 16*(i%4), registers 2*(i/4) and the next"
        if one.m == 4:
            return "lane j + 4*b, register i"
        start = f"{one.m // 2 if one.m == 32 else 4}*b + " if one.blocks > 1 else ""
        if one.m == 16:
            return f"lane j + 16*(i/4), register {start}i%4"
        return f"lane j + 32*((i/4)%2), register {start}4*(i/8) + i%4"
    if form.arch.startswith("gfx11"):
        groups = form.wave // 16
        half = ", the half that OPSEL chooses" if BITS[one.d_type] == 16 else ""
        return f"lane j + 16*(i%{groups}), register i/{groups}{half}"
    if BITS[one.d_type] == 16:
        return "lane j + 16*(i/8), register (i%8)/2, half i%2"
    return "lane j + 16*(i/8), register i%8"
