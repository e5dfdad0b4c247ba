"""Reads what a ref names, and searches: our own pages first, then the indexed documentation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem
from amdkernel_mcp.reading.guides import guides_in, guides_near, read_guide, recipes_in
from amdkernel_mcp.reading.problem_page import problem_card
from amdkernel_mcp.results.documentation import Card, ReadResult, SearchResult
from amdkernel_mcp.search.library import fitted
from amdkernel_mcp.search.query.filters import ANYTHING, SearchFilters
from amdkernel_mcp.search.read import read_card

if TYPE_CHECKING:
    from amdkernel_mcp.cache_folder import CacheFolder
    from amdkernel_mcp.history.attempts import Attempts
    from amdkernel_mcp.problems.own_problems import OwnProblems
    from amdkernel_mcp.search.library import Library

_MOST_CARDS = 2
_SENTENCE = 4  # words; fewer are the name itself


class Reader:
    """The one verb for reading, and its search. `by` names whose problems and attempts they are."""

    def __init__(
        self, docs: Callable[[], Library], attempts: Attempts, own_problems: OwnProblems, answers: CacheFolder
    ) -> None:
        self._docs = docs
        self._attempts = attempts
        self._own_problems = own_problems
        self._answers = answers

    def search(
        self, query: str, *, by: str, limit: int, also: Sequence[str] = (), filters: SearchFilters | None = None
    ) -> SearchResult:
        """Our own pages and the documentation that answer a query best, and the lessons of `by`.

        also: the question in other words, three times at most.
        """
        if filters and filters.sources:
            return self._docs().search(query, also=also, limit=limit, filters=filters)
        ours = self._ours(" ".join([query, *also]), by)
        # A word such as "transpose" in a question names a problem by chance; the guide is the answer then.
        meant = any(card.kind != "problem" for card in ours) or (bool(ours) and len(query.split()) < _SENTENCE)
        recipes = [] if meant else next((found for one in (query, *also) if (found := recipes_in(one))), [])

        def pages() -> SearchResult:
            try:
                found = self._docs().search(query, also=also, limit=limit, filters=filters or ANYTHING)
            except DocumentationError as error:
                if not ours and not (recipes and self._lacks_index()):
                    raise
                found = SearchResult(query=query, results=[], note=error.message)
            exact = (
                [*recipes, *fitted(ours)] if recipes and not found.exact else [*fitted(ours), *found.exact, *recipes]
            )
            near = found.near if exact else [*guides_near(query), *found.near]
            return found.model_copy(update={"exact": exact, "near": near})

        return self._attempts.search(query, pages, by=by)

    def read(
        self,
        ref: str,
        *,
        by: str,
        section: str | None = None,
        start: int = 0,
        max_chars: int = 5000,
        find: str | None = None,
    ) -> ReadResult:
        """A part of what `ref` names. Raises DocumentationError or HistoryError, with the nearest that exist."""
        kind, _, name = ref.strip().partition(":")
        if kind == "guide":
            return read_guide(ref.strip(), section=section, start=start, max_chars=max_chars, find=find)
        pages = {"problem": self._problem, "attempt": self._attempt, "artefact": self._artefact}
        if kind not in pages or not name:
            return self._docs().read(ref, start=start, max_chars=max_chars, section=section, find=find)
        if section:
            raise DocumentationError(f"{ref[:100]} has no sections", hint="leave `section` out, or use `find`")
        return read_card(pages[kind](name, by), start=start, max_chars=max_chars, find=find)

    def _lacks_index(self) -> bool:
        try:
            self._docs().index()
        except DocumentationError:
            return True
        return False

    def _ours(self, query: str, by: str) -> list[Card]:
        words = set(re.findall(r"[\w-]+", query))
        named = [name for name in (*self._own_problems.names(by), *bundled_problems()) if name in words]
        return [*(self._problem(name, by) for name in named), *guides_in(query)][:_MOST_CARDS]

    def _problem(self, name: str, by: str) -> Card:
        """By name only: a path would be one of the server's."""
        own = self._own_problems.load(name, by)
        if own is None and name not in bundled_problems():
            known = ", ".join([*self._own_problems.names(by), *bundled_problems()])
            raise DocumentationError(f"there is no problem {name[:100]!r}", hint=f"there are {known}")
        return problem_card(own or load_problem(folder("examples") / name))

    def _attempt(self, name: str, by: str) -> Card:
        return self._attempts.page(name, by=by)

    def _artefact(self, digest: str, _by: str) -> Card:
        """Who knows the whole digest of an answer was given that answer."""
        digest = digest.removeprefix("sha256:")
        known = re.fullmatch(r"[0-9a-f]{64}", digest) is not None
        data = self._answers.read(f"{digest[:16]}.json") if known else None
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            raise DocumentationError(
                f"there is no artefact {digest[:70]!r}", hint="give the whole sha256; answers are kept for 7 days"
            )
        return Card(
            ref=f"artefact:{digest}",
            kind="artefact",
            name=digest,
            title="A whole answer, as JSON",
            text=data.decode(errors="replace"),
            origin="an earlier answer of this server",
        )
