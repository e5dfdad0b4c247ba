"""Ranks passages: BM25 over title, headings and body; the glossary at a lower weight; names as headings; priors."""

from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.docs.index import Index
from amdkernel_mcp.docs.query import ALL_ON, Query, Switches

TITLE_WEIGHT, HEAD_WEIGHT, GIST_WEIGHT, BODY_WEIGHT = 2.0, 4.0, 2.0, 1.0
RELATED_WEIGHT = 0.5
HEADING_BONUS = 0.25
CANDIDATES = 150
COMMON_SHARE = 0.1


@dataclass(frozen=True)
class Weights:
    """Numbers chosen on the development questions; README.md of docs_index says how."""

    related: float = RELATED_WEIGHT
    heading: float = HEADING_BONUS
    repeat: float = 0.9
    fields: tuple[float, float, float, float] = (TITLE_WEIGHT, HEAD_WEIGHT, GIST_WEIGHT, BODY_WEIGHT)


CHOSEN = Weights()


@dataclass(frozen=True)
class Passage:
    """A chunk and its score; higher is better."""

    chunk: int
    section: int
    page: int
    score: float
    twin: int


def rank(
    index: Index,
    query: Query,
    *,
    sources: Sequence[str] = (),
    switches: Switches = ALL_ON,
    weights: Weights = CHOSEN,
) -> list[Passage]:
    """The passages that answer `query` best, best first, one for each section; only of `sources` where named."""
    scores = _bm25(index, query.asked, weights, sources)
    if query.related:
        deep = _bm25(index, query.related, weights, sources)
        for chunk, score in deep.items():
            if chunk in scores:
                scores[chunk] += weights.related * score
            else:
                scores[chunk] = weights.related * score
    if not scores:
        return []
    best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:CANDIDATES]
    rows = index.connection.execute(
        "SELECT chunks.id, section, page, prior, twin FROM chunks"
        " JOIN sections ON sections.id = section JOIN pages ON pages.id = page"
        f" WHERE chunks.id IN ({','.join(map(str, best))})"
    ).fetchall()
    named = _sections_named(index, query) if switches.headings else frozenset()
    found = []
    for chunk, section, page, prior, twin in rows:
        score = scores[chunk] * (prior if switches.priors else 1.0) * (1 + weights.heading * (section in named))
        found.append(Passage(chunk, section, page, score, twin))
    found.sort(key=lambda passage: (-passage.score, passage.chunk))
    return _best_of_each_section(found)


def _bm25(index: Index, tokens: Sequence[str], weights: Weights, sources: Sequence[str]) -> dict[int, float]:
    where = ""
    if sources:
        marks = ",".join("?" * len(sources))
        where = (
            " AND rowid IN (SELECT chunks.id FROM chunks JOIN sections ON sections.id = section"
            f" JOIN pages ON pages.id = page WHERE source IN ({marks}))"
        )
    match = _match(index, tokens)
    if not match:
        return {}
    rows = index.connection.execute(
        f"SELECT rowid, -bm25(passages, ?2, ?3, ?4, ?5) AS score FROM passages WHERE passages MATCH ?1{where}"
        f" ORDER BY score DESC LIMIT {CANDIDATES}",
        [match, *weights.fields, *sources],
    )
    return dict(rows)


def _match(index: Index, tokens: Sequence[str]) -> str:
    """The FTS5 expression for any of `tokens`; empty where none is known.

    Scoring takes FTS5 3 us a row, finding rows next to nothing. A token that stands in every tenth passage therefore
    adds to the score of a passage but does not make it a candidate. `a AND (a OR b OR b)` counts a and b twice each,
    so the order is that of `a OR b`; measured on the development questions, the best 20 stay the same at a third of
    the time.
    """
    total = index.passages
    documents = {token: _documents_with(index, token) for token in tokens}
    known = [token for token in tokens if documents[token]]
    if not known:
        return ""
    rare = [token for token in known if documents[token] <= COMMON_SHARE * total] or [
        min(known, key=documents.__getitem__)
    ]
    common = [token for token in known if token not in rare]
    some = " OR ".join(f'"{token}"' for token in rare)
    if not common:
        return some
    twice = " OR ".join(f'"{token}" OR "{token}"' for token in common)
    return f"({some}) AND ({some} OR {twice})"


def _documents_with(index: Index, token: str) -> int:
    row = index.connection.execute("SELECT documents FROM tokens WHERE token = ?", (token,)).fetchone()
    return int(row[0]) if row else 0


def _sections_named(index: Index, query: Query) -> frozenset[int]:
    marks = ",".join("?" * len(query.names))
    rows = index.connection.execute(f"SELECT section FROM headings WHERE folded IN ({marks})", query.names)
    return frozenset(row[0] for row in rows)


def _best_of_each_section(passages: list[Passage]) -> list[Passage]:
    kept: dict[int, Passage] = {}
    for passage in passages:
        kept.setdefault(passage.twin, passage)
    return list(kept.values())
