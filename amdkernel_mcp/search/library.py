"""Search and read over one index, the declarations of this node's HIP headers, and the bundled facts."""

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from amdkernel_mcp.errors import AmdkernelError, DocumentationError
from amdkernel_mcp.quoting import QUOTED, fenced, visible
from amdkernel_mcp.results.documentation import Card, ReadResult, SearchResult
from amdkernel_mcp.search.cards.declarations import Declarations, open_declarations
from amdkernel_mcp.search.cards.lookup import KINDS, MOST_CARDS, Lookup
from amdkernel_mcp.search.checksum import damage_reported
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.query.filters import ANYTHING, SearchFilters
from amdkernel_mcp.search.query.query import Query
from amdkernel_mcp.search.query.search import search
from amdkernel_mcp.search.query.spelling import is_known
from amdkernel_mcp.search.read import read, read_card
from amdkernel_mcp.search.versions import Cited, Node, difference

ABSENT = "Nothing known is named"
CARDS_CHARS = 2_200
PAGE_CHARS = 20_000
LONGEST_TEXT_CHARS = 10_000  # of a query or ref; longer ones are not written by hand
_API_NAME = re.compile(r"\b(?:hip|cuda)[A-Z]\w{3,}(?![\w*])")
_HIP_NAME = re.compile(r"\b(?:hip|HIP|cuda|CUDA|cu[A-Z]|__|atomic)\w+")
_CARD_REF = re.compile(rf"^(?:{'|'.join(KINDS)}):.")
_SHORTENED = "\n… read_doc({ref!r}) shows all of it."


