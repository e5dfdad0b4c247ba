"""Finds the cards of the names in a query, and the card that a ref such as `api:hipMalloc` names."""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from amdkernel_mcp.quoting import harmless, visible
from amdkernel_mcp.results.documentation import Card, CardKind
from amdkernel_mcp.search.cards.api import api_card
from amdkernel_mcp.search.cards.architecture import architecture_card, architectures, gfx_of
from amdkernel_mcp.search.cards.counters import Documented, counter_card, counter_name, counter_names
from amdkernel_mcp.search.cards.declarations import Declarations
from amdkernel_mcp.search.cards.hip_errors import error_cards, hip_errors
from amdkernel_mcp.search.cards.instructions import architectures_of, instruction_cards, wildcard_card
from amdkernel_mcp.search.cards.matrix import named_by_shape
from amdkernel_mcp.search.index.index import Index, unpack_text

KINDS: tuple[CardKind, ...] = ("error", "arch", "isa", "counter", "api")
MOST_CARDS = 2
MOST_WORDS = 30
_REF = re.compile(rf"^({'|'.join(KINDS)}):(.+)$", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][\w*?]*")
_LIKE_A_NAME = re.compile(r"_|[a-z][A-Z]|^(?:hip|gfx)\w", re.ASCII)
_CUDA = re.compile(r"^(cuda|CUDA(?=_)|cu(?=[A-Z])|CU(?=_))(\w+)$")
_ERROR_NUMBER = re.compile(
    r"^\s*(?:(?:hip\s*)?error(?:\s*code)?|hipError_t|code)?\s*[:=#]?\s*(\d{1,4})\s*$", re.IGNORECASE
)
_WILDCARD = re.compile(r"^(?:v|s|ds|global|flat|scratch|buffer)_\w*[*?][\w*?]*$")
_ALIKE = 0.82
_COUNTER_TABLES = (
    "rocprofiler-counters",
    "rocprof-compute-metrics",
    "rocprofiler-sdk-tables",
    "rocprofiler-compute-tables",
)


