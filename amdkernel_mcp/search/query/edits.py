"""Edit distances of one word to thousands of words of one length, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Letters: TypeAlias = "NDArray[np.uint32]"
"""(words, length): the code points of words of one length."""


def letters_of(words: Sequence[str], length: int) -> Letters:
    """The letters of `words`, each of this length."""
    import numpy as np  # 0.1 s, which a query without slips spares

    if not words:
        return np.empty((0, length), np.uint32)
    return np.array(words, dtype=f"<U{length}").view(np.uint32).reshape(len(words), length)


def nearest_of(word: str, letters: Letters, most: int) -> list[tuple[str, int]]:
    """The words at most so many edits from `word` and these edits: the nearest first, equals in their order."""
    import numpy as np

    edits = distances(word, letters)
    order = np.argsort(edits, kind="stable")
    return [("".join(map(chr, letters[at])), int(edits[at])) for at in order[: np.count_nonzero(edits <= most)]]


def distances(word: str, letters: Letters) -> NDArray[np.uint16]:
    """(words,): the edits from `word` to each, adjacent letters swapped counting as one and no letter edited twice.

    The optimal string alignment distance: one row of the table for each letter of `word`, one column for each of the
    others, and in each cell a number for each word.
    """
    import numpy as np

    count, length = letters.shape
    columns = np.ascontiguousarray(letters.T)
    codes = [ord(letter) for letter in word]
    before: NDArray[np.uint16] = np.zeros((length + 1, count), np.uint16)
    last = np.repeat(np.arange(length + 1, dtype=np.uint16)[:, None], count, axis=1)
    for row, code in enumerate(codes):
        same = columns == code
        now = np.empty_like(last)
        now[0] = row + 1
        replaced = last[:-1] + ~same
        for column in range(length):
            now[column + 1] = np.minimum(np.minimum(last[column + 1], now[column]) + 1, replaced[column])
            if row and column:
                swapped = same[column - 1] & (columns[column] == codes[row - 1])
                np.minimum(now[column + 1], before[column - 1] + 1, out=now[column + 1], where=swapped)
        before, last = last, now
    return last[length]
