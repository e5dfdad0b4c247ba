"""Names of the HIP API with one slip of the fingers each, to measure how often search puts the right entry first."""

import json
import random
import re
from collections.abc import Iterator

from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.query.search import find

_NAME = re.compile(r"\w*(?:\w_\w|[a-z][A-Z])\w*")
_SHORTEST = 7
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def names_in(index: Index, source: str = "hip-api") -> list[str]:
    """The names of code that are headings of `source`."""
    rows = index.connection.execute(
        "SELECT DISTINCT below FROM sections JOIN pages ON pages.id = page WHERE source = ?", (source,)
    )
    headings = {json.loads(below)[-1] for (below,) in rows if below != "[]"}
    return sorted(name for name in headings if len(name) >= _SHORTEST and _NAME.fullmatch(name))


def misspelt(name: str, known: set[str], rng: random.Random) -> str:
    """`name` with a letter left out, doubled, exchanged with its neighbour or replaced; never another of `known`."""
    while True:
        at = rng.randrange(1, len(name) - 1)
        before, letter, after = name[:at], name[at], name[at + 1 :]
        other = rng.choice(_LETTERS)
        made = rng.choice(
            [
                before + after,
                before + letter + letter + after,
                before + after[0] + letter + after[1:],
                before + (other.upper() if letter.isupper() else other) + after,
            ]
        )
        if not letter.isdigit() and made.strip("_").lower() not in known:
            return made


def answered(index: Index, most: int, seed: int = 11) -> Iterator[tuple[str, str, bool]]:
    """(name, misspelt name, whether the name's own entry comes first) of `most` random names."""
    rng = random.Random(seed)
    names = names_in(index)
    known = {name.strip("_").lower() for name in names}
    for name in rng.sample(names, min(most, len(names))):
        asked = misspelt(name, known, rng)
        found = find(index, asked, limit=1).found
        yield name, asked, bool(found) and found[0].breadcrumb[-1] == name
