"""Searches the documentation: the sections that answer a query best, each with the lines that matched."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import QUOTED, harmless, visible
from amdkernel_mcp.results.documentation import Card, Hit, SearchResult, SectionRef
from amdkernel_mcp.search.index.families import families_in
from amdkernel_mcp.search.index.index import Index, breadcrumb, unpack_text
from amdkernel_mcp.search.index.postings import share_of_best
from amdkernel_mcp.search.index.weights import Weights
from amdkernel_mcp.search.query.filters import ANYTHING, SearchFilters
from amdkernel_mcp.search.query.query import ALL_ON, Query, Switches, no_name, understand
from amdkernel_mcp.search.query.rank import Passage, rank
from amdkernel_mcp.search.query.same_entry import compared
from amdkernel_mcp.search.query.snippet import WHOLE_CHARS, snippet
from amdkernel_mcp.search.versions import readable

MOST_RESULTS = 50
MOST_WORDINGS = 4
ANSWER_CHARS = 5_000
API_ENTRY_CHARS = 1_500
LEAST_CHARS = 300
SHOWN_CHARS = 100
OTHER_VERSION = "also in "
MOST_FURTHER, MOST_NEAR = 20, 6
LEAST_SHARE = 0.45  # of questions below it, 3 in 4 are answered by the first five sections; of the others, 15 in 16
UNSURE = (
    "Unsure: no section holds most of what was asked. `near` lists headings of other pages; other words (`also`) or the"
    " name of an API, instruction or counter may find more."
)
RANK_OFFSET = 5  # how slowly a rank loses its worth: the first is worth 1/6, the tenth 1/15


@dataclass(frozen=True)
class Found:
    """A section that was found, before its text is read. `wording`: number of the query that ranks it highest."""

    passage: Passage
    wording: int
    source: str
    path: str
    breadcrumb: tuple[str, ...]
    anchor: str
    url: str | None
    version: str | None
    api: bool
    anchored: bool
    versions: tuple[Found, ...] = ()
    """The same entry in other versions of its source."""

    @property
    def ref(self) -> str:
        """What `read` opens."""
        return visible(f"{self.source}/{self.path}#{self.anchor}")

    @property
    def address(self) -> str | None:
        """The URL of the section where it has one, else of its page."""
        inside = self.anchored and len(self.breadcrumb) > 1
        return f"{self.url}#{self.anchor}" if self.url and inside else self.url


@dataclass(frozen=True)
class Findings:
    """Each wording as it was understood, what was found, and what came next."""

    wordings: tuple[Query, ...]
    found: tuple[Found, ...]
    further: tuple[Found, ...] = ()

    @property
    def applied(self) -> list[str]:
        """The aliases and corrections of all wordings."""
        return list(dict.fromkeys(one for query in self.wordings for one in query.applied))


def search(
    index: Index,
    query: str,
    limit: int = 5,
    *,
    also: Sequence[str] = (),
    filters: SearchFilters = ANYTHING,
    cards: Callable[[Sequence[Query]], list[Card]] = lambda _: [],
    declared: Callable[[str], bool] = no_name,
) -> SearchResult:
    """At most `limit` sections (1 to 50), best first. `also`: the question in other words, three times at most.

    cards: returns the cards of the names in the understood wordings; they come first and take part of the room.
    declared: whether a name is known besides the index.
    Raises DocumentationError for an unknown source, a limit out of range and a query without words.
    """
    _check(index, filters)
    findings = find(index, query, also=also, limit=limit, further=MOST_FURTHER, filters=filters, declared=declared)
    exact = cards(findings.wordings)
    hits: list[Hit] = []
    shown = [card.name for card in exact]
    left = max(
        ANSWER_CHARS * max(limit, 5) // 5 - sum(len(card.text) for card in exact), len(findings.found) * LEAST_CHARS
    )
    for at, found in enumerate(findings.found, 1):
        # An entry is shown whole only where that leaves a snippet's room for each hit that follows.
        room = left - (len(findings.found) - at) * WHOLE_CHARS
        whole_chars = 0 if found.breadcrumb[-1] in shown else min(room, API_ENTRY_CHARS)
        hits.append(_hit(index, findings.wordings[found.wording], found, at, whole_chars=whole_chars))
        left -= len(hits[-1].snippet)
    unsure = bool(hits) and not exact and is_unsure(index, findings)
    return SearchResult(
        query=findings.wordings[0].text,
        exact=exact,
        results=hits,
        near=_near(findings) if unsure else [],
        applied=findings.applied,
        note=f"{UNSURE} {QUOTED}" if unsure else _note(index, hits, filters),
    )


def find(
    index: Index,
    query: str,
    *,
    limit: int,
    also: Sequence[str] = (),
    further: int = 0,
    filters: SearchFilters = ANYTHING,
    switches: Switches = ALL_ON,
    weights: Weights | None = None,
    declared: Callable[[str], bool] = no_name,
) -> Findings:
    """The same without reading the sections' text; `further`: how many more to name."""
    if not 1 <= limit <= MOST_RESULTS:
        raise DocumentationError(f"limit is {limit}", hint=f"ask for 1 to {MOST_RESULTS} results")
    if len(also) >= MOST_WORDINGS:
        raise DocumentationError(
            f"{len(also)} other wordings are too many", hint=f"give at most {MOST_WORDINGS - 1} besides the query"
        )
    wordings = tuple(understand(index, one, switches, declared=declared) for one in dict.fromkeys([query, *also]))
    ranked = fuse([rank(index, one, filters=filters, switches=switches, weights=weights) for one in wordings])
    found = tuple(found_of(index, passage, wording) for wording, passage in ranked[: limit + further])
    return Findings(wordings, found[:limit], found[limit:])


