"""LEX, the baseline that documentation search started from, on the passages of an index.

BM25 over title (weight 2), breadcrumb (4) and text (1); CUDA names by HIPIFY's table or their prefix; an unknown word's
nearest token by edit distance is added; a few sources count less. No glossary, no summaries, no vectors.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from fnmatch import fnmatchcase

from amdkernel_mcp.search.index.index import Index, unpack_text
from amdkernel_mcp.search.index.postings import SCHEMA, PostingsWriter, best_passages
from amdkernel_mcp.search.index.tokens import STOP_WORDS, stem, tokens

TITLE, HEAD, TEXT = 2.0, 4.0, 1.0
CANDIDATES = 80
LEAST_LIKENESS = 0.72
PRIORS = {
    "*/release/changelog.md": 0.75,
    "migraphx/*": 0.9,
    "hipify/*": 0.85,
    "llvm/AMDGPU/gfx*": 0.85,
    **{f"{name}/*": 0.95 for name in ("rocblas", "hipblas", "rocfft", "hipsparselt", "miopen", "tensile")},
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CUDA = re.compile(r"^(?:cuda|cu(?=[A-Z])|CU(?=[A-Z_]))(\w+)$")


class Lex:
    """Answers queries with the sections of `index`, best first."""

    def __init__(self, index: Index) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.executescript(SCHEMA)
        self._aliases = dict(index.connection.execute("SELECT cuda, hip FROM aliases"))
        self._chunks: dict[int, tuple[int, float]] = {}
        writer = PostingsWriter()
        rows = index.connection.execute(
            "SELECT chunks.id, sections.id, source, path, title, below, start, finish, text FROM chunks"
            " JOIN sections ON sections.id = section JOIN pages ON pages.id = page ORDER BY chunks.id"
        )
        for chunk, section, source, path, title, below, start, finish, blob in rows:
            self._chunks[chunk] = section, _prior(f"{source}/{path}")
            head = tokens(" ".join(json.loads(below)) or title)
            text = tokens(unpack_text(blob)[start:finish])
            writer.add(((TITLE, tokens(f"{title} {path}")), (HEAD, head), (TEXT, text)))
        writer.write(self._connection)
        known = self._connection.execute(
            "SELECT token, documents FROM postings ORDER BY documents DESC, token"
        ).fetchall()
        self._known = {token for token, _ in known}
        self._candidates = [
            token
            for token, documents in known
            if len(token) > 3 and not token.isdigit() and (documents > 2 or len(token) > 7)
        ]

    def sections(self, query: str) -> list[int]:
        """The numbers of the sections that answer `query`, best first."""
        asked = dict.fromkeys(tokens(" ".join([query, *self._additions(query)])), 1.0)
        found = best_passages(self._connection, len(self._chunks), asked, CANDIDATES)
        weighed = sorted(((-score * self._chunks[chunk][1], chunk) for chunk, score in found.items()))
        return list(dict.fromkeys(self._chunks[chunk][0] for _, chunk in weighed))

    def _additions(self, query: str) -> Iterator[str]:
        from rapidfuzz import process
        from rapidfuzz.distance import DamerauLevenshtein

        for name in (found.strip("_") for found in _IDENTIFIER.findall(query)):
            word = name.lower()
            if word in self._aliases:
                yield self._aliases[word]
                continue
            cuda = _CUDA.match(name)
            if cuda:
                yield f"hip{cuda[1]}"
            if len(word) > 3 and word not in STOP_WORDS and self._known.isdisjoint((word, stem(word))):
                likeness = DamerauLevenshtein.normalized_similarity
                near = process.extractOne(stem(word), self._candidates, scorer=likeness, score_cutoff=LEAST_LIKENESS)
                if near:
                    yield near[0]


def _prior(name: str) -> float:
    return next((factor for pattern, factor in PRIORS.items() if fnmatchcase(name, pattern)), 1.0)
