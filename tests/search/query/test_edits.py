"""Distances are those of the table that defines them, and no near word is left out."""

from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.search.query.edits import edits, letters, nearest

WORDS = st.text("abc_é1", max_size=12)


def by_the_table(word: str, other: str) -> int:
    """Optimal string alignment, cell by cell."""
    rows = [[max(i, j) if not (i and j) else 0 for j in range(len(other) + 1)] for i in range(len(word) + 1)]
    for i in range(1, len(word) + 1):
        for j in range(1, len(other) + 1):
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (word[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and word[i - 1] == other[j - 2] and word[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@given(WORDS, WORDS)
def test_a_distance_is_that_of_the_table(word: str, other: str) -> None:
    assert edits(word, other) == by_the_table(word, other)


def test_long_words_are_compared_whole() -> None:
    word = "__builtin_amdgcn_mfma_f32_32x32x8f16_with_a_name_of_more_than_64_letters_in_it"
    swapped = word.replace("letters", "lettres")
    assert edits(word, swapped) == 1
    assert edits(word, swapped[:-3]) == 4


@given(WORDS.filter(bool), st.lists(WORDS, unique=True), st.integers(0, 5))
def test_the_nearest_words_of_a_length_come_first_and_none_is_missing(word: str, others: list[str], most: int) -> None:
    for length in range(13):
        known = [other for other in others if len(other) == length]
        near = [(other, by_the_table(word, other)) for other in known if by_the_table(word, other) <= most]
        found = nearest(word, [(letters(one), one) for one in known], length=length, most=most, limit=3)
        assert found == sorted(near, key=lambda each: each[1])[:3]
