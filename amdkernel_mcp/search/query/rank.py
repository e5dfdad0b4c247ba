"""Ranks sections: BM25 over their columns, the glossary at a lower weight, names as headings, priors, and filters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.search.index.embeddings import similarity
from amdkernel_mcp.search.index.families import families_in
from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.index.postings import best_passages
from amdkernel_mcp.search.index.tokens import words
from amdkernel_mcp.search.index.weights import Weights, chosen_weights
from amdkernel_mcp.search.query.filters import ANYTHING, SearchFilters
from amdkernel_mcp.search.query.query import ALL_ON, Query, Switches
from amdkernel_mcp.search.versions import Cited, rocm_version

CANDIDATES = 150


@dataclass(frozen=True)
class Passage:
    """A chunk and its score; higher is better."""

    chunk: int
    section: int
    page: int
    score: float


def rank(
    index: Index,
    query: Query,
    *,
    filters: SearchFilters = ANYTHING,
    switches: Switches = ALL_ON,
    weights: Weights | None = None,
) -> list[Passage]:
    """The passages that answer `query` best, best first, one for each section that says something of its own."""
    weights = weights or chosen_weights()
    tokens = dict.fromkeys(query.related, weights.related) | dict.fromkeys(query.asked, 1.0)
    within = _ranges(index, filters.sources)
    scores = best_passages(index.connection, index.passages, tokens, CANDIDATES, within)
    if not scores:
        return []
    rows = index.connection.execute(
        "SELECT chunks.id, section, page, twin, prior, gpus, version, source, url FROM chunks"
        " JOIN sections ON sections.id = section JOIN pages ON pages.id = page JOIN sources ON sources.name = source"
        f" WHERE chunks.id IN ({','.join(map(str, scores))})"
    ).fetchall()
    named = _sections_named(index, query) if switches.headings else frozenset()
    asked_gpus = families_in(filters.arch or query.text) if switches.gpus else frozenset()
    found = []
    for chunk, section, page, twin, prior, gpus, version, source, url in rows:
        score = scores[chunk] * (prior if switches.priors else 1.0) * (1 + weights.heading * (section in named))
        score *= _fits_gpu(gpus, asked_gpus, weights) * _fits_version(
            Cited(source, version, url), filters.rocm_version, weights
        )
        found.append(_Candidate(score, chunk, section, page, twin))
    if switches.embeddings:
        _add_similarity(index, query, found, weights.embeddings)
    return _best_of_each(found, twins=switches.twins)


@dataclass
class _Candidate:
    """`twin` is the same for sections that say the same."""

    score: float
    chunk: int
    section: int
    page: int
    twin: int


def _add_similarity(index: Index, query: Query, found: Sequence[_Candidate], share: float) -> None:
    """Replaces a share of each score by the similarity of section and question, in an index with vectors."""
    near = similarity(index.connection, words(query.text), {one.section for one in found})
    if near is None:
        return
    best = max(one.score for one in found)
    for one in found:
        one.score = (1 - share) * one.score + share * best * near.get(one.section, 0.0)


def _fits_gpu(gpus: str, asked: frozenset[str], weights: Weights) -> float:
    """A page about one GPU counts less for a query about another GPU; one about no GPU counts in full."""
    if not gpus or not asked:
        return 1.0
    return 1 + weights.same_gpu if asked & set(gpus.split()) else weights.other_gpu


def _fits_version(page: Cited, asked: str, weights: Weights) -> float:
    """A source of another ROCm version counts less; one without a version, or with LLVM's, counts in full."""
    version = rocm_version(page) if asked else None
    wanted = tuple(int(part) for part in re.findall(r"\d+", asked)[:2])
    return 1.0 if version is None or version[: len(wanted)] == wanted else weights.other_version


def _best_of_each(candidates: list[_Candidate], *, twins: bool) -> list[Passage]:
    """The best passage of each section, best first; with `twins` of all sections that say the same."""
    kept: dict[int, _Candidate] = {}
    for one in sorted(candidates, key=lambda one: (-one.score, one.chunk)):
        kept.setdefault(one.twin if twins else one.section, one)
    return [Passage(one.chunk, one.section, one.page, one.score) for one in kept.values()]


def _ranges(index: Index, sources: Sequence[str]) -> list[tuple[int, int]]:
    """The passages of each of `sources`, first and last: a source is written in one go."""
    rows = index.connection.execute(
        "SELECT min(chunks.id), max(chunks.id) FROM chunks JOIN sections ON sections.id = section"
        f" JOIN pages ON pages.id = page WHERE source IN ({','.join('?' * len(sources))}) GROUP BY source",
        sources,
    )
    return [(first, last) for first, last in rows] if sources else []


def _sections_named(index: Index, query: Query) -> frozenset[int]:
    marks = ",".join("?" * len(query.names))
    rows = index.connection.execute(f"SELECT section FROM headings WHERE folded IN ({marks})", query.names)
    return frozenset(row[0] for row in rows)
