"""Which instructions have other bits than a GPU's: classes, not samples."""

import re

import pytest

from amdkernel_mcp.hardware.exactness import inexact, inexact_among
from amdkernel_mcp.search.cards.instructions import emulated, mnemonic_card

FLOAT_SUM = re.compile(r"v_(?:mfma|smfmac|wmma|swmmac|dot\d|dual_dot)")
FUNCTION = re.compile(r"v_(?:s_)?(?:exp|log|rcp|rsq|sqrt|sin|cos|tanh)_")
ORDERED = re.compile(r"(?:\w+_atomic|ds)_(?:pk_)?add_\w*f\d+$")


def test_of_all_emulated_instructions_those_of_the_inexact_classes_and_no_others_are_named() -> None:
    for name in emulated():
        integers = re.search(r"_(?:ld_)?[iu]\d+(?:_|$)", name) is not None and "f" not in name.split("_", 2)[-1]
        expected = (
            (FLOAT_SUM.match(name) is not None and not integers)
            or FUNCTION.match(name) is not None
            or ORDERED.match(name) is not None
            or "_sr_" in name
            or name in ("s_memtime", "s_memrealtime", "s_getreg_b32")
            or name.startswith("s_sendmsg_rtn")
        )
        assert (inexact(name) is not None) == expected, name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v_exp_f32_e32", "approximate"),
        ("v_rcp_iflag_f32_e64", "approximate"),
        ("v_mfma_f32_32x32x8_f16", "approximate"),
        ("v_mfma_i32_32x32x16_i8", None),
        ("v_wmma_i32_16x16x16_iu8", None),
        ("v_dot4_i32_iu8", None),
        ("v_dot2_f32_f16", "assumed"),
        ("global_atomic_add_f32", "approximate"),
        ("global_atomic_max_f64", None),
        ("ds_add_u32", None),
        ("v_cvt_scalef32_sr_pk32_bf6_bf16", "assumed"),
        ("v_fma_f32", None),
        ("v_frexp_exp_i32_f32", None),
        ("s_waitcnt_expcnt", None),
    ],
)
def test_an_instruction_is_exact_or_says_why_not(name: str, kind: str | None) -> None:
    found = inexact(name)
    assert (found and found.kind) == kind


def test_one_sentence_for_each_reason() -> None:
    assert inexact_among(["v_exp_f32_e32", "v_exp_f32_e64", "v_rcp_f32_e32", "v_add_f32_e32"]) == [
        "approximate: transcendental functions have the host's bits (v_exp_f32, v_rcp_f32)"
    ]


def test_the_card_of_an_instruction_says_how_exact_it_is() -> None:
    assert "approximate: transcendental functions" in mnemonic_card("v_exp_f32").text
    assert "exact, by the ISA guide" in mnemonic_card("v_add_f32").text
