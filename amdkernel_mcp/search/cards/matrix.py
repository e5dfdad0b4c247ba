"""Matrix instructions: shape, registers, passes, lane layout and clang builtin, from docs_index/matrix.tsv.

The table's rows (name, arch, wave size, registers of D, A and B, passes, other spellings, builtin, prototype) are what
the assembler, the scheduling model and the compiler of LLVM say; see scripts/list_instructions.py. Shape and types
are in an instruction's name; the number of blocks follows from the registers of D.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from amdkernel_mcp.bundled import folder

CYCLES_PER_PASS = 4  # Source: CDNA3 ISA, "Dependency Resolution: Required Independent Instructions"
BITS = {
    "f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "iu8": 8, "iu4": 4,
    "f8f6f4": 8,
}  # fmt: skip
_NAME = re.compile(
    r"^v_(?P<kind>mfma|smfmac|wmma|swmmac)_(?:scale_)?(?P<d>[a-z]+\d+)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)"
    r"(?:_\d+b)?_?(?P<types>[a-z].*?)(?:_1k)?$"
)


_SHAPE = re.compile(r"(?<![\w])(\d{1,2})\s?x\s?(\d{1,2})\s?x\s?(\d{1,3})(?![\w])", re.IGNORECASE)
_KIND = re.compile(r"\b(mfma|smfmac|wmma|swmmac)\b|\b(?:matrix|tensor) ?(?:core|unit|instruction)s?\b", re.IGNORECASE)
_TYPES = {
    "f16": "f16|fp16|half|float16", "bf16": "bf16|bfloat16", "f64": "f64|fp64|double|float64", "xf32": "xf32|tf32",
    "f32": "f32|fp32|single|float32", "i8": "i8|int8", "iu8": "i8|iu8|int8|uint8", "iu4": "i4|iu4|int4|uint4",
    "fp8": "fp8|e4m3|float8", "bf8": "bf8|e5m2", "f8f6f4": "mxfp8|mxfp6|mxfp4|fp4|fp6|mx",
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """An instruction as one architecture has it, for one wave size. Registers are 32-bit VGPRs a lane."""

    name: str
    arch: str
    wave: int
    d: int
    a: int
    b: int
    passes: int | None
    spellings: tuple[str, ...]
    builtin: str
    prototype: str

    @property
    def cycles(self) -> int | None:
        """Cycles for which the matrix core of a SIMD is busy; None where no source states it."""
        return None if self.passes is None else self.passes * CYCLES_PER_PASS


@dataclass(frozen=True)
class MatrixInstruction:
    """D = A * B + C for `blocks` products of an M x K and a K x N matrix."""

    name: str
    kind: str
    m: int
    n: int
    k: int
    blocks: int
    a_type: str
    b_type: str
    d_type: str
    forms: tuple[Form, ...]

    @property
    def sparse(self) -> bool:
        """Whether A is stored compressed, with an index register next to it."""
        return self.kind in ("smfmac", "swmmac")

    @property
    def flops(self) -> int:
        """Operations of one instruction, a fused multiply-add counted as two, zeros of a sparse A included."""
        return 2 * self.m * self.n * self.k * self.blocks

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name that an assembler takes for it, the card's own first."""
        names = [self.name, *(name for form in self.forms for name in (form.name, *form.spellings))]
        return tuple(dict.fromkeys(names))


@cache
def matrix_instructions() -> tuple[MatrixInstruction, ...]:
    """All of the table; the forms of one shape and type are one instruction, under the newest spelling."""
    same: dict[tuple[object, ...], list[Form]] = defaultdict(list)
    for form in _forms():
        same[_identity(form)].append(form)
    return tuple(_instruction(forms) for forms in same.values())


@cache
def by_spelling() -> dict[str, tuple[MatrixInstruction, ...]]:
    """The instructions of every spelling and of every clang builtin.

    A few spellings mean one instruction on one architecture and another on the next: `v_mfma_f32_32x32x4bf16`.
    """
    found: dict[str, dict[MatrixInstruction, None]] = defaultdict(dict)
    for one in matrix_instructions():
        for name in (*one.spellings, *(form.builtin for form in one.forms if form.builtin)):
            found[name][one] = None
    return {name: tuple(several) for name, several in found.items()}


def named_by_shape(text: str) -> list[str]:
    """The instructions that a shape and a type in plain words mean: `32x32x8 fp16 MFMA`, the likeliest one.

    None where several types have the shape and the text names none of them, or where a shape stands alone: it is
    as well that of a tile.
    """
    shape, kind = _SHAPE.search(text), _KIND.search(text)
    if not shape or not kind:
        return []
    rest = text.replace(shape[0], " ")
    typed = {name for name, words in _TYPES.items() if re.search(rf"\b(?:{words})\b", rest, re.IGNORECASE)}
    wanted = (kind[1] or "").lower()
    found = [
        one
        for one in matrix_instructions()
        if (one.m, one.n, one.k) == tuple(int(number) for number in shape.groups())
        and one.kind in ((wanted,) if wanted else ("mfma", "wmma"))
        and "_scale_" not in one.name
    ]
    named = [one for one in found if one.a_type in typed and one.b_type in typed]
    named.sort(key=lambda one: (one.a_type != one.b_type, one.d_type not in ("f32", "i32", "f64")))
    return [one.name for one in named][:1] or ([found[0].name] if len(found) == 1 else [])


def _forms() -> list[Form]:
    text = (folder("docs_index") / "matrix.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [
        Form(name, arch, int(wave), int(d), int(a), int(b), int(p) if p else None, tuple(others.split()), *made)
        for name, arch, wave, d, a, b, p, others, *made in rows
    ]


def _identity(form: Form) -> tuple[object, ...]:
    shape = _NAME.match(form.name)
    assert shape, form.name
    scaled = "_scale_" in form.name
    return (*shape.group("kind", "d", "m", "n", "k", "types"), _blocks(form, shape), scaled)


def _blocks(form: Form, shape: re.Match[str]) -> int:
    """M * N results a block, spread over the lanes; only MFMA has more than one block."""
    if shape["kind"] != "mfma":
        return 1
    return form.d * 32 * form.wave // (int(shape["m"]) * int(shape["n"]) * BITS[shape["d"]])


def _instruction(forms: Sequence[Form]) -> MatrixInstruction:
    newest = forms[-1]  # the table goes from older architectures to newer ones
    shape = _NAME.match(newest.name)
    assert shape, newest.name
    a_type, _, b_type = shape["types"].partition("_")
    m, n, k = (int(shape[key]) for key in "mnk")
    return MatrixInstruction(
        newest.name, shape["kind"], m, n, k, _blocks(newest, shape), a_type, b_type or a_type, shape["d"], tuple(forms)
    )
