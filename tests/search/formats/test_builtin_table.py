"""clang's builtins from its own table."""

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.formats.builtins import parse_builtins

TABLE = """
// A comment.
BUILTIN(__builtin_amdgcn_example_lane, "ii", "nc")
TARGET_BUILTIN(__builtin_amdgcn_example_mma, "V16fV4hV4hV16fIiIi", "nc", "example-insts,wavefrontsize64")
TARGET_BUILTIN(__builtin_amdgcn_other_load, "vv*1v*3IUiWUi", "n", "other-insts")
BUILTIN(__builtin_amdgcn_other_name, "vUicC*.", "n")
BUILTIN(__builtin_amdgcn_other_odd, "vi$", "n")
"""


def test_types_are_written_out() -> None:
    pages = {page.path: page for page in parse_builtins("BuiltinsAMDGPU.def", TABLE)}
    assert set(pages) == {"BuiltinsAMDGPU.def/example", "BuiltinsAMDGPU.def/other"}
    text = {section.heading: section.text for page in pages.values() for section in page.sections}
    assert "int __builtin_amdgcn_example_lane(int);" in text["__builtin_amdgcn_example_lane"]
    mma = text["__builtin_amdgcn_example_mma"]
    arguments = "half x 4, half x 4, float x 16, constant int, constant int"
    assert f"float x 16 __builtin_amdgcn_example_mma({arguments});" in mma
    assert "example-insts,wavefrontsize64" in mma
    load = text["__builtin_amdgcn_other_load"]
    assert "void __builtin_amdgcn_other_load(void global *, void LDS *, constant unsigned int, uint64_t);" in load
    assert "(unsigned int, const char *, ...);" in text["__builtin_amdgcn_other_name"]
    assert "// vi$" in text["__builtin_amdgcn_other_odd"], "a type that cannot be parsed is shown as written"


def test_another_table_is_refused() -> None:
    with pytest.raises(DocumentationError):
        parse_builtins("BuiltinsAMDGPU.inc", "int x;")