def is_unsure(index: Index, findings: Findings) -> bool:
    """Whether the best section of each wording answers to too little of it."""
    best = {one.wording: one.passage.chunk for one in reversed(findings.found)}
    shares = (
        share_of_best(index.connection, index.passages, findings.wordings[wording].asked, chunk)
        for wording, chunk in best.items()
    )
    return max(shares) < LEAST_SHARE


def _near(findings: Findings) -> list[SectionRef]:
    """The best heading of each page that is not among the results."""
    pages = {one.passage.page for one in findings.found}
    near: dict[int, Found] = {}
    for one in findings.further:
        if one.passage.page not in pages:
            near.setdefault(one.passage.page, one)
    return [SectionRef(heading=harmless(" > ".join(one.breadcrumb)), ref=one.ref) for one in near.values()][:MOST_NEAR]


def found_of(index: Index, passage: Passage, wording: int = 0) -> Found:
    row = index.connection.execute(
        "SELECT source, path, title, below, anchor, url, version, api, anchored FROM sections"
        " JOIN pages ON pages.id = page JOIN sources ON sources.name = source WHERE sections.id = ?",
        (passage.section,),
    ).fetchone()
    source, path, title, below, anchor, url, version, api, anchored = row
    versions = tuple(
        found_of(index, Passage(passage.chunk, one, passage.page, 0.0), wording) for one in passage.versions
    )
    above = breadcrumb(title, below)
    return Found(passage, wording, source, path, above, anchor, url, version, bool(api), bool(anchored), versions)


def _hit(index: Index, query: Query, found: Found, rank: int, *, whole_chars: int) -> Hit:
    start, finish, blob = index.connection.execute(
        "SELECT start, finish, text FROM chunks JOIN sections ON sections.id = section WHERE chunks.id = ?",
        (found.passage.chunk,),
    ).fetchone()
    text = unpack_text(blob)
    whole = found.api and len(text) <= whole_chars
    shown = text.strip() if whole else snippet(text, start, finish, query)
    others = [_other_version(index, found, text, one) for one in found.versions]
    return Hit(
        rank=rank,
        title=harmless(found.breadcrumb[0]),
        heading=harmless(" > ".join(found.breadcrumb)),
        source=found.source,
        path=visible(found.path),
        url=visible(found.address) if found.address else None,
        version=found.version and visible(readable(found.version)),
        snippet=harmless("\n".join([shown, *others])),
        score=round(found.passage.score, 3),
        ref=found.ref,
    )


def _other_version(index: Index, shown: Found, text: str, other: Found) -> str:
    """`also in 7.2.4 (same): REF`."""
    (blob,) = index.connection.execute("SELECT text FROM sections WHERE id = ?", (other.passage.section,)).fetchone()
    verdict = compared(shown.breadcrumb[-1], text, unpack_text(blob))
    return f"{OTHER_VERSION}{readable(other.version or other.source)} ({verdict}): {other.ref}"


def _check(index: Index, filters: SearchFilters) -> None:
    """Raises DocumentationError for a source that the index does not have, an unknown GPU and an odd version."""
    for name in filters.sources:
        if name not in index.versions:
            known = ", ".join(index.versions)
            raise DocumentationError(f"no source is called {name[:SHOWN_CHARS]!r}", hint=f"there are: {known}")
    if filters.arch and not families_in(filters.arch):
        known = "gfx90a, gfx942, gfx950, gfx1100, gfx1201, or a product such as MI300X"
        raise DocumentationError(
            f"no architecture is called {filters.arch[:SHOWN_CHARS]!r}", hint=f"there are: {known}"
        )
    if filters.rocm_version and not re.fullmatch(r"\d{1,2}\.\d{1,2}(\.\d{1,5})?", filters.rocm_version):
        shown = filters.rocm_version[:SHOWN_CHARS]
        raise DocumentationError(f"{shown!r} is not a version of ROCm", hint="write it as `7.0` or `7.0.2`")


def _note(index: Index, hits: Sequence[Hit], filters: SearchFilters) -> str:
    if not hits:
        where = ", ".join(filters.sources or index.versions)
        advice = "Try the exact name of an API, instruction or counter, or plainer words"
        return f"Nothing was found in {where}. {advice}{'; or leave `source` out' if filters.sources else ''}."
    return f"{QUOTED} read_doc(ref) shows the section."


def fuse(rankings: Sequence[Sequence[Passage]]) -> list[tuple[int, Passage]]:
    """(number of the wording, passage) of each section, best first; the wording is the one that ranks it highest.

    Reciprocal rank fusion (Cormack and others, SIGIR 2009): scores of different wordings cannot be compared, their
    ranks can. The ranking of a single wording stays as it is, scores included.
    """
    if len(rankings) == 1:
        return [(0, passage) for passage in rankings[0]]
    worth: dict[int, float] = defaultdict(float)
    best: dict[int, tuple[int, int, Passage]] = {}
    for wording, ranking in enumerate(rankings):
        for place, passage in enumerate(ranking, 1):
            worth[passage.section] += 1 / (RANK_OFFSET + place)
            if passage.section not in best or place < best[passage.section][0]:
                best[passage.section] = place, wording, passage
    ordered = sorted(best, key=lambda section: (-worth[section], best[section][:2]))
    return [(best[one][1], replace(best[one][2], score=worth[one])) for one in ordered]
