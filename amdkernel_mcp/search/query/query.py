"""A query as search understands it: its tokens, and what aliases, spelling and the glossary add to them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import visible
from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.index.tokens import STOP_WORDS, pieces, tokens, tokens_of_word, words
from amdkernel_mcp.search.query.spelling import correction, is_known, likely_slip, nearest_word
from amdkernel_mcp.search.query.vocabulary import load_vocabulary

LONGEST_QUERY_CHARS = 2_000
MOST_TOKENS = 60
MOST_REPAIRS = 6
MOST_NAMES = 24
_SHORTEST_STEM = 3
_WITH_WILDCARD = re.compile(r"[A-Za-z_][\w*]*\*[\w*]*")
_CUDA_PREFIX = re.compile(r"^(cuda|CUDA(?=_)|cu(?=[A-Z])|CU(?=_))(\w+)$")
_LIKE_A_NAME = re.compile(r"_|[a-z][A-Z]|^(?:hip|roc|amd|cuda)", re.ASCII)
_ALIKE_WHEN_JOINED = 0.85


@dataclass(frozen=True)
class Query:
    """`asked`: tokens of the query with corrections and aliases. `related`: tokens of the glossary, worth less.

    `names`: identifiers to be found as headings, lower case. `applied`: one sentence per alias or correction.
    """

    text: str
    asked: tuple[str, ...]
    related: tuple[str, ...]
    names: tuple[str, ...]
    applied: tuple[str, ...]


@dataclass(frozen=True)
class Switches:
    """What may be turned off, to measure what it is worth."""

    aliases: bool = True
    spelling: bool = True
    glossary: bool = True
    wildcards: bool = True
    headings: bool = True
    priors: bool = True
    gpus: bool = True
    embeddings: bool = True
    twins: bool = True
    versions: bool = True


ALL_ON = Switches()


def no_name(_: str) -> bool:
    """For callers that know no names besides the index."""
    return False


def understand(
    index: Index, text: str, switches: Switches = ALL_ON, *, declared: Callable[[str], bool] = no_name
) -> Query:
    """The query that `text` makes. Raises DocumentationError where there is nothing to search for.

    declared: whether a name is known elsewhere; such a name is never taken for a slip.
    """
    shown = " ".join(visible(text.replace("\0", " ")[: 4 * LONGEST_QUERY_CHARS]).split())[:LONGEST_QUERY_CHARS]
    asked_words = list(words(shown))
    if not asked_words:
        raise DocumentationError(
            "the query holds no word to search for", hint="name an API, an instruction, a counter or a topic"
        )
    added: list[str] = []
    applied: list[str] = []
    names = [piece for word in asked_words for piece in pieces(word)]
    repaired: dict[str, str] = {}
    for name in dict.fromkeys(names):
        repairs_left = 0 if declared(name) else MOST_REPAIRS - len(applied)
        for word, why in _additions(index, name, switches, repairs_left=repairs_left):
            repaired[name] = word
            added.append(word)
            applied.append(why)
    if switches.spelling:
        for word, why in _joined(index, asked_words, repaired):
            added.append(word)
            applied.append(why)
    asked = list(dict.fromkeys(tokens(" ".join([shown, *added]))))[:MOST_TOKENS]
    if not asked:
        # Nothing but stop words: a poor query, but one that was asked.
        asked = list(dict.fromkeys(word.lower() for word in asked_words))[:MOST_TOKENS]
    matched: tuple[str, ...] = ()
    if switches.wildcards and "*" in shown:
        matched, told = names_like(index, shown)
        asked = list(dict.fromkeys([*asked, *matched]))[: MOST_TOKENS + len(matched)]
        applied += told
    related: list[str] = []
    if switches.glossary:
        # A correction stands where the word stood that it corrects: the glossary goes by the order of words.
        meant_words = ["-".join(repaired.get(piece, piece) for piece in pieces(word)) for word in asked_words]
        said = [token for word in [*meant_words, *added] for token in _all_tokens(word)]
        meant = (token for means in load_vocabulary().meanings(said) for token in tokens(means))
        related = [token for token in dict.fromkeys(meant) if token not in asked]
    folded = tuple(dict.fromkeys(word.strip("_").lower() for word in [*names, *added, *matched]))
    return Query(shown, tuple(asked), tuple(related), folded, tuple(dict.fromkeys(applied)))


def _all_tokens(word: str) -> tuple[str, ...]:
    return (word.lower(),) if word.lower() in STOP_WORDS else tokens_of_word(word)


def _additions(index: Index, name: str, switches: Switches, *, repairs_left: int) -> Iterator[tuple[str, str]]:
    asked, folded = name, name.lower()
    if switches.aliases:
        row = index.connection.execute("SELECT hip FROM aliases WHERE cuda = ?", (folded,)).fetchone()
        if row:
            yield row[0], f"{name} is {row[0]} in HIP"
            return
        cuda = _CUDA_PREFIX.match(name)
        if cuda:
            # Not every name has a namesake in HIP; what follows may find one that is spelled a little differently.
            hip = f"{'HIP' if cuda[1].isupper() else 'hip'}{cuda[2]}"
            if is_known(index, hip):
                hip = (switches.spelling and likely_slip(index, hip)) or hip
                yield hip, f"{name} was read as {hip}"
                return
            name, folded = hip, hip.lower()
    unsure = switches.spelling and repairs_left > 0 and len(folded) > 3 and folded not in STOP_WORDS
    if unsure and not folded[0].isdigit():
        meant = correction(index, name)
        if meant:
            yield meant, f"{asked} was read as {meant}"


def _joined(index: Index, asked: list[str], repaired: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names that were written as two or three words: `hipMalloc managed`, `hip stream synchronize`."""
    taken = 0
    for at, first in enumerate(asked):
        if at < taken or not _LIKE_A_NAME.search(first):
            continue
        for count in (3, 2):
            parts = asked[at : at + count]
            if len(parts) < count or any(part.lower() in STOP_WORDS or not part.isalnum() for part in parts[1:]):
                continue
            meant = _name_of_parts(index, [repaired.get(part, part) for part in parts])
            if not meant and count == 2 and not is_known(index, first.strip("_")):
                meant = nearest_word(index, "".join(parts).lower().strip("_"), least=_ALIKE_WHEN_JOINED)
            if meant:
                yield meant, f"{' '.join(parts)} was read as {meant}"
                taken = at + count
                break


