"""Matrix instructions: the table, its layouts and its cycles agree with each other and with three other sources."""

import re
from itertools import product

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.search.cards.instructions import instruction_cards
from amdkernel_mcp.search.cards.lookup import Lookup
from amdkernel_mcp.search.cards.matrix import (
    BITS,
    Form,
    MatrixInstruction,
    by_spelling,
    matrix_instructions,
    named_by_shape,
)
from amdkernel_mcp.search.cards.matrix_layout import (
    SparsePlace,
    layout_lines,
    place_in_sparse_a,
    place_of_input,
    place_of_result,
)
from tests.rows import each_row

FORMS = [(one, form) for one in matrix_instructions() for form in one.forms]
IDS = [f"{form.name}-{form.arch}-wave{form.wave}" for _, form in FORMS]


def bits_a_lane(one: MatrixInstruction, form: Form) -> tuple[int, int, int]:
    """What a lane holds of A, B and D, from the shape alone."""
    inputs = one.m * one.k * one.blocks * BITS[one.a_type] // form.wave
    results = one.m * one.n * one.blocks * BITS[one.d_type] // form.wave
    if form.arch.startswith("gfx11"):
        inputs *= form.wave // 16  # every 16 lanes hold all of A and B
        results = max(results, one.m * one.n * 32 // form.wave)  # a result has a register of its own
    return inputs // 2 if one.sparse else inputs, inputs, results


@each_row(("one", "form"), FORMS, ids=IDS)
def test_the_registers_that_the_assembler_takes_are_those_of_the_shape(one: MatrixInstruction, form: Form) -> None:
    assert (form.a, form.b, form.d) == tuple(-(-bits // 32) for bits in bits_a_lane(one, form))


@each_row(("one", "form"), FORMS, ids=IDS)
def test_a_layout_puts_every_element_into_a_place_of_its_own_and_fills_the_registers(
    one: MatrixInstruction, form: Form
) -> None:
    if place_of_input(one, form, 0, 0):
        elements = product(range(one.m), range(one.k), range(one.blocks))
        places = [place_of_input(one, form, row, k, block) for row, k, block in elements]
        taken = [(lane, place.register, place.part) for place in places if place for lane in place.lanes]
        assert len(taken) == len(set(taken))
        assert {lane for lane, *_ in taken} == set(range(form.wave))
        assert max(register for _, register, _ in taken) == form.a - (2 if one.a_type == "f64" else 1)
    if place_of_result(one, form, 0, 0):
        cells = product(range(one.m), range(one.n), range(one.blocks))
        places = [place_of_result(one, form, row, column, block) for row, column, block in cells]
        taken = [(lane, place.register, place.part) for place in places if place for lane in place.lanes]
        assert len(taken) == len(set(taken)) == one.m * one.n * one.blocks
        assert max(register for _, register, _ in taken) == form.d - (2 if one.d_type == "f64" else 1)


@each_row(("one", "form"), FORMS, ids=IDS)
def test_the_formulas_of_a_card_say_where_the_layout_puts_things(one: MatrixInstruction, form: Form) -> None:
    a, *_, d = layout_lines(one, form)
    for row, k, block in product(range(one.m), range(one.k), range(one.blocks)):
        place = place_of_input(one, form, row, k, block)
        if place:
            assert computed("lane", a, i=row, k=k, b=block) == place.lanes[0]
            per_register = max(32 // BITS[one.a_type], 1)
            if "element" in a and "only" not in a:
                assert computed("element", a, k=k) == place.register * per_register + place.part
    for row, column, block in product(range(one.m), range(one.n), range(one.blocks)):
        place = place_of_result(one, form, row, column, block)
        if place:
            assert computed("lane", d, i=row, j=column, b=block) == place.lanes[0]
            if "registers 0 and 1" not in d:
                assert computed("registers?", d, i=row, j=column, b=block) == place.register


def computed(what: str, line: str, **values: int) -> int:
    """The value of the formula that is behind `what`."""
    formula = re.search(rf"\b{what} ([\w+*/%() ]+?)(?:, | of |$| and| or| on)", line)
    assert formula, line
    return int(eval(formula[1].replace("/", "//"), {}, values))


def test_a_sparse_operand_lies_where_the_matrix_instruction_calculator_says() -> None:
    (one,) = by_spelling()["v_smfmac_f32_16x16x32_f16"]
    assert place_in_sparse_a(one, one.forms[0], 2, 31) == SparsePlace(lane=50, first=2, index_bit=4)
    a, index, b, _ = layout_lines(one, one.forms[0])
    assert computed("lane", a, i=2, k=31) == computed("lane", b, j=2, k=31) == 50
    assert computed("element", a, k=31) == 2
    assert computed("bit", index, k=31) == 4


def test_the_emulator_computes_with_the_same_shapes() -> None:
    text = (folder("sandbox") / "emulator" / "isa" / "mfma.def").read_text()
    rows = re.findall(r"^MFMA\(\s*(v_mfma_\w+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,", text, re.MULTILINE)
    assert len(rows) > 30
    for name, m, k, blocks in rows:
        shapes = {(one.m, one.k, one.blocks) for one in by_spelling()[name]}
        assert (int(m), int(k), int(blocks)) in shapes, name
    text = (folder("sandbox") / "emulator" / "isa" / "wmma.def").read_text()
    for name, k in re.findall(r"^WMMA\(\s*(v_wmma_\w+)\s*,\s*(\d+)\s*,", text, re.MULTILINE):
        assert {one.k for one in by_spelling()[name]} == {int(k)}, name


def test_the_emulator_computes_with_the_same_sparse_shapes() -> None:
    text = (folder("sandbox") / "emulator" / "isa" / "mfma.def").read_text()
    sparse = re.findall(r"^SMFMAC\(\s*(v_smfmac_\w+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,", text, re.MULTILINE)
    for name, m, k in sparse:
        assert {(one.m, one.k) for one in by_spelling()[name]} == {(int(m), int(k))}, name


@pytest.mark.parametrize("gpu", ["MI210", "MI300X", "MI355X"])
def test_no_instruction_is_faster_than_the_peak_of_its_gpu_and_the_best_ones_reach_it(gpu: str) -> None:
    part = gpu_by_name(gpu)
    reached: dict[str, float] = {}
    for one, form in FORMS:
        if form.arch != part.gfx or form.cycles is None or one.sparse:
            continue
        unit = {"fp8": "matrix_f8", "bf8": "matrix_f8"}.get(one.a_type, f"matrix_{one.a_type}")
        rate = one.flops * part.simds_per_cu / form.cycles
        assert rate <= part.flops_per_clock_cu[unit], form.name
        reached[unit] = max(reached.get(unit, 0), rate)
    if part.gfx == "gfx950":
        del reached["matrix_f8"]  # only v_mfma_*_f8f6f4 reaches that peak, and no source states its cycles
    assert reached == {unit: rate for unit, rate in part.flops_per_clock_cu.items() if unit in reached}


def test_a_card_says_operands_registers_cycles_layout_and_builtin() -> None:
    (card,) = instruction_cards("v_mfma_f32_32x32x8_f16")
    assert "M=32, N=32, K=8" in card.text
    assert "| gfx942 | 64 | 2, 2, 16 | 8 | 32 | `__builtin_amdgcn_mfma_f32_32x32x8f16` |" in card.text
    assert "A[i][k]: lane i + 32*(k/4), element k%4 of 4" in card.text
    assert "D[i][j] and C[i][j]: lane j + 32*((i/4)%2), register 4*(i/8) + i%4" in card.text
    for spelling in ("v_mfma_f32_32x32x8f16", "V_MFMA_F32_32X32X8_F16", "__builtin_amdgcn_mfma_f32_32x32x8f16"):
        assert instruction_cards(spelling) == [card]


def test_a_cycle_count_that_no_source_states_is_not_measured() -> None:
    for name in ("v_wmma_f32_16x16x16_f16", "v_mfma_f32_16x16x128_f8f6f4"):
        (card,) = instruction_cards(name)
        assert "| not_measured | not_measured |" in card.text


def test_a_spelling_that_means_two_instructions_has_two_cards() -> None:
    blocks = {one.blocks for one in by_spelling()["v_mfma_f32_32x32x4bf16"]}
    assert blocks == {1, 2}, "one block on gfx90a, another name of the 2-block instruction on gfx942"
    assert len(instruction_cards("v_mfma_f32_32x32x4bf16")) == 2


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("which lane holds which element of a 32x32x8 fp16 MFMA", "v_mfma_f32_32x32x8_f16"),
        ("layout of a 16x16x16 bf16 wmma", "v_wmma_f32_16x16x16_bf16"),
        ("16 x 16 x 4 double on the matrix cores", "v_mfma_f64_16x16x4_f64"),
        ("tile of 64x64x32 fp16 with MFMA", None),
        ("32x32x8 tile of half", None),
        ("layout of a 32x32x8 mfma", None),
    ],
)
def test_a_shape_in_plain_words_leads_to_its_instruction(query: str, name: str | None) -> None:
    assert named_by_shape(query) == ([name] if name else [])
    assert [card.ref for card in Lookup().cards_in(query)] == ([f"isa:{name}"] if name else [])
