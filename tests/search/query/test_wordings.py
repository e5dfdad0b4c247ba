"""A question in several wordings: their ranks are fused, and what each of them added is reported."""

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.query.evaluate import Gold, Question, evaluate
from amdkernel_mcp.search.query.rank import Passage
from amdkernel_mcp.search.query.search import find, fuse, search

BANKS = "which lanes wait for each other in a bank"


def ranking(*sections: int) -> list[Passage]:
    """Passages of these sections, best first."""
    return [Passage(chunk=10 * one, section=one, page=1, score=1.0) for one in sections]


def sections(fused: list[tuple[int, Passage]]) -> list[int]:
    """What was found, best first."""
    return [passage.section for _, passage in fused]


def test_a_section_that_all_wordings_find_comes_before_one_that_a_single_wording_puts_first() -> None:
    assert sections(fuse([ranking(1, 2), ranking(3, 2), ranking(4, 2)]))[0] == 2


def test_a_section_is_quoted_for_the_wording_that_ranks_it_highest() -> None:
    quoted = {passage.section: wording for wording, passage in fuse([ranking(1, 2), ranking(2)])}
    assert quoted == {1: 0, 2: 1}


def test_equal_ranks_keep_the_order_of_the_wordings() -> None:
    assert sections(fuse([ranking(1, 2), ranking(3, 4)])) == [1, 3, 2, 4]


def test_one_wording_is_ranked_as_without_fusion() -> None:
    assert [passage for _, passage in fuse([ranking(3, 1, 2)])] == ranking(3, 1, 2)


def test_other_words_find_what_the_question_does_not(index: Index) -> None:
    alone = [hit.heading for hit in search(index, "qqqqqqqqqqqq").results]
    with_others = search(index, "qqqqqqqqqqqq", also=[BANKS])
    assert not alone
    assert with_others.query == "qqqqqqqqqqqq"
    assert with_others.results[0].heading == "Local data share > Avoiding bank conflicts"
    assert "wait for each other" in with_others.results[0].snippet, "quoted for the wording that found it"


def test_corrections_of_every_wording_are_reported(index: Index) -> None:
    applied = search(index, "exMemcpyAsnc", also=["exMaloc managed"]).applied
    assert any("exMemcpyAsync" in one for one in applied)
    assert any("exMallocManaged" in one for one in applied)


def test_a_wording_that_is_given_twice_counts_once(index: Index) -> None:
    once, twice = find(index, BANKS, limit=5), find(index, BANKS, also=[BANKS], limit=5)
    assert once == twice


def test_more_than_four_wordings_and_one_without_words_are_refused(index: Index) -> None:
    with pytest.raises(DocumentationError, match="4 other wordings"):
        search(index, BANKS, also=["a bank", "b bank", "c bank", "d bank"])
    with pytest.raises(DocumentationError, match="no word"):
        search(index, BANKS, also=["?!"])


def test_an_evaluation_asks_as_many_wordings_as_it_is_told(index: Index) -> None:
    gold = [Gold(source="guide", path="how-to/lds.rst", heading="Avoiding bank conflicts")]
    asked = [Question(id="a", query="qqqqqqqqqqqq", also=[BANKS, "memory"], gold=gold)]
    assert evaluate(index, asked).first["a"] == 0
    assert evaluate(index, asked, wordings=2).first["a"] == 1
