"""Code that only NaN or infinity leads to is said to be that; other code is not excused."""

import pytest

from amdkernel_mcp.checking.judging.non_finite_code import asks_for_non_finite
from amdkernel_mcp.checking.judging.unrun_code import UnrunCode
from amdkernel_mcp.compiler.disassembly import Instruction


def body(text: str) -> list[Instruction]:
    return [Instruction(4 * n, line.strip()) for n, line in enumerate(text.strip().splitlines())]


BITS = """s_mov_b32 s0, 0x7f800001
    v_and_b32_e32 v2, 0x7fffffff, v3
    v_cmp_gt_u32_e32 vcc, s0, v2
    s_andn2_saveexec_b64 s[0:1], vcc
    v_or_b32_e32 v2, v3, v2"""


@pytest.mark.parametrize(
    "text",
    [
        BITS,
        BITS.replace("s_mov_b32 s0, 0x7f800001", "s_nop 0").replace("s0, v2", "0x7f800000, v2"),
        BITS.replace("v_cmp_gt_u32_e32 vcc, s0, v2", "v_cmp_u_f32_e32 vcc, v2, v2"),
        BITS.replace("v_cmp_gt_u32_e32 vcc, s0, v2", "v_cmp_class_f32_e32 vcc, v2, v1"),
    ],
    ids=["a register", "a literal", "unordered", "class"],
)
def test_a_branch_for_nan_or_infinity_is_recognised(text: str) -> None:
    assert list(asks_for_non_finite(body(text), [4])) == [4]


@pytest.mark.parametrize(
    "text",
    [
        BITS.replace("0x7f800001", "0x80"),
        BITS.replace("s_andn2", "v_cmp_lt_i32_e32 vcc, 0x80, v1\n    s_andn2"),
        BITS.replace("v_cmp_gt_u32_e32 vcc, s0, v2", "s_nop 0"),
    ],
    ids=["another number", "another comparison after it", "no comparison"],
)
def test_another_branch_is_not(text: str) -> None:
    lines = body(text)
    assert list(asks_for_non_finite(lines, [len(lines) - 1])) == []


@pytest.mark.parametrize(
    ("others", "non_finite", "sentence"),
    [
        ([(40, 71)], [], "lines 40 to 71 ran in no case"),
        ([], [(9, 9)], "line 9 ran in no case: the condition asks for NaN or infinity, which no case has"),
        (
            [(40, 71)],
            [(9, 9)],
            "lines 40 to 71 ran in no case, nor did line 9:"
            " there the condition asks for NaN or infinity, which no case has",
        ),
    ],
)
def test_the_sentence_says_what_such_code_is_for(
    others: list[tuple[int, int]], non_finite: list[tuple[int, int]], sentence: str
) -> None:
    code = UnrunCode(100, (4,), tuple(sorted(others + non_finite)), of_non_finite=tuple(non_finite))
    assert code.sentence == sentence
