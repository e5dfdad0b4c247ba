"""Corrects the unknown words of a query by the words of the index."""

from collections.abc import Iterable

from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.index.postings import documents_with
from amdkernel_mcp.search.index.tokens import stem

LEAST_LIKENESS = 0.72
_SHORTEST = 4
_COMMON_DOCUMENTS = 3
_LONG_WORD = 8
_RARE_DOCUMENTS = 6
_TIMES_AS_COMMON = 30


def is_known(index: Index, word: str) -> bool:
    """Whether the index holds the lower-case `word`, or another word of the same stem."""
    if index.connection.execute("SELECT 1 FROM words WHERE folded = ?", (word,)).fetchone():
        return True
    return documents_with(index.connection, stem(word)) > 0


def likely_slip(index: Index, word: str) -> str | None:
    """The common word one edit away from a plain word that few passages hold: documents have typos too."""
    if len(word) < _SHORTEST + 1 or not word.islower() or not word.isalpha():
        return None
    row = index.connection.execute("SELECT documents FROM words WHERE folded = ?", (word,)).fetchone()
    if row is None or row[0] > _RARE_DOCUMENTS:
        return None
    meant = nearest_word(index, word, least=1 - 1.5 / (len(word) + 1), other_than=word)
    if meant is None or not meant.isalpha() or stem(meant.lower()) == stem(word):
        return None
    common = index.connection.execute("SELECT documents FROM words WHERE folded = ?", (meant.lower(),)).fetchone()[0]
    return meant if common >= _TIMES_AS_COMMON * row[0] else None


def nearest_word(index: Index, word: str, *, least: float = LEAST_LIKENESS, other_than: str = "") -> str | None:
    """The known word most like the lower-case `word`, as it is mostly spelled; None where nothing is like it.

    Likeness is 1 - edit distance / longer length, adjacent letters swapped counting as one edit. Among equals the
    more frequent word wins.
    """
    if len(word) < _SHORTEST or word.isdigit():
        return None
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    reach = int(len(word) * (1 - least) / least) + 1
    best: tuple[float, int, str] | None = None
    for length in range(max(_SHORTEST, len(word) - reach), len(word) + reach + 1):
        known = _words_of_length(index, length)
        scored = process.extract(
            word, known.keys(), scorer=OSA.normalized_similarity, score_cutoff=best[0] if best else least, limit=20
        )
        for candidate, likeness, _ in scored:
            ranked = (likeness, known[candidate], candidate)
            if candidate == other_than:
                continue
            if best is None or ranked[:2] > best[:2]:
                best = ranked
    if best is None:
        return None
    row = index.connection.execute("SELECT word FROM words WHERE folded = ?", (best[2],)).fetchone()
    return str(row[0])


def _words_of_length(index: Index, length: int) -> dict[str, int]:
    """Candidates of this length with the number of passages that hold them; read once."""
    tables: dict[int, dict[str, int]] | None = index.memory.get("words_by_length")
    if tables is None:
        tables = {}
        rows: Iterable[tuple[str, int]] = index.connection.execute(
            "SELECT folded, documents FROM words WHERE documents >= ? OR length(folded) >= ?",
            (_COMMON_DOCUMENTS, _LONG_WORD),
        )
        for folded, documents in rows:
            tables.setdefault(len(folded), {})[folded] = documents
        index.memory["words_by_length"] = tables
    return tables.get(length, {})
