"""Reading pages and sections."""

from typing import Any

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.query.search import search
from amdkernel_mcp.search.read import read


def test_what_search_found_can_be_read(index: Index) -> None:
    hit = search(index, "float of padding in a tile").results[0]
    result = read(index, hit.ref)
    assert (result.ref, result.heading, result.url) == (hit.ref, hit.heading, hit.url)
    assert "__shared__ float tile[32][33];" in result.text
    assert result.next_start is None


def test_a_section_comes_with_its_sub_sections_and_a_page_with_all(index: Index) -> None:
    section = read(index, "guide/how-to/lds.rst", section="Avoiding bank conflicts")
    assert "#### nt" not in section.text
    assert "### nt" in section.text
    assert "### Bank widths" in section.text
    page = read(index, "guide/how-to/lds.rst")
    assert page.text.startswith("# Local data share")
    assert [one.heading for one in page.sections] == [
        "Avoiding bank conflicts",
        "Avoiding bank conflicts > nt",
        "Avoiding bank conflicts > Bank widths",
    ]
    assert read(index, page.sections[1].ref).text.endswith("A hint that the data is not read again.")


def test_pieces_joined_are_the_whole(index: Index) -> None:
    whole = read(index, "guide/how-to/lds.rst").text
    start: int | None = 0
    pieces = []
    while start is not None:
        piece = read(index, "guide/how-to/lds.rst", start=start, max_chars=100)
        assert len(piece.text) <= 100
        assert piece.total_chars == len(whole)
        pieces.append(piece.text)
        start = piece.next_start
    assert "".join(pieces) == whole


@pytest.mark.parametrize(
    "ref",
    [
        "guide/how-to/lds.rst",
        "guide/how-to/lds",
        "guide:how-to/lds",
        "https://docs.example.org/guide/how-to/lds.html",
        "https://docs.example.org/guide/how-to/lds.html#bank-conflicts",
    ],
)
def test_a_page_has_several_names(index: Index, ref: str) -> None:
    assert read(index, ref).path == "how-to/lds.rst"


def test_find_keeps_the_rows_that_hold_the_words_under_their_table_head(index: Index) -> None:
    assert (
        read(index, "guide/how-to/lds.rst", find="example9 banks").text
        == "### Bank widths\n| Architecture | Banks |\n| --- |\n| Example9 | 32 banks of 4 bytes |"
    )
    with pytest.raises(DocumentationError):
        read(index, "guide/how-to/lds.rst", find="nowhere")


@pytest.mark.parametrize("ref", ["guide/how-to/ldss.rst", "guide/lds", "lds.rst"])
def test_an_unknown_ref_lists_close_ones(index: Index, ref: str) -> None:
    with pytest.raises(DocumentationError) as caught:
        read(index, ref)
    assert "guide/how-to/lds.rst" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "ref", ["", "#", "/", "nobody/nothing", "x" * 100_000, "\x00", "https://", "guide/../../etc/passwd"]
)
def test_a_ref_to_nothing_is_a_clear_error(index: Index, ref: str) -> None:
    with pytest.raises(DocumentationError) as caught:
        read(index, ref)
    assert caught.value.hint
    assert len(caught.value.message) < 500


def test_an_unknown_section_lists_those_there_are(index: Index) -> None:
    wrongs: list[dict[str, Any]]
    wrongs = [{"ref": "guide/how-to/lds.rst#nope"}, {"ref": "guide/how-to/lds.rst", "section": "nope"}]
    for wrong in wrongs:
        with pytest.raises(DocumentationError) as caught:
            read(index, **wrong)
        assert "Bank widths" in (caught.value.hint or "")


@pytest.mark.parametrize("span", [{"start": -1}, {"start": 10**9}, {"max_chars": 0}, {"max_chars": 10**9}])
def test_a_span_out_of_range_is_refused(index: Index, span: dict[str, Any]) -> None:
    with pytest.raises(DocumentationError):
        read(index, "guide/how-to/lds.rst", **span)


def test_a_default_piece_of_the_largest_page_is_short(rocm_index: Index) -> None:
    result = read(rocm_index, "llvm/AMDGPUUsage.rst")
    assert result.total_chars > 500_000
    assert len(result.model_dump_json()) < 8_000