def _name_of_parts(index: Index, parts: list[str]) -> str | None:
    row = index.connection.execute(
        "SELECT word FROM words WHERE folded = ?", ("".join(parts).lower().strip("_"),)
    ).fetchone()
    return row[0] if row else None


def names_like(index: Index, text: str) -> tuple[tuple[str, ...], list[str]]:
    """The names of the index, in lower case, that fit the patterns in `text`, such as `v_mfma_f32_*`, and a sentence
    for each pattern.

    The most frequent names of a pattern are taken; of a pattern with fewer than three letters none is.
    """
    names: list[str] = []
    told: list[str] = []
    for pattern in dict.fromkeys(_WITH_WILDCARD.findall(text)):
        # Names are indexed without underscores at their ends; all but `*` is a word character, and means itself.
        glob = pattern.lower().lstrip("_")
        if len(glob.replace("*", "").replace("_", "")) < _SHORTEST_STEM or glob.startswith("*"):
            continue
        rows = index.connection.execute(
            "SELECT folded, word FROM words WHERE folded GLOB ? ORDER BY documents DESC, folded LIMIT ?",
            (glob, MOST_NAMES),
        ).fetchall()
        if rows:
            names += [folded for folded, _ in rows]
            more = " and more" if len(rows) == MOST_NAMES else ""
            told.append(
                f"{pattern} was read as {', '.join(word for _, word in rows[:6])}{'…' if rows[6:] else ''}{more}"
            )
    return tuple(dict.fromkeys(names)), told
