"""The sentence that answers, of a passage that is too long."""

from amdkernel_mcp.search.query.sentence import answering

PASSAGE = (
    "The unit is old and has a long history in many books. It was drawn in the year of the first model.\n"
    "A tile of 32 rows has conflicts. Padding each row by one word avoids bank conflicts in LDS.\n"
    "| a | b |\n| bank | 32 |\n"
    "Other things are elsewhere, at great length and without need, as one has seen before in other texts."
)


def test_the_sentence_with_most_of_the_question_s_words_is_kept() -> None:
    shown = answering(PASSAGE, "how to avoid bank conflicts in LDS by padding", 120)
    assert "Padding each row by one word avoids bank conflicts in LDS." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= 120


def test_a_text_that_fits_is_whole() -> None:
    assert answering(f"\n{PASSAGE}\n", "anything", 1000) == PASSAGE


def test_one_long_sentence_is_cut_around_the_words_asked_for() -> None:
    long = f"{'before and ' * 60}the swizzle of the tile {'and after ' * 60}"
    shown = answering(long, "swizzle tile", 100)
    assert "swizzle of the tile" in shown
    assert len(shown) <= 100


def test_any_room_and_any_text_is_kept() -> None:
    for text in ("", "x" * 500, "\n\n", "a. b. c. " * 90, "| a |\n" * 90):
        for room in (10, 60, 200):
            assert len(answering(text, "a swizzle", room)) <= max(room, 10)
