"""Corrects the words of a query by those of the index: words it does not know, and rare ones that look like slips."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.index.postings import documents_with
from amdkernel_mcp.search.index.tokens import stem
from amdkernel_mcp.search.query.edits import Letters, letters_of, nearest_of

LEAST_LIKENESS = 0.72
_SHORTEST = 4
_COMMON_DOCUMENTS = 3
_LONG_WORD = 8
_RARE_DOCUMENTS = 6  # of a plain word; names are rarer, and misspelt more often
_RARE_NAME_DOCUMENTS = 12
_TIMES_AS_COMMON = 30
_MOST_ALIKE = 50
_DIGITS = re.compile(r"\d+")
_LIKE_A_NAME = re.compile(r"\w_\w|[a-z][A-Z]")

Rank = tuple[int, int, int]
"""(edits, how unlikely a slip of that kind is, -number of passages); the least is the best."""


def is_known(index: Index, word: str) -> bool:
    """Whether the index holds the word; or, if it is a plain word, another of the same stem."""
    folded = word.lower()
    if index.connection.execute("SELECT 1 FROM words WHERE folded = ?", (folded,)).fetchone():
        return True
    token = stem(folded)
    return (token == folded or not _LIKE_A_NAME.search(word)) and documents_with(index.connection, token) > 0


def correction(index: Index, word: str) -> str | None:
    """What `word` means; None where it means itself or nothing is like it."""
    if is_known(index, word):
        return likely_slip(index, word)
    meant = nearest_word(index, word.lower())
    if meant is None or (_is_plain(word) and not _begins_like(word, meant)):
        return None
    return likely_slip(index, meant) or meant


def _is_plain(word: str) -> bool:
    return word.islower() and word.isalpha()


def _begins_like(word: str, meant: str) -> bool:
    """The first letter of a plain word is hardly ever wrong, though it may be swapped with the second."""
    return meant[0].lower() in word[:2]


def likely_slip(index: Index, word: str) -> str | None:
    """What a word means that is known, but is more likely another one with a slip: documents have typos too."""
    if len(word) < _SHORTEST + 1:
        return None
    row = index.connection.execute("SELECT documents FROM words WHERE folded = ?", (word.lower(),)).fetchone()
    documents = row[0] if row else 0  # none where only another word of its stem is known
    meant = _documented_name(index, word.lower()) if documents <= _RARE_NAME_DOCUMENTS else None
    if meant or documents > _RARE_DOCUMENTS or not _is_plain(word):
        return meant
    return _common_word(index, word, documents)


def _common_word(index: Index, word: str, documents: int) -> str | None:
    """The plain word one edit away that is far more common."""
    meant = nearest_word(index, word, least=_one_edit(word), other_than=word)
    if not meant or not meant.isalpha() or not _begins_like(word, meant) or stem(meant.lower()) == stem(word):
        return None
    common = index.connection.execute("SELECT documents FROM words WHERE folded = ?", (meant.lower(),)).fetchone()[0]
    return meant if common >= _TIMES_AS_COMMON * documents else None


def _documented_name(index: Index, word: str) -> str | None:
    """The one name with an entry of its own that is an edit away from a word without; other digits are another name."""
    documented = _documented_names(index)
    # Most words are near no name, which is seen without the letters of all words: a tenth of a second at a shell.
    if word in documented or not any(within_one_edit(word, name) for name in documented):
        return None
    near = sorted(
        (rank[:2], name)
        for name, rank in _alike(index, word, _one_edit(word))
        if name in documented and _DIGITS.findall(name) == _DIGITS.findall(word)
    )
    ambiguous = len(near) > 1 and near[0][0] == near[1][0]
    return _as_written(index, near[0][1]) if near and not ambiguous else None


def within_one_edit(word: str, name: str) -> bool:
    """Whether one letter more, fewer or other, or two swapped, make `name` of `word`."""
    if abs(len(word) - len(name)) > 1:
        return False
    short, long = sorted((word, name), key=len)
    begin = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    if len(short) < len(long):
        return short[begin:] == long[begin + 1 :]
    return word[begin + 1 :] == name[begin + 1 :] or (
        word[begin : begin + 2] == name[begin : begin + 2][::-1] and word[begin + 2 :] == name[begin + 2 :]
    )


def nearest_word(index: Index, word: str, *, least: float = LEAST_LIKENESS, other_than: str = "") -> str | None:
    """The known word most like the lower-case `word`, as it is mostly spelled; None where nothing is like it.

    Likeness is 1 - edit distance / longer length, adjacent letters swapped counting as one edit. Among equals the
    likelier slip wins, then the more frequent word.
    """
    if len(word) < _SHORTEST or word.isdigit():
        return None
    best = min(((rank, one) for one, rank in _alike(index, word, least) if one != other_than), default=None)
    return _as_written(index, best[1]) if best else None


def _alike(index: Index, word: str, least: float) -> Iterator[tuple[str, Rank]]:
    """The known words at least so like `word` that are nearest to it among those of their length, and their ranks."""
    reach = int(len(word) * (1 - least) / least) + 1
    nearest: int | None = None
    for length in range(max(_SHORTEST, len(word) - reach), len(word) + reach + 1):
        known = _words_of_length(index, length)
        most = int(max(length, len(word)) * (1 - least))
        cutoff = most if nearest is None else min(most, nearest)
        for one, edits in nearest_of(word, known.letters, cutoff)[:_MOST_ALIKE]:
            if one != word:
                nearest = edits if nearest is None else min(nearest, edits)
            yield one, (edits, _unlikeliness(word, one), -known.documents[one])


def _unlikeliness(word: str, meant: str) -> int:
    """Of the slip: 0 a doubled letter, 1 two swapped, 2 one too many or too few, 3 a wrong one, 4 a wrong digit."""
    if _DIGITS.findall(word) != _DIGITS.findall(meant):
        return 4
    if len(word) == len(meant):
        return 1 if sorted(word) == sorted(meant) else 3
    short, long = sorted((word, meant), key=len)
    at = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    return 0 if at and long[at] == long[at - 1] else 2


def _one_edit(word: str) -> float:
    """The likeness of words that are one edit apart."""
    return 1 - 1.5 / (len(word) + 1)


def _as_written(index: Index, folded: str) -> str:
    return str(index.connection.execute("SELECT word FROM words WHERE folded = ?", (folded,)).fetchone()[0])


def _documented_names(index: Index) -> set[str]:
    """The names of code that are headings; read once. A heading of one plain word is left out."""
    names: set[str] | None = index.memory.get("documented_names")
    if names is None:
        names = index.memory["documented_names"] = {
            folded
            for folded, word in index.connection.execute(
                "SELECT folded, word FROM words WHERE folded IN (SELECT folded FROM headings)"
            )
            if _LIKE_A_NAME.search(word)
        }
    return names


class _Words(NamedTuple):
    """Words of one length: the passages that hold each, and their letters in the same order."""

    documents: dict[str, int]
    letters: Letters


def _words_of_length(index: Index, length: int) -> _Words:
    """Candidates of this length; read once."""
    words: dict[int, _Words] | None = index.memory.get("words_by_length")
    if words is None:
        tables: dict[int, dict[str, int]] = {}
        rows: Iterable[tuple[str, int]] = index.connection.execute(
            "SELECT folded, documents FROM words WHERE documents >= ? OR length(folded) >= ?"
            " OR folded IN (SELECT folded FROM headings)",
            (_COMMON_DOCUMENTS, _LONG_WORD),
        )
        for folded, documents in rows:
            tables.setdefault(len(folded), {})[folded] = documents
        words = index.memory["words_by_length"] = {
            length: _Words(documents, letters_of(list(documents), length)) for length, documents in tables.items()
        }
    return words.get(length) or _Words({}, letters_of([], length))