@dataclass(frozen=True)
class Lookup:
    """The sources of exact look-ups: the headers of this node and the index, where they exist."""

    declarations: Declarations | None = None
    index: Index | None = None

    def cards_in(self, query: str, *, also: Sequence[str] = ()) -> list[Card]:
        """At most two cards of names in `query`; `also`: names that aliases and corrections added."""
        number = _ERROR_NUMBER.match(query)
        if number:
            return error_cards(number[1])[:MOST_CARDS]
        whole = architecture_card(query)
        if whole:
            return [whole]
        words = _WORD.findall(query)[:MOST_WORDS]
        found: dict[str, Card] = {}
        for word in chain(words, also, named_by_shape(query)):
            for card in self._cards_of(word, alone=len(words) == 1, few=len(words) <= 3):
                found.setdefault(card.ref, card)
            if len(found) >= MOST_CARDS:
                break
        return list(found.values())[:MOST_CARDS]

    def card(self, ref: str) -> Card | None:
        """The card of `kind:name`, or of a bare name; None where there is none."""
        named = _REF.match(ref.strip())
        kind, name = (named[1], named[2].strip()) if named else (None, ref.strip())
        if not name or len(name) > 200:
            return None
        made = (
            self._of_kind(kind, name) if kind else next(filter(None, (self._of_kind(one, name) for one in KINDS)), [])
        )
        return _joined(made, ref.strip()) if made else None

    def nearest(self, name: str, most: int = 5) -> list[str]:
        """Refs whose names are spelled most like `name`."""
        named = _REF.match(name.strip())
        kind, wanted = (named[1], named[2].strip()) if named else (None, name.strip())
        pool: dict[str, str] = {}
        for ref, known in self._names():
            if kind in (None, ref.partition(":")[0]):
                pool.setdefault(known.lower(), ref)
        close = difflib.get_close_matches(wanted.lower()[:80], pool, n=most, cutoff=0.6)
        return [pool[one] for one in close]

    def correction(self, word: str) -> str | None:
        """The one name that `word` surely means; None where none is so near."""
        pool = {known.lower(): known for _, known in self._names() if abs(len(known) - len(word)) <= 3}
        close = difflib.get_close_matches(word.lower(), pool, n=1, cutoff=_ALIKE)
        return pool[close[0]] if close else None

    def hip_name(self, cuda: str) -> str | None:
        """HIP's name for a CUDA name: by HIPIFY's table where it is indexed, else by its prefix if HIP has that."""
        if self.index:
            row = self.index.connection.execute("SELECT hip FROM aliases WHERE cuda = ?", (cuda.lower(),)).fetchone()
            if row:
                return str(row[0])
        parts = _CUDA.match(cuda)
        if parts is None:
            return None
        hip = f"{'HIP' if parts[1].isupper() else 'hip'}{parts[2]}"
        return hip if self.declares(hip) else None

    def _of_kind(self, kind: str, name: str) -> list[Card]:
        match kind:
            case "error":
                return self._errors(name)
            case "arch":
                return _one(architecture_card(name))
            case "isa":
                return _one(wildcard_card(name)) if "*" in name or "?" in name else instruction_cards(name)
            case "counter":
                return _one(self._counter(name))
            case _:
                return self._of_cuda(name) or _one(self._api(name))

    def _cards_of(self, word: str, *, alone: bool, few: bool) -> list[Card]:
        """The cards of one word of a query. A plain word is a name only where it stands alone."""
        if _WILDCARD.match(word):
            return _one(wildcard_card(word))
        if not (alone or _LIKE_A_NAME.search(word) or (few and gfx_of(word))):
            return []
        if gfx_of(word):
            return _one(architecture_card(word)) if few else []
        if _CUDA.match(word):
            return self._of_cuda(word)
        return self._errors(word) or instruction_cards(word) or _one(self._counter(word)) or _one(self._api(word))

    def _of_cuda(self, cuda: str) -> list[Card]:
        """The cards of the name that HIP has for it, which say so."""
        hip = self.hip_name(cuda)
        if hip is None:
            return []
        said = f"CUDA's `{cuda}` is `{hip}` in HIP.\n\n"
        found = self._errors(hip) or _one(self._api(hip))
        return [card.model_copy(update={"text": said + card.text}) for card in found]

    def _errors(self, word: str) -> list[Card]:
        """With the comment of this node's own headers."""
        declared = self.declarations.named(word) if self.declarations and not word.isdigit() else []
        says = declared[0].text.rpartition("```")[2].strip() if declared else ""
        return error_cards(word, says)

    def _api(self, name: str) -> Card | None:
        card = api_card(self.declarations, name) if self.declarations else None
        return card or self._indexed_api(name)

    def declares(self, name: str) -> bool:
        """Whether the HIP headers or their pages have this name."""
        return (
            bool(self.declarations and self.declarations.named(name)) or self._section(name, ("hip-api",)) is not None
        )

    def _indexed_api(self, name: str) -> Card | None:
        """From the index, where this node's own headers were never read or lack the name."""
        section = self._section(name, ("hip-api", "amdgcn-builtins"))
        if section is None:
            return None
        heading, text, source, version, url = section
        return Card(
            ref=f"api:{heading}",
            kind="api",
            name=heading,
            title=f"{heading}: HIP API",
            text=text,
            origin=f"the indexed documentation, source {source}",
            version=version,
            url=url,
        )

    def _counter(self, name: str) -> Card | None:
        section = self._section(counter_name(name) or name, _COUNTER_TABLES)
        if section is None:
            return counter_card(name)
        heading, text, source, version, url = section
        return counter_card(counter_name(name) or heading, Documented(text, source, version, url))

    def _section(self, name: str, sources: Sequence[str]) -> tuple[str, str, str, str | None, str | None] | None:
        """Heading, text, source, version and URL of the section with this very heading."""
        if self.index is None:
            return None
        rows = self.index.connection.execute(
            "SELECT below, text, source, version, url FROM headings JOIN sections ON sections.id = section"
            " JOIN pages ON pages.id = page JOIN sources ON sources.name = source"
            f" WHERE folded = ? AND source IN ({','.join('?' * len(sources))}) ORDER BY sections.id",
            (name.strip("_").lower(), *sources),
        ).fetchall()
        found = [(json.loads(below)[-1], *rest) for below, *rest in rows if below != "[]"]
        exact = [row for row in found if row[0] == name] or [row for row in found if row[0].lower() == name.lower()]
        if not exact:
            return None
        heading, blob, source, version, url = exact[0]
        return heading, harmless(unpack_text(blob)), source, version and visible(version), url and visible(url)

    def _names(self) -> Iterator[tuple[str, str]]:
        """Refs and names of all cards that need no index."""
        for kind, names in (
            ("error", hip_errors()),
            ("arch", architectures()),
            ("counter", counter_names()),
            ("isa", architectures_of()),
            ("api", self.declarations.names() if self.declarations else ()),
        ):
            yield from ((f"{kind}:{name}", name) for name in names)


def _one(card: Card | None) -> list[Card]:
    return [card] if card else []


def _joined(cards: Sequence[Card], ref: str) -> Card:
    """One card where a name means several things: `98` is a code of two enums."""
    if len(cards) == 1:
        return cards[0]
    text = "\n\n".join(f"## {card.title}\n\n{card.text}" for card in cards)
    return cards[0].model_copy(update={"ref": ref, "text": text, "title": "; ".join(card.title for card in cards)})
