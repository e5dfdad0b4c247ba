"""How much a document counts by its name, from docs_index/vocabulary.toml."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase

from amdkernel_mcp.bundled import folder


@dataclass(frozen=True)
class Priors:
    """How much a document's score counts, by its name; and the sources whose pages are lists of short entries."""

    factors: tuple[tuple[str, float], ...]
    api_sources: frozenset[str]
    spelled: dict[str, str]

    def factor(self, source: str, path: str) -> float:
        """The product of all factors whose pattern matches `source/path`."""
        product = 1.0
        for pattern, factor in self.factors:
            if fnmatchcase(f"{source}/{path}", pattern):
                product *= factor
        return product


def load_priors() -> Priors:
    """The priors of docs_index/vocabulary.toml."""
    table = tomllib.loads((folder("docs_index") / "vocabulary.toml").read_text(encoding="utf-8"))
    return Priors(
        tuple((row["match"], float(row["factor"])) for row in table["prior"]),
        frozenset(table["api_sources"]),
        table["spelled"],
    )
