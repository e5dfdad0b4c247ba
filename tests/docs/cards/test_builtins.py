"""clang's encoded prototypes as declarations."""

import pytest

from amdkernel_mcp.docs.cards.builtins import pages, read_builtins
from amdkernel_mcp.errors import DocumentationError

P = "__builtin_amdgcn_"


@pytest.mark.parametrize(
    ("encoded", "prototype"),
    [
        ("v", "void NAME()"),
        (
            "V16fV4hV4hV16fIiIiIi",
            "float x16 NAME(__fp16 x4, __fp16 x4, float x16, constant int, constant int, constant int)",
        ),
        ("dd*1d", "double NAME(__global double *, double)"),
        ("V2iV2i*3", "int x2 NAME(__local int x2 *)"),
        ("v*4", "__constant void * NAME()"),
        ("WUiUi", "uint64_t NAME(unsigned int)"),
        ("vWiC*1", "void NAME(__global const int64_t *)"),
        ("V4UiQbiiIi", "unsigned int x4 NAME(__amdgpu_buffer_rsrc_t, int, int, constant int)"),
    ],
)
def test_an_encoded_type_is_read_as_clang_writes_it(encoded: str, prototype: str) -> None:
    (one,) = read_builtins(f"{P}x\t{encoded}\tgfx950-insts,wavefrontsize32\n")
    assert one.prototype == prototype.replace("NAME", f"{P}x")
    assert one.features == "gfx950-insts, wavefrontsize32"


def test_small_groups_share_a_page_and_every_builtin_has_a_section() -> None:
    names = ["ds_a", "ds_b", "ds_c", "lonely", "mfma_x"]
    builtins = read_builtins("".join(f"{P}{name}\tv\t\n" for name in names))
    made = dict(pages(builtins))
    assert set(made) == {"ds.md", "misc.md"}
    text = "".join(made.values())
    assert all(f"## {P}{name}\n" in text for name in names)
    assert "none (every amdgcn target has it)" in text


@pytest.mark.parametrize("table", ["x", "name\tv\t", f"{P}x\tv"])
def test_another_table_is_refused(table: str) -> None:
    with pytest.raises(DocumentationError):
        read_builtins(table)
