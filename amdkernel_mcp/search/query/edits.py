"""How many edits lie between two words, and which of many words are near one.

An edit puts in, takes out or replaces a letter, or swaps two neighbours; no letter is edited twice (optimal string
alignment). A distance costs a few operations on integers for each letter. (Hyyrö, "A Bit-Vector Algorithm for Computing
Levenshtein and Damerau Edit Distances", Nordic Journal of Computing 10, 2003.)
"""

from collections.abc import Iterable, Sequence

_BITS = 192
Lettered = tuple[int, str]
"""A word after its `letters`."""


def letters(word: str) -> int:
    """The letters of a word as bits, a letter's second and third time each with a bit of their own."""
    bits, times = 0, dict.fromkeys(word, 0)
    for letter in word:
        bits |= 1 << (5 * ord(letter) + 37 * times[letter]) % _BITS  # a shared bit only hides a difference
        times[letter] += 1
    return bits


def nearest(word: str, words: Iterable[Lettered], *, length: int, most: int, limit: int) -> Sequence[tuple[str, int]]:
    """The first `limit` of the words at most `most` edits from `word`, with their edits; the nearest first.

    words: all of this `length`; among equals their order stays.
    """
    differ = 2 * most - abs(length - len(word))
    """Letters that may differ: a swap changes none, a replaced letter two, each of the others one."""
    if differ < 0:
        return []
    own, places = letters(word), _places(word)
    possible = (other for theirs, other in words if (own ^ theirs).bit_count() <= differ)
    found = [(other, count) for other in possible if (count := _edits(places, len(word), other)) <= most]
    return sorted(found, key=lambda each: each[1])[:limit]


def edits(word: str, other: str) -> int:
    """The distance of two words."""
    return _edits(_places(word), len(word), other) if word else len(other)


def _places(word: str) -> dict[str, int]:
    """Where each letter stands, as bits."""
    places: dict[str, int] = {}
    for place, letter in enumerate(word):
        places[letter] = places.get(letter, 0) | 1 << place
    return places


def _edits(places: dict[str, int], length: int, other: str) -> int:
    """Column by column of the table of distances, each held as the bits of its steps up, down and along the diagonal.

    The names are those of the article: D0 has a zero difference, VP and VN a step of +1 and -1 down the column, HP and
    HN along the row.
    """
    whole, last = (1 << length) - 1, 1 << (length - 1)
    vp, vn, d0, before, count = whole, 0, 0, 0, length
    for letter in other:
        here = places.get(letter, 0)
        swapped = (((~d0) & here) << 1) & before
        d0 = (((here & vp) + vp) ^ vp) | here | vn | swapped
        hp, hn = vn | ~(d0 | vp), d0 & vp
        count += bool(hp & last) - bool(hn & last)
        hp, hn = hp << 1 | 1, hn << 1
        vp, vn, before = (hn | ~(d0 | hp)) & whole, hp & d0 & whole, here
    return count
