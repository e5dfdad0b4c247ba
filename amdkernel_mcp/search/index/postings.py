"""The inverted index: for each token the passages that hold it, and what it adds to the score of each.

The score is BM25 with weighted columns, as SQLite's FTS5 computes it. But what a token adds to a passage does not
depend on the query, so it is computed once, at the build, and a query adds up numbers: a fifth of the time that FTS5
takes to compute them again, and common words need not be left out to save it.
"""

import math
import sqlite3
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

SCHEMA = """
CREATE TABLE postings (
    token TEXT PRIMARY KEY, documents INTEGER NOT NULL, scale REAL NOT NULL, chunks BLOB NOT NULL, impacts BLOB NOT NULL
) WITHOUT ROWID;
"""
K1, B = 1.2, 0.75  # the constants of FTS5
LEAST_IDF = 1e-6
LEAST_SHARE = 0.3  # of the best score: what is further behind is never moved to the front, and need not be sorted
MANY = 10
_STEPS = 65_535


@dataclass
class PostingsWriter:
    """Collects the tokens of all passages, which are numbered from 1 on."""

    _chunks: dict[str, "array[int]"] = field(default_factory=lambda: defaultdict(lambda: array("I")))
    _frequencies: dict[str, "array[float]"] = field(default_factory=lambda: defaultdict(lambda: array("f")))
    _lengths: "array[int]" = field(default_factory=lambda: array("I", [0]))

    def add(
        self, columns: Iterable[tuple[float, Sequence[str]]], beside: tuple[float, Sequence[str]] = (0.0, ())
    ) -> None:
        """The next passage: (weight, tokens) of each of its columns, and of one that does not count for its length."""
        frequency: dict[str, float] = defaultdict(float)
        counted = [(weight, tokens) for weight, tokens in columns if weight]
        for weight, tokens in (*counted, beside):
            for token in tokens if weight else ():
                frequency[token] += weight
        chunk = len(self._lengths)
        self._lengths.append(sum(len(tokens) for _, tokens in counted))
        for token, times in frequency.items():
            self._chunks[token].append(chunk)
            self._frequencies[token].append(times)

    def write(self, connection: sqlite3.Connection) -> None:
        """Fills the table."""
        passages = len(self._lengths) - 1
        mean = sum(self._lengths) / max(passages, 1)
        long = [K1 * (1 - B + B * length / mean) if mean else K1 for length in self._lengths]
        rows = (self._row(token, passages, long) for token in sorted(self._chunks))
        connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?, ?)", rows)

    def _row(self, token: str, passages: int, long: Sequence[float]) -> tuple[str, int, float, bytes, bytes]:
        chunks = self._chunks[token]
        documents = len(chunks)
        idf = max(math.log((passages - documents + 0.5) / (documents + 0.5)), LEAST_IDF)
        frequencies = self._frequencies[token]
        impacts = [
            idf * times * (K1 + 1) / (times + long[chunk]) for chunk, times in zip(chunks, frequencies, strict=True)
        ]
        scale = max(impacts) / _STEPS
        steps = array("H", (round(impact / scale) for impact in impacts))
        return token, documents, scale, chunks.tobytes(), steps.tobytes()


def documents_with(connection: sqlite3.Connection, token: str) -> int:
    """How many passages hold `token`."""
    row = connection.execute("SELECT documents FROM postings WHERE token = ?", (token,)).fetchone()
    return int(row[0]) if row else 0


def share_of_best(connection: sqlite3.Connection, passages: int, tokens: Sequence[str], passage: int) -> float:
    """How well `passage` answers to `tokens`: 1 if it is the best of all for each of them, 0 if it has none."""
    marks = ",".join("?" * len(tokens))
    rows = connection.execute(f"SELECT token, scale, chunks, impacts FROM postings WHERE token IN ({marks})", tokens)
    reached = possible = 0.0
    known = 0
    for _, scale, packed_chunks, packed_impacts in rows:
        chunks, impacts = array("I", packed_chunks), array("H", packed_impacts)
        at = bisect_left(chunks, passage)
        if at < len(chunks) and chunks[at] == passage:
            reached += scale * impacts[at]
        possible += scale * _STEPS
        known += 1
    # A word that no passage has is as telling as one that a single passage has.
    possible += (len(tokens) - known) * math.log(max(passages, 2)) * (K1 + 1)
    return reached / possible if possible else 0.0


def best_passages(
    connection: sqlite3.Connection,
    passages: int,
    tokens: Mapping[str, float],
    most: int,
    within: Sequence[tuple[int, int]] = (),
) -> dict[int, float]:
    """The `most` best passages for `tokens`, each with its weight, and their scores; of the ranges `within`, if any."""
    scores = [0.0] * (passages + 1)
    marks = ",".join("?" * len(tokens))
    rows = connection.execute(f"SELECT token, scale, chunks, impacts FROM postings WHERE token IN ({marks})", [*tokens])
    for token, scale, chunks, impacts in rows:
        factor = scale * tokens[token]
        for chunk, impact in zip(array("I", chunks), array("H", impacts), strict=True):
            scores[chunk] += factor * impact
    spans = within or [(1, passages)]
    least = 0.0
    if passages > MANY * most:
        least = LEAST_SHARE * max((max(scores[first : last + 1], default=0.0) for first, last in spans), default=0.0)
    found = [
        (score, -chunk)
        for first, last in spans
        for chunk, score in enumerate(scores[first : last + 1], first)
        if score > least
    ]
    found.sort(reverse=True)
    return {-chunk: score for score, chunk in found[:most]}