class Library:
    """Opens what it needs on first use; `close` closes it. Opening is thread-safe."""

    def __init__(self, index_path: Path, declarations_path: Path, collect: Callable[[], object]) -> None:
        """`collect` writes the file at `declarations_path`; it is called once, with the first query for a HIP name."""
        self._index_path = index_path
        self._declarations_path = declarations_path
        self._collect = collect
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._declarations: Declarations | None = None
        self._collected = False

    def search(
        self,
        query: str,
        *,
        also: Sequence[str] = (),
        limit: int = 5,
        filters: SearchFilters = ANYTHING,
    ) -> SearchResult:
        """Cards of the names in the query, then the sections that answer it best. Raises DocumentationError.

        also: the question in other words, three times at most.
        """
        query, *also = (visible(one[:LONGEST_TEXT_CHARS]) for one in (query, *also))
        with damage_reported(self._index_path):
            return self._search(query, also, limit, filters)

    def _search(self, query: str, also: Sequence[str], limit: int, filters: SearchFilters) -> SearchResult:
        wants_hip = any(_HIP_NAME.search(one) for one in (query, *also))
        try:
            index = self.index()
        except DocumentationError as error:
            return self._without_index(query, Lookup(self.declarations(make=wants_hip)), error)
        declarations = self.declarations(make=wants_hip)
        lookup = Lookup(declarations, index)

        def cards(wordings: Sequence[Query]) -> list[Card]:
            named = {card.ref: card for one in wordings for card in lookup.cards_in(one.text, also=one.names)}
            return [] if filters.sources else fitted(list(named.values())[:MOST_CARDS])

        result = search(index, query, limit, also=also, filters=filters, cards=cards, declared=lookup.declares)
        cited = [Cited(hit.source, hit.version, hit.url) for hit in result.results]
        names = dict.fromkeys(found[0] for one in (query, *also) for found in _API_NAME.finditer(one))
        unknown = [name for name in names if not _is_known(name, index, lookup, result)]
        absent = f"{ABSENT} {', '.join(unknown)}." if unknown else None
        note = _joined(absent, result.note, difference(_node(declarations), cited))
        return result.model_copy(update={"note": note})

    def read(
        self,
        ref: str,
        *,
        section: str | None = None,
        start: int = 0,
        max_chars: int = 5000,
        find: str | None = None,
    ) -> ReadResult:
        """A card, or a piece of a page. Raises DocumentationError, naming the nearest refs."""
        ref = visible(ref[:LONGEST_TEXT_CHARS]).strip()
        with damage_reported(self._index_path):
            return self._read(ref, section, start, max_chars, find)

    def _read(self, ref: str, section: str | None, start: int, max_chars: int, find: str | None) -> ReadResult:
        names_card = bool(_CARD_REF.match(ref))
        declarations = self.declarations(make=bool(_HIP_NAME.search(ref)) and (names_card or "/" not in ref))
        index = self._index_or_none()
        lookup = Lookup(declarations, index)
        card = None if "/" in ref or "#" in ref else lookup.card(ref)
        if card:
            if section:
                raise DocumentationError(f"{card.ref} has no sections", hint="leave `section` out, or use `find`")
            return read_card(card, start=start, max_chars=max_chars, find=find)
        try:
            page = read(self.index(), ref, section=section, start=start, max_chars=max_chars, find=find)
        except DocumentationError as error:
            near = lookup.nearest(ref) if names_card or ("/" not in ref and index is None) else []
            if near:
                kind, _, name = ref.rpartition(":")
                raise DocumentationError(
                    f"there is no card of {name[:100]!r}" + (f" as {kind}" if kind else ""),
                    hint=f"did you mean {', '.join(near)}?",
                ) from None
            raise error
        differs = difference(_node(declarations), [Cited(page.source, page.version, page.url)])
        return page.model_copy(update={"note": _joined(page.note, differs)})

    def page(self, source: str, path: str) -> str:
        """The beginning of a page between fences that its text cannot close, and how to read on."""
        found = self.read(f"{source}/{path}", max_chars=PAGE_CHARS)
        about = ", ".join(filter(None, [f"{found.source}/{found.path}", found.version, found.url]))
        more = f"\nThe page continues: read_doc({found.ref!r}, start={found.next_start})." if found.next_start else ""
        return f"{QUOTED} {about}\n\n{fenced(found.text)}\n{more}"

    def index(self) -> Index:
        """The index. Raises DocumentationError where it cannot be used."""
        with self._lock:
            if self._index is None:
                self._index = open_index(self._index_path)
            return self._index

    def declarations(self, *, make: bool = False) -> Declarations | None:
        """The declarations of this node's HIP headers; with `make` they are collected where there is no file."""
        with self._lock:
            if self._declarations is None:
                self._declarations = open_declarations(self._declarations_path)
            if self._declarations is None and make and not self._collected:
                self._collected = True
                try:
                    self._collect()
                except AmdkernelError:
                    return None  # no sandbox here: the index and the bundled facts remain
                self._declarations = open_declarations(self._declarations_path)
            return self._declarations

    def close(self) -> None:
        """Close the files, so that newer ones are opened next."""
        with self._lock:
            for opened in (self._index, self._declarations):
                if opened:
                    opened.close()
            self._index = self._declarations = None
            self._collected = False

    def _index_or_none(self) -> Index | None:
        try:
            return self.index()
        except DocumentationError:
            return None

    def _without_index(self, query: str, lookup: Lookup, missing: DocumentationError) -> SearchResult:
        """The answer of the bundled facts alone; raises `missing` where they have none."""
        cards, applied = lookup.cards_in(query), []
        if not cards and re.fullmatch(r"\w{5,80}", query.strip()):
            meant = lookup.correction(query.strip())
            if meant:
                cards, applied = lookup.cards_in(meant), [f"{query.strip()} was read as {meant}"]
        if not cards:
            raise missing
        note = f"Only exact names can be looked up: {missing.message}. To search, {missing.hint}."
        return SearchResult(query=query.strip(), exact=fitted(cards), results=[], applied=applied, note=note)


def _is_known(name: str, index: Index, lookup: Lookup, result: SearchResult) -> bool:
    return is_known(index, name) or lookup.declares(name) or any(why.startswith(f"{name} ") for why in result.applied)


def fitted(cards: Sequence[Card]) -> list[Card]:
    """The cards cut to what an answer of search can hold, at a line's end."""
    room = CARDS_CHARS // max(len(cards), 1)
    return [card if len(card.text) <= room else cut_card(card, room) for card in cards]


def cut_card(card: Card, room: int) -> Card:
    """The beginning of a card, cut at a line's end, and how to read all of it."""
    end = card.text.rfind("\n", 0, room)
    shown = card.text[: end if end > room // 2 else room].rstrip()
    if shown.count("```") % 2:
        shown += "\n```"
    return card.model_copy(update={"text": shown + _SHORTENED.format(ref=card.ref)})


def _node(declarations: Declarations | None) -> Node | None:
    return Node(declarations.hip_version, declarations.compiler) if declarations else None


def _joined(*notes: str | None) -> str | None:
    return " ".join(note for note in notes if note) or None
