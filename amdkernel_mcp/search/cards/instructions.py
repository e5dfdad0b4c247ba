"""Cards of instructions: matrix instructions with their layout, any other with the architectures that have it."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.counted import counted
from amdkernel_mcp.hardware.exactness import inexact
from amdkernel_mcp.results.documentation import Card
from amdkernel_mcp.search.cards.matrix import Form, MatrixInstruction, by_spelling
from amdkernel_mcp.search.cards.matrix_layout import layout_lines

_ENCODING = re.compile(r"_(?:e32|e64|dpp8|dpp|sdwa|e64_dpp|vi|gfx\d+)$")
# Source: clang's BuiltinsAMDGPU and LLVM's AMDGPUUsage; those of scaled and integer forms differ and stay unnamed.
_ARGUMENTS = {
    "mfma": ("A", "B", "C", "cbsz", "abid", "blgp"),
    "smfmac": ("A", "B", "C", "index", "cbsz", "abid"),
    "wmma": ("A", "B", "C"),
    "swmmac": ("A", "B", "C", "index"),
}
_FAMILIES = (
    ("v_mfma_", "matrix core, MFMA"), ("v_smfmac_", "matrix core, sparse MFMA"), ("v_wmma_", "matrix core, WMMA"),
    ("v_swmmac_", "matrix core, sparse WMMA"), ("v_pk_", "vector ALU, packed: two operations a lane"),
    ("v_cmp", "vector ALU, comparison: the result is a lane mask"), ("v_accvgpr_", "accumulation registers"),
    ("v_", "vector ALU"), ("s_load_", "scalar memory"), ("s_buffer_", "scalar memory"), ("s_wait", "wait counter"),
    ("s_", "scalar ALU or control"), ("ds_", "LDS or cross-lane"), ("global_", "global memory"),
    ("flat_", "flat memory: global, LDS or scratch, by the address"), ("scratch_", "scratch memory"),
    ("buffer_", "buffer memory"), ("tbuffer_", "typed buffer memory"), ("image_", "image memory"),
)  # fmt: skip


@cache
def architectures_of() -> dict[str, tuple[str, ...]]:
    """The architectures of every mnemonic, as the assembler says (docs_index/mnemonics.tsv)."""
    return _table("mnemonics.tsv")


@cache
def assembler() -> str:
    """The assembler that was asked for both tables."""
    with (folder("docs_index") / "mnemonics.tsv").open(encoding="utf-8") as table:
        found = re.search(r"version (\d+[\d.]*)", table.readline())
    return f"LLVM {found[1]}" if found else "LLVM"


@cache
def emulated() -> dict[str, tuple[str, ...]]:
    """The targets on which the emulator has each mnemonic (docs_index/emulated.tsv)."""
    return _table("emulated.tsv")


def _table(name: str) -> dict[str, tuple[str, ...]]:
    text = (folder("docs_index") / name).read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {mnemonic: tuple(archs.split()) for mnemonic, archs in rows}


def plain_mnemonic(word: str) -> str:
    """The mnemonic without the suffix of its encoding: `v_add_f32_e32` is `v_add_f32`."""
    return _ENCODING.sub("", word.lower())


def instruction_cards(word: str) -> list[Card]:
    """The card of a mnemonic or of a clang builtin that makes one; none for another word."""
    matrix = by_spelling().get(word.lower()) or by_spelling().get(plain_mnemonic(word))
    if matrix:
        return [matrix_card(one) for one in matrix]
    name = next((one for one in (word.lower(), plain_mnemonic(word)) if one in architectures_of()), None)
    return [mnemonic_card(name)] if name else []


@cache
def mnemonics_like(pattern: str) -> Sequence[str]:
    """The mnemonics that a pattern with `*` and `?` matches."""
    return [name for name in architectures_of() if fnmatchcase(name, pattern.lower())]


def wildcard_card(pattern: str) -> Card | None:
    """The list of what a pattern matches; None where that is nothing."""
    found = mnemonics_like(pattern)
    if not found:
        return None
    lines = [f"- `{name}`: {_matrix_line(name) or ', '.join(architectures_of()[name])}" for name in found]
    return Card(
        ref=f"isa:{pattern.lower()}",
        kind="isa",
        name=pattern.lower(),
        title=f"{counted(len(found), 'instruction matches', 'instructions match')} {pattern.lower()}",
        text="\n".join(lines),
        origin=_asked(),
        version=assembler(),
    )


def _matrix_line(name: str) -> str:
    return "; or ".join(_in_a_line(one, name) for one in by_spelling().get(name, ()))


def _in_a_line(one: MatrixInstruction, name: str) -> str:
    told = {form.arch: form.cycles or "not_measured" for form in one.forms if name in (form.name, *form.spellings)}
    cycles = ", ".join(f"{arch} {cycles}" for arch, cycles in told.items())
    return f"{one.m}x{one.n}x{one.k}, {_blocks(one)}, {one.a_type} to {one.d_type}; cycles: {cycles}"


def mnemonic_card(name: str) -> Card:
    """The card of an instruction that is not a matrix instruction."""
    archs = architectures_of()[name]
    family = next((what for prefix, what in _FAMILIES if name.startswith(prefix)), "other")
    lines = [
        f"Family: {family}.",
        f"Taken by the assembler for: {', '.join(archs)}."
        " An older name for the same encoding is taken too, so another name may be printed.",
    ]
    if name in emulated():
        lines.append(f"Emulated on: {', '.join(emulated()[name])}; {_how_exact(name)}.")
    siblings = _siblings(name)
    if siblings:
        lines.append(f"Near it: {', '.join(f'`{one}`' for one in siblings)}.")
    lines.append("Operands and semantics: the ISA document of the architecture, or search_docs with the name.")
    return Card(
        ref=f"isa:{name}",
        kind="isa",
        name=name,
        title=f"{name}: {family}",
        text="\n".join(lines),
        origin=_asked(),
        version=assembler(),
    )


def _how_exact(name: str) -> str:
    found = inexact(name)
    return f"{found.kind}: {found.why}" if found else "exact, by the ISA guide"


def _siblings(name: str) -> list[str]:
    """Mnemonics that differ in their last part only: other widths or types."""
    stem, _, last = name.rpartition("_")
    if not stem.count("_"):
        return []
    return [one for one in architectures_of() if one != name and one.rpartition("_")[0] == stem and last][:8]


def matrix_card(one: MatrixInstruction) -> Card:
    """Operands, shape, registers, cycles, layout and builtin."""
    forms = one.forms
    lines = [
        f"D = A * B + C: {_blocks(one)} of M={one.m}, N={one.n}, K={one.k};"
        f" A {one.a_type}, B {one.b_type}, C and D {one.d_type}; {one.flops} operations.",
        f"Operands: {_operands(one)}.",
    ]
    if len(one.spellings) > 1:
        lines.append(f"Also spelled: {', '.join(f'`{name}`' for name in one.spellings[1:])}.")
    lines += [
        "",
        "| arch | wave | VGPRs of A, B, C/D | passes | cycles a SIMD | builtin |",
        "|---|---|---|---|---|---|",
    ]
    rows = [_row(form) for form in forms]
    unknown = " not_measured: no source states it." if any("not_measured" in row for row in rows) else ""
    lines += [*rows, "", f"Passes: LLVM's scheduling model; one is 4 cycles.{unknown}"]
    if one.a_type == "f8f6f4":
        lines.append("A and B take 8 VGPRs as FP8 or BF8, 6 as FP6 or BF6, 4 as FP4; CBSZ and BLGP say the format.")
    lines += [f"- {told}" for told in dict.fromkeys(_prototype(one, form) for form in forms if form.builtin)]
    lines += ["", *_layouts(one)]
    targets = sorted({gfx for name in one.spellings for gfx in emulated().get(name, ())})
    if targets:
        lines += ["", f"Emulated on: {', '.join(targets)}; {_how_exact(one.name)}."]
    return Card(
        ref=f"isa:{one.name}",
        kind="isa",
        name=one.name,
        title=f"{one.name}: {one.m}x{one.n}x{one.k} {one.a_type} to {one.d_type}",
        text="\n".join(lines),
        origin=f"{_asked()}; layout: CDNA3, RDNA3 and RDNA4 ISA documents",
        version=assembler(),
    )


def _blocks(one: MatrixInstruction) -> str:
    return "1 block" if one.blocks == 1 else f"{one.blocks} blocks"


def _operands(one: MatrixInstruction) -> str:
    if one.kind == "smfmac":
        return "vdst (D, which is C too), A, B, index VGPR: 2 of each 4 elements of A are kept; cbsz, abid pick the set"
    if one.kind == "swmmac":
        return "vdst (D, which is C too), A, B, index VGPR: 2 of each 4 elements of A are kept"
    if "_scale_" in one.name:
        return "vdst, A, B, C, scale of A, scale of B; cbsz and blgp say the formats of A and B"
    if one.kind == "mfma":
        return "vdst, A, B, C; cbsz and abid broadcast blocks of A, blgp permutes lanes of B (negates, for f64)"
    return "vdst, A, B, C"


def _row(form: Form) -> str:
    passes = "not_measured" if form.passes is None else str(form.passes)
    cycles = "not_measured" if form.cycles is None else str(form.cycles)
    builtin = f"`{form.builtin}`" if form.builtin else "none"
    return f"| {form.arch} | {form.wave} | {form.a}, {form.b}, {form.d} | {passes} | {cycles} | {builtin} |"


def _prototype(one: MatrixInstruction, form: Form) -> str:
    """The builtin as a declaration; `floatx16` is a vector of 16 floats (`ext_vector_type(16)`)."""
    result, _, kinds = form.prototype.rstrip(")").partition(" (")
    names = _ARGUMENTS.get(one.kind, ())
    if len(names) != kinds.count(",") + 1:
        return f"`{result} {form.builtin}({kinds})`"
    given = (f"{kind} {name}" for kind, name in zip(kinds.split(", "), names, strict=True))
    return f"`{result} {form.builtin}({', '.join(given)})`"


def _layouts(one: MatrixInstruction) -> list[str]:
    """The layout for each wave size and kind of architecture, once where several agree."""
    told: dict[str, list[str]] = {}
    for form in one.forms:
        told.setdefault("\n".join(layout_lines(one, form)), []).append(f"{form.arch} wave{form.wave}")
    lines = []
    for text, where in told.items():
        lines += [f"Layout ({', '.join(where)}; division of integers):", text]
    return lines


def _asked() -> str:
    return f"the assembler, the compiler and the scheduling model of {assembler()}"
