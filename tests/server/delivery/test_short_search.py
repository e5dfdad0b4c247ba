"""A search in 3 KB: what is kept, and in what order the rest is left out."""

import pytest

from amdkernel_mcp.results.documentation import Card, Hit, LessonHit, SearchResult
from amdkernel_mcp.server.delivery.short_search import SEARCH_BYTES, short_search
from amdkernel_mcp.server.delivery.truncate import size

FILLER = "This sentence is about nothing that anybody asked for, and it is long enough to fill the room. "
ANSWER = "Padding each row by one word avoids bank conflicts."
TEXT = f"{FILLER * 4}{ANSWER} {FILLER * 4}"
QUERY = "how does padding avoid bank conflicts"


def hit(rank: int, snippet: str = TEXT) -> Hit:
    return Hit(
        rank=rank, title="A page about tiles", heading="A page about tiles > Conflicts > Padding", source="guide",
        path="how-to/tiles-and-their-conflicts.rst", url="https://docs.example/" + "long/" * 25, version="7.2.4",
        snippet=snippet, score=1.0, ref="guide/how-to/tiles-and-their-conflicts.rst#padding-of-rows",
    )  # fmt: skip


def card(name: str) -> Card:
    return Card(ref=f"guide:{name}", kind="guide", name=name, title="A guide", text=f"{FILLER}\n" * 20, origin="ours")


LESSON = LessonHit(
    ref="attempt:1", problem="p", kind="note", verdict="correct", created="2026-11-27", text="What was learnt. " * 60
)


@pytest.mark.parametrize(
    "found",
    [
        SearchResult(query=QUERY, results=[hit(rank) for rank in range(1, 6)]),
        SearchResult(query=QUERY, exact=[card("a")], results=[hit(rank) for rank in range(1, 6)]),
        SearchResult(
            query=QUERY, exact=[card("a"), card("b"), card("c")], results=[hit(1), hit(2)], lessons=[LESSON] * 3
        ),
    ],
    ids=["five results", "a card", "cards and lessons"],
)
def test_a_usual_answer_fits_and_has_the_sentence_that_answers(found: SearchResult) -> None:
    short = short_search(found)
    assert size(short) <= SEARCH_BYTES
    assert ANSWER in short.results[0].snippet
    assert short.results[0].ref == found.results[0].ref
    assert [one.ref for one in short.exact] == [one.ref for one in found.exact]
    assert all(f"read_doc('{one.ref}')" in one.text for one in short.exact)


def test_what_fits_is_left_as_it_is() -> None:
    found = SearchResult(query=QUERY, results=[hit(1)])
    assert short_search(found) == found


def test_results_that_were_left_out_are_counted() -> None:
    short = short_search(SearchResult(query=QUERY, exact=[card("a"), card("b")], results=[hit(n) for n in range(1, 6)]))
    kept = len(short.results)
    assert kept < 5
    assert f"left out: {5 - kept} of 5 results" in (short.note or "")


def test_who_asks_for_more_results_gets_more_room() -> None:
    short = short_search(SearchResult(query=QUERY, results=[hit(rank) for rank in range(1, 11)]))
    assert len(short.results) == 10
    assert size(short) <= SEARCH_BYTES + 5 * 500


def test_the_line_of_other_versions_stays() -> None:
    other = "also in HIP 7.2.4: hip-api/page.md#name"
    short = short_search(
        SearchResult(query=QUERY, results=[hit(1, f"{TEXT}\n{other}"), *(hit(n) for n in range(2, 6))])
    )
    assert short.results[0].snippet.endswith(other)
