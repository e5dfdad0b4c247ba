"""How text becomes tokens, and sections become chunks."""

import pytest

from amdkernel_mcp.search.index.chunk import PACKED_CHARS, WHOLE_CHARS, chunks_of
from amdkernel_mcp.search.index.tokens import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hipStreamBeginCapture", {"hip", "stream", "begin", "captur"}),
        ("ds_read_b128", {"ds_read_b128", "ds", "read", "b128"}),
        ("rocprofiler-sdk", {"rocprofiler-sdk", "sdk"}),
        ("v_mfma_f32_32x32x8_f16", {"32x32x8", "mfma", "f16"}),
        ("__builtin_amdgcn_mfma_f32_32x32x8f16", {"32x32x8", "f16", "builtin"}),
        ("the of to", set()),
        ("", set()),
    ],
)
def test_names_are_found_whole_and_by_their_parts(text: str, expected: set[str]) -> None:
    assert expected <= set(tokens(text))
    assert bool(expected) == bool(tokens(text))


def test_a_short_section_is_one_chunk_and_a_long_one_loses_nothing() -> None:
    assert len(chunks_of("x" * WHOLE_CHARS)) == 1
    text = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(40))
    cut = chunks_of(text)
    assert "".join(text[one.start : one.end] for one in cut) == text
    assert max(one.end - one.start for one in cut) <= PACKED_CHARS


def test_a_long_table_is_cut_between_rows_and_each_part_knows_its_head() -> None:
    text = "|CUDA|HIP|\n|:--|:--|\n" + "\n".join(f"|`cudaName{n}`|`hipName{n}`|" for n in range(300))
    cut = chunks_of(text)
    assert len(cut) > 3
    assert all(text[one.start] == "|" for one in cut), "a part begins at the start of a row"
    assert all("CUDA" in one.header for one in cut[1:])


def test_text_without_any_break_is_cut_by_length() -> None:
    cut = chunks_of("x" * 10_000)
    assert sum(one.end - one.start for one in cut) == 10_000
    assert max(one.end - one.start for one in cut) <= PACKED_CHARS


def test_rows_that_go_on_in_another_chunk_know_the_head_of_their_table() -> None:
    rows = "\n\n".join(f"    register{n}  meaning of register {n} in some more words" for n in range(120))
    text = f"    Register  Meaning\n| --- |\n{rows}\n\nAfter the table plain words follow, and they belong to no table."
    chunks = chunks_of(text)
    assert len(chunks) > 3
    assert chunks[0].header == ""
    assert {chunk.header for chunk in chunks[1:-1]} == {"    Register  Meaning\n| --- |"}
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text
