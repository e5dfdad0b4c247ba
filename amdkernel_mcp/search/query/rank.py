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
from amdkernel_mcp.search.versions import Cited, rocm_version, version_in

CANDIDATES = 150
_VERSION_OF_SOURCE = re.compile(r"-\d+$")


@dataclass(frozen=True)
class Passage:
    """A chunk and its score; higher is better."""

    chunk: int
    section: int
    page: int
    score: float
    versions: tuple[int, ...] = ()
    """Sections that are the same entry in other versions of its source."""


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
        "SELECT chunks.id, section, page, twin, prior, gpus, version, source, url, api, below FROM chunks"
        " JOIN sections ON sections.id = section JOIN pages ON pages.id = page JOIN sources ON sources.name = source"
        f" WHERE chunks.id IN ({','.join(map(str, scores))})"
    ).fetchall()
    named = _sections_named(index, query) if switches.headings else frozenset()
    asked_gpus = families_in(filters.arch or query.text) if switches.gpus else frozenset()
    found = []
    for chunk, section, page, twin, prior, gpus, version, source, url, api, below in rows:
        score = scores[chunk] * (prior if switches.priors else 1.0) * (1 + weights.heading * (section in named))
        cited = Cited(source, version, url)
        score *= _fits_gpu(gpus, asked_gpus, weights) * _fits_version(cited, filters.rocm_version, weights)
        entry = entry_of(source, below) if api and switches.versions else None
        found.append(_Candidate(score, chunk, section, page, twin, entry, version_in(version) or (0, 0), source))
    if switches.embeddings:
        _add_similarity(index, query, found, weights.embeddings)
    return _best_of_each(found, twins=switches.twins, newest=not filters.rocm_version)


@dataclass
class _Candidate:
    """`twin` is the same for sections that say the same, `entry` for one name in versions of one source."""

    score: float
    chunk: int
    section: int
    page: int
    twin: int
    entry: tuple[str, str] | None = None
    version: tuple[int, int] = (0, 0)
    source: str = ""


def entry_of(source: str, below: str) -> tuple[str, str]:
    """What an entry is in every version of its source: `hip-api-10` is a version of `hip-api`."""
    return _VERSION_OF_SOURCE.sub("", source), below.lower()


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


def _best_of_each(candidates: list[_Candidate], *, twins: bool, newest: bool) -> list[Passage]:
    """The best passage of each section, best first; with `twins` of all sections that say the same.

    Versions of one entry take one place, that of the best of them: with `newest` the newest version is shown.
    """
    kept: dict[int, _Candidate] = {}
    for one in sorted(candidates, key=lambda one: (-one.score, one.chunk)):
        kept.setdefault(one.twin if twins else one.section, one)
    placed: dict[object, list[_Candidate]] = {}
    for one in kept.values():
        versions = placed.setdefault(one.entry or one.section, [])
        if any(other.source == one.source for other in versions):
            versions = placed.setdefault(one.section, [])  # an overload
        versions.append(one)
    passages = []
    for same in placed.values():
        score = same[0].score
        if newest:
            same.sort(key=lambda one: one.version, reverse=True)
        shown, others = same[0], tuple(one.section for one in same[1:])
        passages.append(Passage(shown.chunk, shown.section, shown.page, score, others))
    return passages


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
