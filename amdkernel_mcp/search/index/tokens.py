"""Text to index tokens, the same for documents and queries: words, stems, and the pieces of identifiers.

`hipStreamBeginCapture` gives `hipstreambegincaptur hip stream begin captur`; `ds_read_b128` gives itself, `ds`, `read`,
`128` and `b128`; `v_mfma_f32_32x32x8_f16` gives `32x32x8` too, as does the builtin that ends in `32x32x8f16`.
"""

import re
from collections.abc import Iterator

import Stemmer

_WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SHAPE = re.compile(r"(\d+(?:x\d+)+)([a-z]+\d+)?$")
_LONGEST_WORD_CHARS = 80

_STOP_WORD_LIST = (
    "a an and any are as at be been by can could did do does for from get had has have how i if in into is it its "
    "me my no not of on or our out some than that the their then there these they this those to us use used using "
    "vs was we were what when where which while who why will with without would should you your about am"
)
STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def stem(word: str) -> str:
    """The Porter2 stem of a lower-case word; itself where it holds anything but letters."""
    return str(_STEMMER.stemWord(word)) if word.isascii() and word.isalpha() else word


def words(text: str) -> Iterator[str]:
    """The words of `text` as they stand: letters, digits and underscores, hyphenated words whole."""
    for found in _WORD.finditer(text):
        if len(found[0]) <= _LONGEST_WORD_CHARS:
            yield found[0]


def pieces(word: str) -> list[str]:
    """A word's parts between hyphens, without underscores at their ends."""
    return [piece for part in word.split("-") if (piece := part.strip("_"))]


def tokens_of_word(word: str) -> tuple[str, ...]:
    """All index tokens of one word; none for a stop word."""
    known = _CACHE.get(word)
    if known is None:
        if len(_CACHE) > 300_000:
            _CACHE.clear()
        known = _CACHE[word] = tuple(_tokens(word))
    return known


def tokens(text: str) -> list[str]:
    """All index tokens of `text`, in order, repeats kept."""
    made: list[str] = []
    for word in words(text):
        made += tokens_of_word(word)
    return made


def _tokens(word: str) -> Iterator[str]:
    if "-" in word:
        yield word.lower().strip("_-")
    for piece in pieces(word):
        whole = piece.lower()
        if whole in STOP_WORDS:
            continue
        yield stem(whole)
        for part in _parts(piece):
            part = part.lower()
            if len(part) > 1 and part not in STOP_WORDS and part != whole:
                yield stem(part)


def _parts(piece: str) -> Iterator[str]:
    between = [part for part in piece.split("_") if part]
    for part in between:
        camel = _PIECE.findall(part)
        shape = _SHAPE.match(part.lower())
        if shape:
            yield from (one for one in shape.groups() if one)
        elif len(camel) > 1:
            yield from camel
        if len(between) > 1:
            yield part


_STEMMER = Stemmer.Stemmer("english")
_CACHE: dict[str, tuple[str, ...]] = {}
